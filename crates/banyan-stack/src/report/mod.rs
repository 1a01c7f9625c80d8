//! All that was found about some processes: their stacks as one tree, who they are, and why some could not be read.

mod json;
mod record;

use std::collections::BTreeMap;
use std::time::Duration;

pub use record::{Malformed, NodeRecord, ProcessRecord, RankRange, ReportRecord, ThreadRecord};

use banyan_ndr::Record;

use crate::process::Facts;
use crate::trace::Unreadable;
use crate::tree::StackTree;

/// Where a process is: its host, empty for this machine, and its number there.
pub type HostPid = (String, u32);

/// What was found. Reports of parts of a job are merged like trees: in any order, and again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The stacks.
    pub tree: StackTree,
    /// The processes they are of, and those that could not be read.
    pub processes: BTreeMap<HostPid, Process>,
    /// Fewer samples were taken than were asked for.
    pub cut_short: bool,
}

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Process {
    /// Its rank.
    pub rank: u32,
    /// Its command line.
    pub command: String,
    /// Stacks that were read of it: one a thread and sample.
    pub stacks: u64,
    /// The longest time a thread of it was stopped.
    pub stopped: Duration,
    /// Why it was not read, the last time it was not.
    pub unread: Option<Unread>,
    /// What else its user should know, such as why there are no frames of Python.
    pub note: Option<String>,
}

/// Why a process was not read, and what is known of it all the same.
#[derive(Debug, Clone, PartialEq, Eq, Record)]
#[record(rename = "unread")]
#[non_exhaustive]
pub struct Unread {
    /// The kind of reason.
    pub kind: Kind,
    /// The reason and the remedy, for people.
    pub why: String,
    /// What `/proc` tells, unless the process is gone.
    pub facts: Option<Facts>,
}

/// Kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Record)]
#[record(rename = "kind")]
#[non_exhaustive]
pub enum Kind {
    /// There is no such process.
    Gone,
    /// It has ended.
    Zombie,
    /// It did not stop in time.
    Stuck,
    /// The kernel forbids it.
    Forbidden,
    /// The time was too short that was given.
    OutOfTime,
    /// Something else.
    Other,
}

impl Kind {
    /// The word that stands in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Gone => "gone",
            Kind::Zombie => "zombie",
            Kind::Stuck => "stuck",
            Kind::Forbidden => "forbidden",
            Kind::OutOfTime => "out_of_time",
            Kind::Other => "other",
        }
    }
}

impl Unread {
    /// Looks at a process that was not read.
    pub(crate) fn of(process: u32, why: &Unreadable) -> Unread {
        let kind = match why {
            Unreadable::Gone => Kind::Gone,
            Unreadable::Zombie => Kind::Zombie,
            Unreadable::DidNotStop { .. } => Kind::Stuck,
            Unreadable::Forbidden(_) | Unreadable::Traced(_) => Kind::Forbidden,
            Unreadable::Hurried(_) | Unreadable::OutOfTime => Kind::OutOfTime,
            Unreadable::Kernel(_)
            | Unreadable::Foreign
            | Unreadable::TookTooLong { .. }
            | Unreadable::GivenUp(_)
            | Unreadable::Damaged(_)
            | Unreadable::System(_) => Kind::Other,
        };
        Unread { kind, why: why.to_string(), facts: Facts::read(process) }
    }
}

impl Report {
    /// Adds what another report has found.
    pub fn merge(&mut self, other: Report) {
        self.tree.merge(other.tree);
        self.cut_short |= other.cut_short;
        for (place, process) in other.processes {
            match self.processes.entry(place) {
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(process);
                }
                std::collections::btree_map::Entry::Occupied(mut entry) => entry.get_mut().merge(process),
            }
        }
    }

    /// Processes that were not read.
    pub fn unread(&self) -> impl Iterator<Item = (&HostPid, &Process, &Unread)> {
        self.processes.iter().filter_map(|(place, process)| Some((place, process, process.unread.as_ref()?)))
    }

    /// The time for which half of the processes that were stopped were not stopped longer.
    pub fn median_stop(&self) -> Duration {
        let stops = self.processes.values().map(|process| process.stopped);
        let mut stops: Vec<Duration> = stops.filter(|stopped| !stopped.is_zero()).collect();
        stops.sort_unstable();
        stops.get(stops.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    }

    /// The longest time any thread was stopped.
    pub fn longest_stop(&self) -> Duration {
        self.processes.values().map(|process| process.stopped).max().unwrap_or_default()
    }
}

impl Process {
    /// Whether there is, or was, such a process.
    pub(crate) fn is_there(&self) -> bool {
        self.stacks > 0 || self.unread.as_ref().is_none_or(|unread| unread.kind != Kind::Gone)
    }

    fn merge(&mut self, other: Process) {
        self.stacks = self.stacks.max(other.stacks);
        self.stopped = self.stopped.max(other.stopped);
        // Of two the same one, whichever came first.
        let unread = [self.unread.take(), other.unread].into_iter().flatten();
        self.unread = unread.max_by(|one, other| one.why.cmp(&other.why));
        self.note = self.note.take().max(other.note);
    }
}
