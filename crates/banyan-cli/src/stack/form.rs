//! What `banyan stack` can write.

use banyan_stack::{Report, TextOptions, dot, folded, svg, text};

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
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

impl Form {
    pub(super) fn written(self, report: &Report, color: bool) -> String {
        match self {
            Form::Text => text(report, TextOptions { color, times: true }),
            Form::Json => format!("{}\n", report.to_json()),
            Form::Folded => folded(report),
            Form::Dot => dot(report),
            Form::Svg => svg(report),
        }
    }
}
