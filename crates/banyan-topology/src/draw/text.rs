//! A picture as text, a branch a line.

use std::fmt;

use super::view::{Branch, View};

/// As text: lines that hang below each other.
impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let front_end = &self.branches()[0];
        writeln!(f, "{}: {} below", front_end.label(), front_end.below())?;
        self.lines(f, front_end, &mut String::new())
    }
}

impl View<'_> {
    /// The lines below a branch. They are as deep as topologies may be, so that calls are too.
    fn lines(&self, f: &mut fmt::Formatter<'_>, branch: &Branch, before: &mut String) -> fmt::Result {
        for (index, child) in branch.children.iter().enumerate() {
            let child = &self.branches()[*child];
            let is_last = index + 1 == branch.children.len();
            writeln!(f, "{before}{} {}{}", if is_last { "└─" } else { "├─" }, child.label(), remark(child))?;
            let length = before.len();
            before.push_str(if is_last { "   " } else { "│  " });
            self.lines(f, child, before)?;
            before.truncate(length);
        }
        Ok(())
    }
}

/// What a line says of what is below it.
fn remark(branch: &Branch) -> String {
    match (branch.is_cut, branch.below(), branch.count) {
        (true, below, _) if below.is_empty() => ", not shown one by one".into(),
        (true, below, _) if branch.role.is_none() => format!(" with their trees: {below}, not shown"),
        (true, below, _) => format!(": {below} below, not shown"),
        (false, below, 2..) if !below.is_empty() => ", each with".into(),
        _ => String::new(),
    }
}
