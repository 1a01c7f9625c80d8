//! What `banyan stack` can write.

use banyan_boot::Problem;
use banyan_stack::{Report, TextOptions, dot, folded, svg, text};
use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum StackForm {
    /// Classes and tree, for people
    Text,
    /// One object, for programs
    Json,
    /// A line for each stack, for flame graphs
    Folded,
    /// The tree for Graphviz
    Dot,
    /// The tree as a picture
    Svg,
}

impl StackForm {
    /// What was found, without these hosts.
    pub(super) fn written(self, report: &Report, left_out: &[Problem], color: bool) -> String {
        match self {
            StackForm::Text => text(report, TextOptions::default().color(color).times(true)),
            StackForm::Json => format!("{}\n", object(report, left_out)),
            StackForm::Folded => folded(report),
            StackForm::Dot => dot(report),
            StackForm::Svg => svg(report),
        }
    }
}

fn object(report: &Report, left_out: &[Problem]) -> Value {
    let problem = |problem: &Problem| {
        let Problem { host, kind, cause, remedy, members, .. } = problem;
        json!({ "host": host, "kind": format!("{kind:?}"), "cause": cause, "remedy": remedy, "members": members })
    };
    let mut object = report.to_json();
    object["left_out"] = left_out.iter().map(problem).collect();
    object
}
