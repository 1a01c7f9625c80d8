//! A node's way to its parent: whom it asks, in which order, and for how long.
//!
//! An orphan asks its ancestors, nearest first, each followed by some of that ancestor's other children; all of them have
//! smaller levels than its own, so no ring can form. One that is full names others; nobody is asked twice in a pass. When all have refused it begins
//! again, after a pause that grows and is never the same for two orphans, and asks urgently.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::NAMED;
use super::chance::Chance;
use crate::ids::{Level, LinkId, NodeId, Time};
use crate::message::{Ancestor, Ancestry, Candidate};

/// How long one that was asked may take to answer; twice as long in each further pass, up to the longest: where everyone
/// is slow, asking again makes them slower.
const ANSWER: Duration = Duration::from_millis(1000);
const LONGEST_ANSWER: Duration = Duration::from_millis(8000);
/// The pause before everyone is asked again, and the longest it becomes.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(1000);
/// At most so many are asked in one pass: whoever answers may name others, and they yet others.
const PASS: usize = 64;

/// Where a node stands with its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is the front-end.
    Root,
    /// Nobody was asked yet, or all refused; ask again then.
    Pausing { until: Time },
    /// This one was asked.
    Asking { candidate: Candidate, link: LinkId, until: Time },
    /// This one is the parent.
    Attached { parent: NodeId, link: LinkId },
}

#[derive(Debug)]
pub(super) struct Ascent {
    state: State,
    level: Level,
    ancestry: Ancestry,
    /// Who is asked next in this pass.
    queue: VecDeque<Candidate>,
    /// Who was asked in this pass. One that is dead takes its time each time, and several may name it.
    asked: BTreeSet<NodeId>,
    passes: u32,
    /// Since when there is no parent.
    orphaned: Time,
    /// Whether it has ever had a parent.
    had_parent: bool,
    chance: Chance,
}

impl Ascent {
    pub(super) fn root() -> Ascent {
        Ascent::new(State::Root, Level(0), Ancestry::default(), Chance::new(0))
    }

    /// A node that has not asked anyone. The first of its ancestors is meant to be its parent.
    pub(super) fn seeking(level: Level, ancestry: Ancestry, chance: Chance) -> Ascent {
        let mut ascent = Ascent::new(State::Pausing { until: Time(0) }, level, ancestry, chance);
        ascent.queue = ascent.candidates(None);
        ascent
    }

    fn new(state: State, level: Level, ancestry: Ancestry, chance: Chance) -> Ascent {
        Ascent {
            state,
            level,
            ancestry,
            queue: VecDeque::new(),
            asked: BTreeSet::new(),
            passes: 0,
            orphaned: Time(0),
            had_parent: false,
            chance,
        }
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// The link to the parent.
    pub(super) fn link(&self) -> Option<LinkId> {
        match self.state {
            State::Attached { link, .. } => Some(link),
            _ => None,
        }
    }

    pub(super) fn ancestry(&self) -> &Ancestry {
        &self.ancestry
    }

    /// Takes a new ancestry. Children of ancestors that are known already stay known: a tree that is still growing names
    /// few, and one that has gone costs one vain question.
    pub(super) fn set_ancestry(&mut self, ancestry: &Ancestry) {
        let known = std::mem::take(&mut self.ancestry);
        let merged = ancestry.iter().map(|ancestor| {
            let mut ancestor = ancestor.clone();
            let before = known.iter().find(|before| before.itself == ancestor.itself);
            for child in before.map_or(&[][..], |before| &before.children) {
                if ancestor.children.len() < NAMED && !ancestor.children.contains(child) {
                    ancestor.children.push(*child);
                }
            }
            ancestor
        });
        self.ancestry = merged.collect();
    }

    /// Whether everyone was asked before, so that someone has to take this node.
    pub(super) fn is_urgent(&self) -> bool {
        self.passes > 0
    }

    /// Whether this node has lost its parent and not found another. One that never had a parent is no orphan, and takes
    /// children in meanwhile: a tree grows everywhere at once.
    pub(super) fn is_orphan(&self) -> bool {
        self.had_parent && !matches!(self.state, State::Root | State::Attached { .. })
    }

    /// Since when it has none.
    pub(super) fn orphaned(&self) -> Time {
        self.orphaned
    }

    /// When to call [`ask`](Self::ask) or [`refused`](Self::refused) for lack of an answer.
    pub(super) fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Pausing { until } | State::Asking { until, .. } => Some(until),
            State::Root | State::Attached { .. } => None,
        }
    }

    /// Takes the next to ask, with the link to it; `None` if all were asked, and a pause begins.
    pub(super) fn ask(&mut self, now: Time, link: LinkId) -> Option<NodeId> {
        match self.next_candidate() {
            Some(candidate) => {
                self.asked.insert(candidate.node);
                let answer = ANSWER.saturating_mul(1 << self.passes.min(16)).min(LONGEST_ANSWER);
                self.state = State::Asking { candidate, link, until: now.after(answer) };
                Some(candidate.node)
            }
            None => {
                self.pause(now);
                None
            }
        }
    }

    fn next_candidate(&mut self) -> Option<Candidate> {
        let next = self.queue.iter().position(|candidate| !self.asked.contains(&candidate.node))?;
        self.queue.drain(..next);
        self.queue.pop_front().filter(|_| self.asked.len() < PASS)
    }

    /// The one that was asked refused, and named others.
    pub(super) fn named(&mut self, others: Vec<Candidate>) {
        let allowed = others.into_iter().take(PASS).rev().filter(|other| other.level < self.level);
        allowed.for_each(|other| self.queue.push_front(other));
    }

    /// The one that was asked has said yes.
    pub(super) fn attached(&mut self, link: LinkId, parent: NodeId, ancestry: &Ancestry) {
        self.state = State::Attached { parent, link };
        self.set_ancestry(ancestry);
        self.had_parent = true;
        self.queue.clear();
        self.passes = 0;
        self.asked.clear();
    }

    /// There is no parent any more.
    pub(super) fn orphan(&mut self, now: Time) {
        let parent = match self.state {
            State::Attached { parent, .. } => Some(parent),
            _ => None,
        };
        self.orphaned = now;
        self.queue = self.candidates(parent);
        self.asked.clear();
        // Orphans of one parent should not all come in the same moment.
        self.state = State::Pausing { until: now.after(self.chance.up_to(FIRST_PAUSE)) };
    }

    fn pause(&mut self, now: Time) {
        let doubled = FIRST_PAUSE.saturating_mul(1 << self.passes.min(16)).min(LONGEST_PAUSE);
        self.passes += 1;
        self.asked.clear();
        self.queue = self.candidates(None);
        self.state = State::Pausing { until: now.after(doubled / 2 + self.chance.up_to(doubled)) };
    }

    /// Everyone who may become the parent, in order; the one that was lost comes last.
    fn candidates(&mut self, lost: Option<NodeId>) -> VecDeque<Candidate> {
        let mut queue = VecDeque::new();
        for Ancestor { itself, children } in self.ancestry.iter() {
            queue.push_back(*itself);
            let turn = self.chance.below(children.len().max(1));
            queue.extend(children[turn..].iter().chain(&children[..turn]));
        }
        queue.retain(|candidate| candidate.level < self.level && Some(candidate.node) != lost);
        let parent = self.ancestry.first().map(|ancestor| ancestor.itself);
        queue.extend(parent.filter(|parent| Some(parent.node) == lost));
        queue
    }
}
