//! `banyan topo check`: whether files are topologies, and if not, why.

use std::io::Write;
use std::process::ExitCode;

use banyan_tree::topology::{Topology, TopologyError};
use clap::Args;
use serde_json::{Value, json};

use super::facts;
use super::source::{of_file, refused, title};
use crate::failure::{Failure, Outcome};
use crate::hosts::NamedHosts;
use crate::output;
use crate::speech::complain;

/// The exit status when some file is no topology.
const REFUSED: u8 = 2;

/// Check topology files, in Banyan's notation or MRNet's
///
/// Reports cycles, nodes with two parents, unreachable nodes, agents without members and, with -w, hosts that are not
/// in the given set. Each error has a line, a column and a remedy. All files are checked. The exit status is 2 if a
/// file has errors, otherwise 1 if a file cannot be read.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 success; 1 a file cannot be read or written; 2 wrong usage, or not a topology; 4 time limit; \
5 not permitted.

Examples:
  banyan topo check cluster.topo
  banyan topo check cluster.topo -w node[1-128]
  banyan topo check --json *.top | jq -r 'select(.ok | not) | [.file, .error.line, .error.message] | @tsv'")]
pub(crate) struct Check {
    /// Topology files; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    #[command(flatten)]
    hosts: NamedHosts,
    /// One JSON object a file
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) fn run(self) -> Outcome {
        let hosts = self.hosts.named()?;
        let mut worst = 0;
        for name in &self.files {
            let status = match of_file(name, hosts.as_ref()) {
                Ok(found) => self.tell(name, found)?,
                Err(failure) => self.unread(name, &failure)?,
            };
            worst = worst.max(status);
        }
        Ok(ExitCode::from(worst))
    }

    /// Says what is in a file, and gives the exit status that it deserves.
    fn tell(&self, name: &str, found: Result<Topology, TopologyError>) -> Result<u8, Failure> {
        let mut out = output::stdout();
        let status = if found.is_ok() { 0 } else { REFUSED };
        match found {
            Ok(topology) if self.json => {
                let mut object = facts::json(&topology);
                object["file"] = name.into();
                object["ok"] = true.into();
                writeln!(out, "{object}")?;
            }
            Ok(topology) => writeln!(out, "{}: {}", title(name), facts::sentence(&topology))?,
            Err(error) if self.json => {
                writeln!(out, "{}", json!({ "file": name, "ok": false, "error": as_json(&error) }))?;
            }
            Err(error) => complain(refused(name, &error).message()),
        }
        out.flush()?;
        Ok(status)
    }

    /// The same of one that cannot be read.
    fn unread(&self, name: &str, failure: &Failure) -> Result<u8, Failure> {
        if self.json {
            let mut out = output::stdout();
            let error = json!({ "line": null, "column": null, "kind": "unreadable", "message": failure.message() });
            let status = failure.status();
            writeln!(out, "{}", json!({ "file": name, "ok": false, "error": error, "exit_status": status }))?;
            out.flush()?;
        }
        complain(failure.message());
        Ok(failure.status())
    }
}

fn as_json(error: &TopologyError) -> Value {
    json!({
        "line": error.at.map(|at| at.line),
        "column": error.at.map(|at| at.column),
        "kind": error.problem.kind(),
        "message": error.problem.to_string(),
    })
}
