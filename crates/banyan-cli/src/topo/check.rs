//! `banyan topo check`: whether files are topologies, and if not, why.

use std::io::Write;
use std::process::ExitCode;

use banyan_tree::topology::TopologyError;
use clap::Args;
use serde_json::{Value, json};

use super::facts;
use super::source::{of_file, refused, title};
use crate::failure::Outcome;
use crate::hosts::NamedHosts;
use crate::output;

/// The exit status when some file is no topology.
const REFUSED: u8 = 2;

/// Check topology files, in Banyan's notation or MRNet's
///
/// What is wrong is told with line, column and remedy: cycles, nodes with two parents, nodes that cannot be reached,
/// agents without members, and with -w hosts that are not among those given. The exit status is 2 if anything is.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 all well; 1 a file cannot be read or written; 2 wrong usage, or no topology; 4 time limit;
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
        let mut out = output::stdout();
        let mut all_well = true;
        for name in &self.files {
            let found = of_file(name, hosts.as_ref())?;
            all_well &= found.is_ok();
            match found {
                Ok(topology) if self.json => {
                    let mut object = facts::json(&topology);
                    object["file"] = name.as_str().into();
                    object["ok"] = true.into();
                    writeln!(out, "{object}")?;
                }
                Ok(topology) => writeln!(out, "{}: {}", title(name), facts::sentence(&topology))?,
                Err(error) if self.json => {
                    writeln!(out, "{}", json!({ "file": name, "ok": false, "error": as_json(&error) }))?;
                }
                Err(error) => {
                    out.flush()?;
                    refused(name, &error).report();
                }
            }
        }
        out.flush()?;
        Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
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
