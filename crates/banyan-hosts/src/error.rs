//! What can be wrong with a set of hosts: where, what, and what to write instead.

use std::fmt;
use std::path::PathBuf;

use crate::cause::cause;

use super::limits::{MAX_DIGITS, MAX_EXPANDED, MAX_HOSTS, MAX_NAME_BYTES, MAX_TEXT_BYTES};

/// Why there is no set of hosts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostSetError {
    /// The text of a set is wrong.
    #[error("host set, {at}: {problem}")]
    Text {
        /// Where in the text.
        at: Position,
        /// What is wrong there.
        problem: Problem,
    },
    /// The text of a host file is wrong.
    #[error("host file {}, {at}: {problem}", path.display())]
    FileText {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        at: Position,
        /// What is wrong there.
        problem: Problem,
    },
    /// A host file cannot be read.
    #[error("host file {}: {}; name a readable text file of host names", path.display(), cause(source))]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A host file is longer than any set may be.
    #[error("host file {}: longer than {MAX_TEXT_BYTES} bytes; name a file of host names, or fold it", path.display())]
    FileTooLong {
        /// The file.
        path: PathBuf,
    },
    /// A single name, given as such, is wrong, or is one too many.
    #[error("host name {name:?}: {problem}")]
    Name {
        /// The name, or its beginning.
        name: String,
        /// What is wrong with it.
        problem: Problem,
    },
    /// Two sets together are more than one may hold.
    #[error("both sets together: {0}")]
    Union(Problem),
}

/// A place in a text. Both count from one; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character within the line.
    pub column: usize,
}

impl Position {
    /// The place of the byte at `offset`.
    pub(super) fn of(text: &str, offset: usize) -> Position {
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position {
            line: 1 + before.bytes().filter(|byte| *byte == b'\n').count(),
            column: 1 + before[line_start..].chars().count(),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// What is wrong, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// An operator lacks one of its sides.
    #[error("`{0}` lacks the set {1} it; write both sides, as in `n[1-9]{0}n3`")]
    MissingOperand(char, Side),
    /// A bracket is not closed on its line.
    #[error("`[` is not closed; write `]` after the last number, as in `n[1-4]`")]
    Unclosed,
    /// A bracket was never opened.
    #[error("`]` without a `[` before it; write both, as in `n[1-4]`, or neither")]
    Unopened,
    /// A bracket within a bracket.
    #[error("`[` within brackets; close the first with `]`, as in `r[0-7]n[1-4]`")]
    Nested,
    /// No number where one must stand.
    #[error("a number is missing; write numbers and ranges, as in `n[1-4,7]`")]
    MissingNumber,
    /// Something else where a number must stand.
    #[error("{0:?} is not a number; brackets hold numbers, ranges and steps, as in `n[1-4,7,10-90/5]`")]
    NotANumber(String),
    /// A number with more digits than can be counted with.
    #[error("a number has more than {MAX_DIGITS} digits; write the host name without brackets")]
    TooManyDigits,
    /// A range whose end comes before its start.
    #[error("the range {first}-{last} runs backwards; write {last}-{first}")]
    Backwards {
        /// Its start.
        first: String,
        /// Its end.
        last: String,
    },
    /// A range whose ends disagree about leading zeros.
    #[error("the range {range} does not say how many digits its numbers have; write {padded} or {bare}")]
    Padding {
        /// The range.
        range: String,
        /// The range with as many leading zeros on both ends.
        padded: String,
        /// The range without leading zeros.
        bare: String,
    },
    /// A step of zero, or a step without a range.
    #[error("a step needs a range and is at least 1, as in `n[0-100/5]`")]
    Step,
    /// A character that names do not hold.
    #[error("a host name cannot hold {0:?}; {instead}", instead = instead_of(*.0))]
    Character(char),
    /// A name, or the part behind `@`, that does not begin like one.
    #[error(
        "a host name cannot begin with {0:?}, which other programs would not take for a name; \
         begin with a letter, a digit, `_` or `:`"
    )]
    Beginning(char),
    /// A name without characters, or with nothing before or behind its `@`.
    #[error("the host name is empty; write HOST or USER@HOST")]
    Empty,
    /// More than one `@`.
    #[error("a host name holds at most one `@`; write USER@HOST, and a comma between names")]
    SecondAt,
    /// A bracket with colons that holds no address.
    #[error("{0:?} is not an IPv6 address; write one as in `[fe80::1%eth0]`")]
    Address(String),
    /// An address in brackets is a whole host name.
    #[error(
        "an address in brackets stands alone, as `[::1]` or `user@[::1]`; \
         a port belongs into the configuration of what connects, such as ~/.ssh/config"
    )]
    AddressAlone,
    /// A name that is too long.
    #[error("the host name has {0} bytes, names have at most {MAX_NAME_BYTES}; is a comma missing?")]
    NameTooLong(usize),
    /// More hosts than a set may hold.
    #[error("more than {MAX_HOSTS} hosts; are the ends of a range right?")]
    TooManyHosts,
    /// More bytes of names than a set may hold.
    #[error("the names take more than {MAX_TEXT_BYTES} bytes; write shorter names or fewer hosts")]
    TooMuchText,
    /// An expression names so many hosts, most of them again and again, that working it out would take too long.
    #[error("the expression spells out more than {MAX_EXPANDED} names; name each host once")]
    TooMuchWork,
    /// An `@` without the name of a group.
    #[error("`@` lacks the name of a group; write it behind, as in `@gpu` or `@slurm:debug`")]
    NoGroupName,
    /// A group that is not known, or has no hosts to give.
    #[error("@{name}: {cause}")]
    Group {
        /// The group, or its beginning.
        name: String,
        /// Why there are no hosts.
        cause: String,
    },
}

/// A side of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What stands before it.
    Before,
    /// What stands behind it.
    Behind,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Before => "before",
            Side::Behind => "behind",
        })
    }
}

fn instead_of(character: char) -> &'static str {
    match character {
        '/' => "write the host only, without path or scheme",
        '#' => "comments stand in host files only",
        '^' => "give a host file as such, and write `!` to leave hosts out",
        '*' | '?' => "write the numbers, as in `n[1-16]`",
        ';' => "write a comma between names",
        c if !c.is_ascii() => "write international names as DNS does, as in `xn--bcher-kva`",
        _ => "names hold letters, digits and -_.:@%",
    }
}

/// As much of a wrong text as is worth showing.
pub(super) fn excerpt(text: &str) -> String {
    const CHARACTERS: usize = 40;
    let mut shown: String = text.chars().take(CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
