//! A line for each stack, as the makers of flame graphs read them: `main;solve;wait 15`.

use std::fmt::Write as _;

use super::harmless;
use crate::report::Report;

/// The stacks, each with the number of ranks that have it.
pub fn folded(report: &Report) -> String {
    let mut out = String::new();
    for (stack, ranks) in report.tree.stacks() {
        let names: Vec<String> = stack.iter().map(|frame| harmless(&frame.to_string()).replace(';', ":")).collect();
        let _ = writeln!(out, "{} {}", names.join(";"), ranks.len());
    }
    out
}
