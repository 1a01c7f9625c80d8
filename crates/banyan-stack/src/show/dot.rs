//! The tree for Graphviz.

use std::fmt::Write as _;

use super::{Branch, branches, counted, cut, harmless, quantity};
use crate::report::Report;

/// Ranks at an edge are cut behind so many letters.
const RANKS_WIDTH: usize = 32;

/// The tree as a graph: a box for what the same ranks do, an edge with the ranks that go on.
pub fn dot(report: &Report) -> String {
    let mut out = String::from(
        "digraph stacks {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#eef2f7\", \
         color=\"#8a99ad\", fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=10, \
         color=\"#8a99ad\"];\n",
    );
    let ranks = report.tree.ranks();
    let threads = match report.tree.threads().count() {
        0 => String::new(),
        threads => format!("\\n{}", counted(threads, "thread", "threads")),
    };
    let _ = writeln!(out, "  n0 [label=\"{}{threads}\", shape=ellipse];", counted(ranks.len(), "rank", "ranks"));
    let mut next = 1;
    for branch in branches(&report.tree) {
        write(&mut out, &branch, 0, &mut next, ranks.len());
    }
    out.push_str("}\n");
    out
}

fn write(out: &mut String, branch: &Branch<'_>, parent: usize, next: &mut usize, total: u64) {
    let number = *next;
    *next += 1;
    let lines: String = branch.frames.iter().map(|frame| format!("{}\\l", quoted(&frame.to_string()))).collect();
    let color = if branch.is_odd { ", fillcolor=\"#ffe2c2\", color=\"#d9730d\"" } else { "" };
    let _ = writeln!(out, "  n{number} [label=\"{lines}\"{color}];");
    let count = branch.ranks.len();
    let width = 1.0 + 5.0 * (count as f64 / total.max(1) as f64).sqrt();
    let ranks = cut(&branch.ranks.to_string(), RANKS_WIDTH);
    let quantity = quantity(count, branch.threads);
    let _ = writeln!(out, "  n{parent} -> n{number} [label=\"{quantity}: {ranks}\", penwidth={width:.1}];");
    for child in &branch.children {
        write(out, child, number, next, total);
    }
}

fn quoted(text: &str) -> String {
    harmless(text).replace('\\', "\\\\").replace('"', "\\\"")
}
