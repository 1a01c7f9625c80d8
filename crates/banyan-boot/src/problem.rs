//! Something that went wrong at a host: which host, the cause, and what to do about it.

use std::fmt;

use banyan_ndr::Record;

/// What went wrong, where, and the remedy.
#[derive(Debug, Clone, PartialEq, Record)]
#[non_exhaustive]
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

/// Bytes of each text of a problem that came from another process.
const TEXT_LIMIT: usize = 4096;

impl Problem {
    /// A problem that concerns a host, whatever its members.
    pub fn new(
        host: impl Into<String>,
        kind: ProblemKind,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Problem {
        Problem { host: host.into(), kind, cause: cause.into(), remedy: remedy.into(), members: String::new() }
    }

    /// Everything but where.
    pub(crate) fn what(&self) -> String {
        let mut what = self.cause.clone();
        if !self.members.is_empty() {
            // One is not a number of members.
            let is_one = self.members.bytes().all(|byte| byte.is_ascii_digit());
            what += &format!(" ({} {})", if is_one { "member" } else { "members" }, self.members);
        }
        if !self.remedy.is_empty() {
            what += &format!("; {}", self.remedy);
        }
        what
    }

    /// The same with texts that are not too long: what another process says need not end.
    pub(crate) fn shortened(mut self) -> Problem {
        for text in [&mut self.host, &mut self.cause, &mut self.remedy, &mut self.members] {
            if text.len() > TEXT_LIMIT {
                text.truncate(text.floor_char_boundary(TEXT_LIMIT));
                text.push('…');
            }
        }
        self
    }
}

/// Kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Record)]
#[non_exhaustive]
pub enum ProblemKind {
    /// No agent could be started there.
    Unreachable,
    /// The agent there speaks another protocol.
    Version,
    /// The agent there was lost.
    AgentLost,
    /// The keeper of the agent there was lost; the agent and its members go on.
    KeeperLost,
    /// A member could not be started.
    NotStarted,
    /// Members did not attach in time, or too many wanted to.
    NotAttached,
    /// A file could not be brought there.
    Staging,
    /// The system there does not permit to store or read a file.
    NotPermitted,
    /// There is no space left there for a file.
    NoSpace,
    /// Members have ended and left processes behind, which are ended with the session. Nothing went wrong.
    LeftRunning,
    /// A peer broke the protocol, or is a member that speaks another one, and was cut off.
    Broken,
    /// The front-end itself cannot go on; no host is to blame.
    FrontEnd,
}

impl ProblemKind {
    /// Whether it says that a file could not be brought somewhere.
    pub(crate) fn is_of_staging(self) -> bool {
        matches!(self, ProblemKind::Staging | ProblemKind::NotPermitted | ProblemKind::NoSpace)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind != ProblemKind::FrontEnd {
            write!(f, "host {}: ", self.host)?;
        }
        f.write_str(&self.what())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_process_says_is_cut_between_characters() {
        let problem = |host: &str, cause: String| Problem {
            host: host.into(),
            kind: ProblemKind::Broken,
            cause,
            remedy: String::new(),
            members: "0-3".into(),
        };
        let short = problem("n1", "why".into());
        assert_eq!(short.clone().shortened(), short);
        let long = problem("n1", "x".to_owned() + &"ä".repeat(TEXT_LIMIT)).shortened();
        assert_eq!((long.cause.len(), &*long.members), (TEXT_LIMIT - 1 + '…'.len_utf8(), "0-3"));
        assert!(long.cause.ends_with("ä…"), "{}", long.cause);
    }
}
