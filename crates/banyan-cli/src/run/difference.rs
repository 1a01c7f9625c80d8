//! What one text has that another has not: a unified diff by lines, of bytes.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};

/// Lines around a difference that are shown.
const CONTEXT: usize = 3;

/// How long the shortest way from one text to the other is looked for; after that a longer one will do.
const PATIENCE: Duration = Duration::from_millis(500);

/// A line of a diff.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change<'a> {
    /// Where the lines below are in both texts.
    Place(String),
    /// In both.
    Same(&'a [u8]),
    /// In the old text only.
    Removed(&'a [u8]),
    /// In the new text only.
    Added(&'a [u8]),
}

/// The way from one text to another.
pub(super) fn changes<'a>(old: &'a [u8], new: &'a [u8]) -> Vec<Change<'a>> {
    let (old, new) = (lines(old), lines(new));
    let deadline = Instant::now().checked_add(PATIENCE);
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    let mut changes = Vec::new();
    for group in group_diff_ops(operations, CONTEXT) {
        changes.extend(place(&group).map(Change::Place));
        for operation in &group {
            let (was, is) = (operation.old_range(), operation.new_range());
            if operation.tag() == DiffTag::Equal {
                changes.extend(old[was].iter().map(|line| Change::Same(line)));
            } else {
                changes.extend(old[was].iter().map(|line| Change::Removed(line)));
                changes.extend(new[is].iter().map(|line| Change::Added(line)));
            }
        }
    }
    changes
}

/// Lines without their ends. A last line without an end is not told apart from one with it: people cannot see it.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line)).collect()
}

/// As `diff -u` writes it: first line and number of lines, in both texts.
fn place(group: &[DiffOp]) -> Option<String> {
    let (first, last) = (group.first()?, group.last()?);
    let range = |start: usize, end: usize| match end - start {
        1 => format!("{}", start + 1),
        0 => format!("{start},0"),
        count => format!("{},{count}", start + 1),
    };
    let was = range(first.old_range().start, last.old_range().end);
    let is = range(first.new_range().start, last.new_range().end);
    Some(format!("@@ -{was} +{is} @@"))
}

impl Change<'_> {
    /// What a line begins with in a unified diff, and the line.
    pub(super) fn parts(&self) -> (&'static str, &[u8]) {
        match self {
            Change::Place(place) => ("", place.as_bytes()),
            Change::Same(line) => (" ", line),
            Change::Removed(line) => ("-", line),
            Change::Added(line) => ("+", line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(old: &str, new: &str) -> String {
        let changes = changes(old.as_bytes(), new.as_bytes());
        let line = |change: &Change<'_>| {
            let (mark, line) = change.parts();
            format!("{mark}{}\n", String::from_utf8_lossy(line))
        };
        changes.iter().map(line).collect()
    }

    #[test]
    fn a_changed_line_is_shown_between_its_neighbours() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        assert_eq!(text(old, &old.replace('5', "five")), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        assert_eq!(text("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(text("a\n", ""), "@@ -1 +0,0 @@\n-a\n");
        assert_eq!(text("a\n", "a\n"), "");
    }
}
