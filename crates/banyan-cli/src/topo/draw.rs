//! `banyan topo draw`: a topology as text or as a picture.

use std::io::Write;
use std::process::ExitCode;

use banyan_tree::topology::{Folding, Role, View};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::facts;
use super::source::of_spec_or_file;
use crate::failure::Outcome;
use crate::hosts::NamedHosts;
use crate::output::Output;

/// Draw a topology: as text, for Graphviz, or as SVG
///
/// Siblings with equal subtrees are drawn once, with their number. Parts that do not fit are replaced by counts.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 success; 1 a file cannot be read or written; 2 wrong usage, or not a topology; 4 time limit; \
5 not permitted.

Examples:
  banyan topo draw fanout:16:1000
  banyan topo draw cluster.topo --as svg -o cluster.svg
  banyan topo draw binomial:32 --as dot | dot -Tpdf > tree.pdf
  banyan topo gen 8x8 -w node[1-8] | banyan topo draw - --unfold 8")]
pub(crate) struct Draw {
    /// A word such as 4x16, or a topology file; `-` for standard input
    #[arg(value_name = "SPEC|FILE")]
    topology: String,
    #[command(flatten)]
    hosts: NamedHosts,
    /// The output format
    #[arg(long = "as", value_name = "FORM", default_value = "text")]
    form: DrawingForm,
    /// Draw up to N siblings with equal subtrees one by one; the default is 1, and 4 in pictures
    #[arg(long, value_name = "N")]
    unfold: Option<usize>,
    /// The output file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: String,
    /// One JSON object with the numbers of the tree and its branches
    #[arg(long, conflicts_with = "form")]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DrawingForm {
    /// Lines that hang below each other
    Text,
    /// For Graphviz
    Dot,
    /// A picture on a light background
    Svg,
}

impl Draw {
    pub(crate) fn run(self) -> Outcome {
        let topology = of_spec_or_file(&self.topology, self.hosts.named()?.as_ref())?;
        let folding = if self.form == DrawingForm::Text { Folding::default() } else { Folding::for_pictures() };
        let view = topology.view(folding.apart(self.unfold.unwrap_or(folding.apart)));
        let mut out = Output::create(&self.output)?;
        if self.json {
            let mut object = facts::json(&topology);
            object["branches"] = as_json(&view);
            writeln!(out, "{object}")?;
        } else {
            match self.form {
                DrawingForm::Text => write!(out, "{view}")?,
                DrawingForm::Dot => write!(out, "{}", view.to_dot())?,
                DrawingForm::Svg => write!(out, "{}", view.to_svg())?,
            }
        }
        out.keep()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// All branches; the first is the front-end, and children are numbers of others.
fn as_json(view: &View<'_>) -> Value {
    let branch = |branch: &banyan_tree::topology::Branch| {
        let role = match branch.role {
            Some(Role::FrontEnd) => Some("front-end"),
            Some(Role::Agent) => Some("agent"),
            Some(Role::Member) => Some("member"),
            None => None,
        };
        json!({
            "role": role,
            "count": branch.count,
            "stands_for": branch.stands_for,
            "hosts": branch.hosts,
            "agents": branch.agents,
            "members": branch.members,
            "children": branch.children,
            "cut": branch.is_cut,
        })
    };
    view.branches().iter().map(branch).collect()
}
