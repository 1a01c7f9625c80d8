//! A picture as DOT, for Graphviz.

use std::fmt::Write as _;

use super::super::Role;
use super::view::View;

impl View<'_> {
    /// As DOT.
    pub fn to_dot(&self) -> String {
        let mut out =
            String::from("digraph topology {\n  rankdir = LR;\n  node [shape = box, fontname = \"sans-serif\"];\n");
        for (number, branch) in self.branches().iter().enumerate() {
            let shape = match (branch.role, branch.count) {
                (Some(Role::Member), _) => ", style = rounded",
                (_, 1) => "",
                _ => ", peripheries = 2",
            };
            let mut label = branch.label();
            if branch.is_cut && !branch.below().is_empty() {
                let _ = write!(label, "\\n{} below", branch.below());
            }
            // Host names hold no quotes.
            let _ = writeln!(out, "  n{number} [label = \"{label}\"{shape}];");
        }
        for (number, branch) in self.branches().iter().enumerate() {
            for child in &branch.children {
                let _ = writeln!(out, "  n{number} -> n{child};");
            }
        }
        out.push_str("}\n");
        out
    }
}
