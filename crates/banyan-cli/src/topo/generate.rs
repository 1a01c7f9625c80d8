//! `banyan topo gen`: a topology file from a word.

use std::io::Write;
use std::process::ExitCode;

use banyan_tree::topology::Spec;
use clap::{Args, ValueEnum};

use super::facts;
use super::source::of_spec;
use crate::failure::{Failure, Outcome};
use crate::hosts::{HEADING, NamedHosts};
use crate::output::Output;

/// Make a topology file
///
/// SPEC is level widths (4x16: 4 agents with 16 members each), flat:MEMBERS, fanout:FANOUT:MEMBERS, depth:DEPTH:MEMBERS,
/// knomial:K:MEMBERS, binomial:MEMBERS, or with -w hosts:FANOUT:MEMBERS[:PER-AGENT], which puts MEMBERS members on each
/// host below agents of that host.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 success; 1 a file cannot be read or written; 2 wrong usage, or not a topology; 4 time limit; \
5 not permitted.

Examples:
  banyan topo gen 4x16
  banyan topo gen hosts:16:8 -w node[1-128] -o cluster.topo
  banyan topo gen fanout:16:1000 -w node[1-20] --as mrnet -o mrnet.top")]
pub(crate) struct Generate {
    /// The topology, such as 4x16 or fanout:16:1000
    #[arg(value_name = "SPEC")]
    spec: String,
    /// The output format
    #[arg(long = "as", alias = "notation", value_name = "NOTATION", default_value = "banyan")]
    notation: Notation,
    /// The output file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: String,
    /// One JSON object with the numbers of the tree and the text of the file
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = HEADING)]
    hosts: NamedHosts,
}

#[derive(Clone, Copy, ValueEnum)]
enum Notation {
    /// Lines of roles and hosts, indented below each other
    Banyan,
    /// parent:0 => child:0 child:1 ;
    Mrnet,
}

impl Generate {
    pub(crate) fn run(self) -> Outcome {
        let spec: Spec = self.spec.parse().map_err(|error| Failure::usage(format!("{}: {error}", self.spec)))?;
        let topology = of_spec(&spec, self.hosts.named()?.as_ref())?;
        let mut out = Output::create(&self.output)?;
        let text = match self.notation {
            Notation::Banyan => topology.outline().to_string(),
            Notation::Mrnet => topology.mrnet().to_string(),
        };
        if self.json {
            let mut object = facts::json(&topology);
            object["spec"] = spec.to_string().into();
            object["text"] = text.into();
            writeln!(out, "{object}")?;
        } else {
            write!(out, "{text}")?;
        }
        out.keep()?;
        Ok(ExitCode::SUCCESS)
    }
}
