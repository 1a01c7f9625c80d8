//! What is asked of hosts: by what processes are put together, how many are told, and whose they are.
//!
//! All of this is decided where the processes are, so that those who were asked for are found although others are greedier.

use banyan_boot::RankSet;
use banyan_ndr::Record;

use super::usage::Usage;
use crate::screen::harmless;

/// By what processes are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grouping {
    Process,
    User,
    Job,
}

/// By what those are chosen that are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SortKey {
    Cpu,
    Memory,
    Processes,
    DiskRead,
    DiskWrite,
}

impl SortKey {
    pub(super) const ALL: [SortKey; 5] =
        [SortKey::Cpu, SortKey::Memory, SortKey::Processes, SortKey::DiskRead, SortKey::DiskWrite];
}

/// How usages are put together, by every node on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Record)]
pub(super) struct Ask {
    kind: u32,
    order: u32,
    /// How many at most.
    pub(super) most: u32,
}

impl Ask {
    pub(super) fn new(kind: Grouping, order: SortKey, most: u32) -> Ask {
        Ask { kind: kind as u32, order: order as u32, most }
    }

    /// The same for a filter.
    pub(super) fn parameters(self) -> String {
        format!("{} {} {}", self.kind, self.order, self.most)
    }

    pub(super) fn from_parameters(text: &[u8]) -> Option<Ask> {
        let mut numbers = std::str::from_utf8(text).ok()?.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Ask { kind: next()?, order: next()?, most: next()? })
    }

    /// As with the kind.
    pub(super) fn order(self) -> SortKey {
        SortKey::ALL.into_iter().find(|order| *order as u32 == self.order).unwrap_or(SortKey::Cpu)
    }

    /// A front-end of another release may ask for what is not known here: it gets processes.
    pub(super) fn kind(self) -> Grouping {
        [Grouping::Process, Grouping::User, Grouping::Job]
            .into_iter()
            .find(|kind| *kind as u32 == self.kind)
            .unwrap_or(Grouping::Process)
    }
}

/// What the front-end asks members.
#[derive(Debug, Clone, PartialEq, Eq, Record)]
pub(super) struct Question {
    pub(super) ask: Ask,
    /// Only processes of this job; of any if it is empty.
    pub(super) job: String,
    /// Only processes of this user; of any if it is empty.
    pub(super) user: String,
    /// Only what has this in a name, …
    pub(super) text: String,
    /// … or is on one of these hosts, by rank, whose own names have it.
    pub(super) anyway: String,
}

impl Question {
    /// About everyone.
    pub(super) fn new(ask: Ask) -> Question {
        let (job, user, text, anyway) = Default::default();
        Question { ask, job, user, text, anyway }
    }

    /// As the host of this rank has to understand it.
    pub(super) fn on(mut self, rank: u32) -> Question {
        // What is no set of hosts is none.
        if self.anyway.parse::<RankSet>().is_ok_and(|hosts| hosts.contains(rank)) {
            self.text.clear();
        }
        self
    }

    /// Whether jobs have to be known for an answer.
    pub(super) fn is_about_jobs(&self) -> bool {
        self.ask.kind() == Grouping::Job || !self.job.is_empty()
    }

    /// Whether users have to be known for an answer.
    pub(super) fn is_about_users(&self) -> bool {
        self.ask.kind() != Grouping::Job
    }

    /// Whether a usage is asked for, wherever it is.
    pub(super) fn is_about(&self, usage: &Usage) -> bool {
        let named = || [&usage.name, &usage.user].into_iter().any(|name| has_text(name, &self.text));
        (self.user.is_empty() || self.user == usage.user) && (self.text.is_empty() || named())
    }
}

/// Whether a name has a text in it, as it is shown, in small or large letters.
pub(super) fn has_text(name: &str, text: &str) -> bool {
    harmless(name.as_bytes()).to_lowercase().contains(&text.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_comes_back_from_its_text() {
        let ask = Ask::new(Grouping::Job, SortKey::Memory, 7);
        assert_eq!(Ask::from_parameters(ask.parameters().as_bytes()), Some(ask));
        assert!([&b""[..], b"1 2", b"1 2 x", b"\xff"].iter().all(|text| Ask::from_parameters(text).is_none()));
    }

    #[test]
    fn a_text_is_looked_for_in_names_as_they_are_shown_unless_the_host_has_it_in_its_own() {
        let usage = Usage { name: "Solver\u{1b}".into(), user: "ana".into(), ..Usage::default() };
        let ask = Ask::new(Grouping::Process, SortKey::Cpu, 1);
        let about = |text: &str| Question { text: text.into(), anyway: "2-3".into(), ..Question::new(ask) };
        for (text, is_asked) in [("sOLV", true), ("solver\\u{1b}", true), ("AN", true), ("ben", false), ("", true)] {
            assert_eq!(about(text).on(1).is_about(&usage), is_asked, "{text}");
            assert!(about(text).on(3).is_about(&usage), "{text}");
        }
        let strange = Question { anyway: "no ranks".into(), ..about("ben") };
        assert!(!strange.on(0).is_about(&usage));
    }

    #[test]
    fn a_user_is_known_by_the_whole_name() {
        let usage = Usage { name: "solver".into(), user: "ana".into(), ..Usage::default() };
        let of =
            |user: &str| Question { user: user.into(), ..Question::new(Ask::new(Grouping::Process, SortKey::Cpu, 1)) };
        assert_eq!(["ana", "an", "Ana", ""].map(|user| of(user).is_about(&usage)), [true, false, false, true]);
    }
}
