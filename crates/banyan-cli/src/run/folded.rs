//! The end of a run with `--fold`: what was written, once, below those who wrote it; with `--diff`, what sets the others
//! apart from most.
//!
//! Lines that begin like a title are marked, so that nobody can write one that names others.

use std::io::{self, Write};
use std::string::FromUtf8Error;

use banyan_boot::{Lines, RankSet};
use serde_json::{Value, json};

use super::difference::{Change, changes};
use super::gather::{DistinctTexts, KEPT_BYTES, SameText};
use super::names::MemberNames;
use super::show::hex_unless_text;
use crate::paint::{Paint, Style};
use crate::screen::harmless;

/// What titles begin with.
const TITLE: &str = "=== ";

/// What stands before a line of a member that begins like a title.
const MARK: &str = "\\";

/// Everything that members wrote, to both streams.
pub(super) struct Folded {
    names: MemberNames,
    out: DistinctTexts,
    err: DistinctTexts,
    diff: bool,
    /// Members that never ran.
    unreached: RankSet,
}

/// How text is to be shown on a stream.
#[derive(Clone, Copy)]
pub(super) struct TextStyle {
    pub(super) paint: Paint,
    /// It is a terminal, on which nothing may move the cursor.
    pub(super) terminal: bool,
}

impl Folded {
    pub(super) fn new(names: MemberNames, diff: bool) -> Folded {
        let gathering = || DistinctTexts::new(names.len(), KEPT_BYTES);
        Folded { out: gathering(), err: gathering(), names, diff, unreached: RankSet::new() }
    }

    /// These members never ran: nothing is said about them.
    pub(super) fn leave_out(&mut self, unreached: &RankSet) {
        self.unreached = unreached.clone();
    }

    /// Members that ran, by what they wrote.
    fn classes(&self, gathering: &DistinctTexts) -> Vec<SameText> {
        let mut classes = gathering.classes();
        classes.iter_mut().for_each(|class| class.members = class.members.difference(&self.unreached));
        classes.retain(|class| !class.members.is_empty());
        classes.sort_by_key(|class| (std::cmp::Reverse(class.members.len()), class.members.first()));
        classes
    }

    pub(super) fn note(&mut self, lines: &Lines) {
        let gathering = if lines.errors { &mut self.err } else { &mut self.out };
        gathering.write(lines.rank, &lines.bytes);
    }

    /// Shows what went to standard output.
    pub(super) fn show_out(&self, to: &mut impl Write, look: TextStyle) -> io::Result<()> {
        self.show(&self.out, to, look)
    }

    /// Shows what went to standard error.
    pub(super) fn show_err(&self, to: &mut impl Write, look: TextStyle) -> io::Result<()> {
        self.show(&self.err, to, look)
    }

    fn show(&self, gathering: &DistinctTexts, to: &mut impl Write, look: TextStyle) -> io::Result<()> {
        let classes = self.classes(gathering);
        if classes.iter().all(SameText::is_empty) {
            return Ok(());
        }
        let majority = self.majority(gathering, &classes);
        for (index, class) in classes.iter().enumerate() {
            writeln!(to, "{}", look.paint.text(Style::Title, self.title(class)))?;
            match (self.diff, index) {
                (true, 1..) => {
                    let text = gathering.text(class);
                    changes(&majority, &text).iter().try_for_each(|change| write_change(to, look, change))?;
                }
                _ => write_text(to, look, &gathering.pieces(class))?,
            }
        }
        Ok(())
    }

    /// How many members ran.
    fn ran(&self) -> u64 {
        self.names.len() as u64 - self.unreached.len()
    }

    /// What most wrote, if others are compared with it.
    fn majority(&self, gathering: &DistinctTexts, classes: &[SameText]) -> Vec<u8> {
        classes.first().filter(|_| self.diff).map(|class| gathering.text(class)).unwrap_or_default()
    }

    /// Who, how many of how many, and what is not shown.
    fn title(&self, class: &SameText) -> String {
        let who = self.names.title(&class.members);
        let mut title = format!("{TITLE}{who} ({} of {})", class.members.len(), self.ran());
        if class.is_empty() {
            title += " wrote nothing";
        }
        if class.beyond > 0 {
            title += &format!(
                " wrote {} bytes more than there is room for; run it without --fold to see them",
                class.beyond
            );
        }
        title
    }

    /// One object for each text, made when it is asked for: there is never more than one of them.
    pub(super) fn objects(&self) -> impl Iterator<Item = Value> {
        [("stdout", &self.out), ("stderr", &self.err)].into_iter().flat_map(move |(stream, gathering)| {
            let mut classes = self.classes(gathering);
            if classes.iter().all(SameText::is_empty) {
                classes.clear();
            }
            let majority = self.majority(gathering, &classes);
            let object =
                move |(index, class): (usize, SameText)| self.object(stream, gathering, &class, index, &majority);
            classes.into_iter().enumerate().map(object)
        })
    }

    fn object(
        &self,
        stream: &str,
        gathering: &DistinctTexts,
        class: &SameText,
        index: usize,
        majority: &[u8],
    ) -> Value {
        let mut object = json!({
            "event": "folded",
            "stream": stream,
            "members": class.members.to_string(),
            "hosts": self.names.hosts_of(&class.members),
            "count": class.members.len(),
            "bytes_left_out": class.beyond,
        });
        let text = gathering.text(class);
        if self.diff && index > 0 {
            object["diff"] = diff_text(majority, &text).into();
        }
        hex_unless_text(&mut object, &text);
        let lossy = |error: FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
        object["text"] = String::from_utf8(text).unwrap_or_else(lossy).into();
        object
    }
}

fn diff_text(old: &[u8], new: &[u8]) -> String {
    let line = |change: &Change<'_>| {
        let (mark, line) = change.parts();
        format!("{mark}{}\n", String::from_utf8_lossy(line))
    };
    changes(old, new).iter().map(line).collect()
}

/// Writes a text that comes in pieces, line by line.
fn write_text(to: &mut impl Write, look: TextStyle, pieces: &[&[u8]]) -> io::Result<()> {
    let mut begun: Vec<u8> = Vec::new();
    for part in pieces.iter().flat_map(|piece| piece.split_inclusive(|byte| *byte == b'\n')) {
        match part.strip_suffix(b"\n") {
            Some(line) if begun.is_empty() => write_line(to, look, line)?,
            Some(rest) => {
                begun.extend_from_slice(rest);
                write_line(to, look, &begun)?;
                begun.clear();
            }
            None => begun.extend_from_slice(part),
        }
    }
    // What comes next begins on a line of its own, whether this one has an end or not.
    if begun.is_empty() { Ok(()) } else { write_line(to, look, &begun) }
}

fn write_line(to: &mut impl Write, look: TextStyle, line: &[u8]) -> io::Result<()> {
    if line.starts_with(TITLE.as_bytes()) {
        to.write_all(MARK.as_bytes())?;
    }
    if look.terminal {
        to.write_all(harmless(line).as_bytes())?;
    } else {
        to.write_all(line)?;
    }
    to.write_all(b"\n")
}

fn write_change(to: &mut impl Write, look: TextStyle, change: &Change<'_>) -> io::Result<()> {
    let style = match change {
        Change::Place(_) => Some(Style::Label),
        Change::Removed(_) => Some(Style::Bad),
        Change::Added(_) => Some(Style::Good),
        Change::Same(_) => None,
    };
    let (mark, line) = change.parts();
    match style.filter(|_| look.paint.0 || look.terminal) {
        Some(style) => writeln!(to, "{}", look.paint.text(style, format_args!("{mark}{}", harmless(line)))),
        None if look.terminal => writeln!(to, "{mark}{}", harmless(line)),
        None => {
            to.write_all(mark.as_bytes())?;
            to.write_all(line)?;
            to.write_all(b"\n")
        }
    }
}
