//! What the front-end hears of its session while it runs.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::problem::Problem;
use crate::process::ExitState;

/// Something that happened in a session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A member wrote whole lines.
    Output(Lines),
    /// A member ended. All it wrote came before.
    Exited {
        /// The member.
        rank: u32,
        /// Its host.
        host: Arc<str>,
        /// How it ended.
        state: ExitState,
    },
    /// Something went wrong at a host.
    Problem(Problem),
}

/// Lines that a member wrote.
#[derive(Debug, Clone)]
pub struct Lines {
    /// The member.
    pub rank: u32,
    /// Its host.
    pub host: Arc<str>,
    /// Whether it is standard error.
    pub errors: bool,
    /// One or more lines, each with its end. Only the last line a member writes may lack it, and a line of more than
    /// [`MAX_LINE`](crate::process::MAX_LINE) bytes, which comes in pieces.
    pub bytes: Bytes,
}

impl Event {
    /// Bytes it holds.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Event::Output(lines) => lines.cost(),
            Event::Exited { .. } | Event::Problem(_) => 0,
        }
    }
}

impl Lines {
    /// Bytes they hold.
    pub(crate) fn cost(&self) -> usize {
        self.bytes.len() + size_of::<Event>()
    }

    /// The lines one by one, without their ends.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.split_inclusive(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Output(lines) => {
                let stream = if lines.errors { "errors" } else { "output" };
                write!(f, "member {} on {}: {stream}, {} bytes", lines.rank, lines.host, lines.bytes.len())
            }
            Event::Exited { rank, host, state } => write!(f, "member {rank} on {host} {state}"),
            Event::Problem(problem) => problem.fmt(f),
        }
    }
}
