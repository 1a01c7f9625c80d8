//! A node's way to its parent: whom it asks, in which order, and for how long.
//!
//! An orphan asks its ancestors, nearest first, each followed by some of that ancestor's other children; all of them have
//! smaller levels than its own, so no ring can form. One that is full names others; nobody is asked twice in a pass. When
//! all have refused it begins again, after a pause that grows and is never the same for two orphans, and asks urgently.
//!
//! Several of them may be dead, and nobody knows it yet: when one that is dialled is not there after a short while, the next
//! is dialled beside it. The first that is there is asked, and it alone: the others are let go, and hear nothing. So nobody is
//! ever taken in by two for one question. Should it refuse, they are dialled again: they were not asked.

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
/// The part of that after which the next is dialled beside one that is not there; up to twice as long, so that orphans of one
/// parent do not all come to the next in the same moment.
const BESIDE_AFTER: u32 = 10;
/// So many are dialled at once at most: as many as one that is full names, should they all be dead.
const BESIDE: usize = NAMED;
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
    /// Some are dialled; another one then.
    Dialling { next: Time },
    /// This one is there, and was asked.
    Asking { candidate: Candidate, link: LinkId, until: Time },
    /// This one is the parent.
    Attached { parent: NodeId, link: LinkId },
}

/// One that is dialled, and how long it has time to be there.
#[derive(Debug, Clone, Copy)]
struct Dial {
    candidate: Candidate,
    link: LinkId,
    until: Time,
}

#[derive(Debug)]
pub(super) struct Ascent {
    state: State,
    level: Level,
    ancestry: Ancestry,
    /// Who is dialled, and not there yet.
    dials: Vec<Dial>,
    /// Who is dialled next in this pass.
    queue: VecDeque<Candidate>,
    /// Who was asked in this pass, or is dialled, or was in vain. One that is dead takes its time each time, and several may
    /// name it.
    asked: BTreeSet<NodeId>,
    /// Who was let go in this pass because another one was there first, and is in the queue again.
    let_go: BTreeSet<NodeId>,
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
            dials: Vec::new(),
            queue: VecDeque::new(),
            asked: BTreeSet::new(),
            let_go: BTreeSet::new(),
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

    /// When to call [`late`](Self::late) and [`dial`](Self::dial) if nothing happens before.
    pub(super) fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Pausing { until } | State::Asking { until, .. } => Some(until),
            State::Dialling { next } => {
                let next = Some(next).filter(|_| self.has_next());
                next.into_iter().chain(self.dials.iter().map(|dial| dial.until)).min()
            }
            State::Root | State::Attached { .. } => None,
        }
    }

    /// The link of one that was dialled or asked and has had its time, which is let go.
    pub(super) fn late(&mut self, now: Time) -> Option<LinkId> {
        match self.state {
            State::Asking { link, until, .. } if until <= now => {
                self.state = State::Dialling { next: now };
                Some(link)
            }
            _ => {
                let at = self.dials.iter().position(|dial| dial.until <= now)?;
                Some(self.dials.remove(at).link)
            }
        }
    }

    /// A link has ended, or could not be opened: whether it was of one that was dialled or asked. The next is dialled at once.
    pub(super) fn closed(&mut self, link: LinkId, now: Time) -> bool {
        let is_asked = matches!(self.state, State::Asking { link: asked, .. } if asked == link);
        let dials = self.dials.len();
        self.dials.retain(|dial| dial.link != link);
        let is_one = is_asked || self.dials.len() < dials;
        if is_one {
            self.state = State::Dialling { next: now };
        }
        is_one
    }

    /// Takes the next to dial if it is time, with the link to it. When all were dialled, and none is there, a pause begins.
    pub(super) fn dial(&mut self, now: Time, link: LinkId) -> Option<NodeId> {
        let is_due = match self.state {
            State::Pausing { until } => until <= now,
            State::Dialling { next } => next <= now || self.dials.is_empty(),
            State::Root | State::Asking { .. } | State::Attached { .. } => false,
        };
        if !is_due {
            return None;
        }
        match self.next_candidate() {
            Some(candidate) => {
                let next = now.after(self.time_alone(candidate.node));
                self.asked.insert(candidate.node);
                self.dials.push(Dial { candidate, link, until: now.after(self.time_to_answer()) });
                self.state = State::Dialling { next };
                Some(candidate.node)
            }
            None => {
                if self.dials.is_empty() {
                    self.pause(now);
                }
                None
            }
        }
    }

    fn time_to_answer(&self) -> Duration {
        ANSWER.saturating_mul(1 << self.passes.min(16)).min(LONGEST_ANSWER)
    }

    /// How long nobody is dialled beside this one. One that was let go has had its turn: were it waited for again after each
    /// that refuses, one that is dead would cost that time as often.
    fn time_alone(&mut self, candidate: NodeId) -> Duration {
        if self.let_go.remove(&candidate) {
            return Duration::ZERO;
        }
        let beside = self.time_to_answer() / BESIDE_AFTER;
        beside + self.chance.up_to(beside)
    }

    /// One that was dialled is there, and is asked: the links of the others, which are let go. They are the next to be dialled
    /// if this one refuses; it is not asked again in this pass, so the pass ends.
    pub(super) fn linked(&mut self, link: LinkId, now: Time) -> Option<Vec<LinkId>> {
        let at = self.dials.iter().position(|dial| dial.link == link)?;
        let Dial { candidate, .. } = self.dials.remove(at);
        self.state = State::Asking { candidate, link, until: now.after(self.time_to_answer()) };
        let others = std::mem::take(&mut self.dials);
        for Dial { candidate, .. } in others.iter().rev() {
            self.asked.remove(&candidate.node);
            self.let_go.insert(candidate.node);
            self.queue.push_front(*candidate);
        }
        Some(others.into_iter().map(|dial| dial.link).collect())
    }

    /// Whether one may be dialled beside those that are.
    fn has_next(&self) -> bool {
        let is_new = |candidate: &Candidate| !self.asked.contains(&candidate.node);
        self.dials.len() < BESIDE && self.asked.len() < PASS && self.queue.iter().any(is_new)
    }

    fn next_candidate(&mut self) -> Option<Candidate> {
        if !self.has_next() {
            return None;
        }
        let next = self.queue.iter().position(|candidate| !self.asked.contains(&candidate.node))?;
        self.queue.drain(..next);
        self.queue.pop_front()
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
        self.let_go.clear();
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
        self.let_go.clear();
        // Orphans of one parent should not all come in the same moment.
        self.state = State::Pausing { until: now.after(self.chance.up_to(FIRST_PAUSE)) };
    }

    fn pause(&mut self, now: Time) {
        let doubled = FIRST_PAUSE.saturating_mul(1 << self.passes.min(16)).min(LONGEST_PAUSE);
        self.passes += 1;
        self.asked.clear();
        self.let_go.clear();
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
