//! A line for each stack, as the makers of flame graphs read them: `main;solve;wait 15`.

use std::fmt::Write as _;

use super::harmless;
use crate::report::Report;

/// The stacks, each with the number of ranks that have it; of threads, if those were asked for.
pub fn folded(report: &Report) -> String {
    let mut out = String::new();
    for (stack, ranks, threads) in report.tree.stacks() {
        let names: Vec<String> = stack.iter().map(|frame| harmless(&frame.to_string()).replace(';', ":")).collect();
        let count = if threads.count() > 0 { threads.count() } else { ranks.len() };
        let _ = writeln!(out, "{} {count}", names.join(";"));
    }
    out
}
