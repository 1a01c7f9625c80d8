//! Something that went wrong at a host: which host, the cause, and what to do about it.

use std::fmt;

use banyan_ndr::Record;

/// What went wrong, where, and the remedy.
#[derive(Debug, Clone, PartialEq, Record)]
pub struct Problem {
    /// The host.
    pub host: String,
    /// What kind of thing went wrong, in one word for programs.
    pub kind: ProblemKind,
    /// The cause, for people.
    pub cause: String,
    /// What to do, or a command that shows more; may be empty.
    pub remedy: String,
    /// Ranks it concerns, folded as text (`0-3,7`); may be empty.
    pub members: String,
}

/// Kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Record)]
pub enum ProblemKind {
    /// No agent could be started there.
    Unreachable,
    /// The agent there is of another version.
    Version,
    /// The agent there was lost.
    AgentLost,
    /// A member could not be started.
    NotStarted,
    /// Members did not attach in time, or too many wanted to.
    NotAttached,
    /// A file could not be brought there.
    Staging,
    /// The system there does not permit to store or read a file.
    NotPermitted,
    /// A peer broke the protocol and was cut off.
    Broken,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}: {}", self.host, self.cause)?;
        if !self.members.is_empty() {
            write!(f, " (members {})", self.members)?;
        }
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}
