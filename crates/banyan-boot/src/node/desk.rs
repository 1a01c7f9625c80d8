//! The desk between the front-end's threads and the thread that runs the root of the tree.
//!
//! The root lays down what came up the tree; callers take it, and wait for it. Callers lay down orders; the root is
//! woken by an event descriptor. What is not taken is bounded: when [`OUTPUT_BOUND`] bytes of output lie here the root
//! stops reading, and the members that write wait; when [`GOODS_BOUND`] bytes for members lie here the callers wait.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use banyan_link::Refused;
use banyan_ranks::RankSet;
use bytes::Bytes;
use rustix::event::{EventfdFlags, eventfd};

use crate::event::{Event, Lines};
use crate::fallback::Fallback;
use crate::machine::ADDRESSES;
use crate::problem::{Problem, ProblemKind};
use crate::process::ExitState;
use crate::staging::{Offer, Tally};

/// Bytes of output that wait for the front-end at most.
const OUTPUT_BOUND: usize = 4 << 20;

/// Characters that are kept of the last line of errors of each member.
const LAST_WORDS: usize = 400;

/// Bytes of user data that wait for the front-end at most, beside one whole message.
const USER_BOUND: usize = 4 << 20;

/// Problems that wait for the front-end at most, beside several for each member: who has more to tell repeats itself.
const PROBLEMS_BOUND: usize = 1024;

/// Bytes on their way to members that wait for the root at most.
const GOODS_BOUND: usize = 1 << 20;

/// Bytes for members.
#[derive(Debug)]
pub(crate) enum Goods {
    /// For the master.
    User { bytes: Bytes, more: bool },
    /// Standard input; `last` closes it.
    Input { bytes: Bytes, last: bool },
}

impl Goods {
    fn len(&self) -> usize {
        let (Goods::User { bytes, .. } | Goods::Input { bytes, .. }) = self;
        bytes.len()
    }
}

/// What the front-end orders.
#[derive(Debug)]
pub(crate) enum Order {
    /// A signal for members; all if `None`.
    Signal { signal: i32, ranks: Option<RankSet> },
    /// Bring something to every agent.
    Stage(Offer),
    /// Give that up.
    StageCancel(u32),
    /// This process will be silent for so many seconds at most; 0: it is back.
    Pause { seconds: u32 },
    /// Members that were held back may start.
    Release,
    /// The time for the launch is over: give up who has not come, and say so.
    TimeIsUp,
    /// End everything.
    End,
    /// Leave the members running.
    Detach,
}

/// How far a session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Progress {
    /// Agents that have their work.
    pub(crate) agents: u32,
    /// Members that were started.
    pub(crate) started: u32,
    /// Members that could not be started.
    pub(crate) failed: u32,
    /// Members that have joined.
    pub(crate) joined: u32,
}

impl Progress {
    /// As it goes up.
    pub(super) fn encode(self) -> Vec<u8> {
        [self.agents, self.started, self.failed, self.joined].into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// Of two disjoint parts of a tree together.
    pub(crate) fn plus(self, other: Progress) -> Progress {
        Progress {
            agents: self.agents + other.agents,
            started: self.started + other.started,
            failed: self.failed + other.failed,
            joined: self.joined + other.joined,
        }
    }

    /// For people.
    pub(crate) fn describe(self, agents: u32, members: u32) -> String {
        format!("{} of {agents} agents answered, {} of {members} members started", self.agents, self.started)
    }
}

/// How far the transfer is that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum StagePhase {
    /// Agents are asked who lacks it.
    #[default]
    Asking,
    /// Some do, and wait for pieces.
    Sending,
    /// Everyone has said how it ended.
    Ended,
}

/// What lies on the desk about the transfer that is under way.
#[derive(Debug, Default)]
pub(crate) struct StagePapers {
    pub(crate) phase: StagePhase,
    pub(crate) tally: Tally,
    /// Pieces that were read, and whether they are the last.
    pub(crate) pieces: VecDeque<(Bytes, bool)>,
    pub(crate) problems: Vec<Problem>,
}

/// What lies on the desk.
#[derive(Debug, Default)]
pub(crate) struct Papers {
    pub(crate) progress: Progress,
    pub(crate) events: VecDeque<Event>,
    /// What the front-end does not take itself, on its way to standard error.
    passed: VecDeque<Lines>,
    /// All of it has gone there; the session is over.
    pub(crate) is_all_passed: bool,
    /// The last line that each member wrote to standard error, cut.
    last_words: BTreeMap<u32, String>,
    /// Of events and of what is passed on.
    pub(crate) output_bytes: usize,
    pub(crate) user: VecDeque<(Bytes, bool)>,
    pub(crate) user_bytes: usize,
    pub(crate) problems: Vec<Problem>,
    /// Hosts that others could not start.
    pub(crate) fallbacks: Vec<Fallback>,
    /// Problems among the events.
    told_problems: usize,
    /// Why members could not be started, of whose ends only the kind travels.
    never_started: Vec<(RankSet, String)>,
    pub(crate) states: Vec<Option<ExitState>>,
    pub(crate) ended: usize,
    /// The process of each member, by rank.
    pub(crate) processes: BTreeMap<u32, u32>,
    pub(crate) staging: StagePapers,
    /// Where members of other hosts attach, by node number.
    pub(crate) doors: BTreeMap<u32, Vec<SocketAddr>>,
    /// Those that were refused at doors of the front-end and of agents.
    pub(crate) refused: Refused,
    /// Hosts lack the agent program, and it was not on its way.
    pub(crate) is_agent_needed: bool,
    /// Agents know that this process will be silent.
    pub(crate) is_paused: bool,
    /// The root has ended; nothing more will come.
    pub(crate) over: bool,
    orders: VecDeque<Order>,
    goods: VecDeque<Goods>,
    goods_bytes: usize,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Desk {
    papers: Mutex<Papers>,
    changed: Condvar,
    bell: OwnedFd,
    /// Members whose output is passed on to standard error.
    passing: RankSet,
    /// Is told which hosts have not answered.
    awaited: Option<fn(&[&str])>,
}

impl Desk {
    /// For so many members; what these write is passed on.
    pub(crate) fn new(size: usize, passing: RankSet, awaited: Option<fn(&[&str])>) -> std::io::Result<Desk> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let papers = Papers { states: vec![None; size], ..Papers::default() };
        Ok(Desk { papers: Mutex::new(papers), changed: Condvar::new(), bell, passing, awaited })
    }

    /// What wakes the root.
    pub(crate) fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    pub(crate) fn papers(&self) -> MutexGuard<'_, Papers> {
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These hosts have not answered.
    pub(crate) fn name_awaited(&self, hosts: &[&str]) {
        if let Some(awaited) = self.awaited {
            awaited(hosts);
        }
    }

    /// Lays down what a member wrote.
    pub(crate) fn lay_output(&self, lines: Lines) {
        let is_passed = self.passing.contains(lines.rank);
        self.lay(|papers| {
            if lines.errors {
                papers.note_words(&lines);
            }
            if is_passed { papers.pass(lines) } else { papers.put_event(Event::Output(lines)) }
        });
    }

    /// An order for the root.
    pub(crate) fn order(&self, order: Order) {
        self.papers().orders.push_back(order);
        self.ring();
    }

    /// Bytes for members. Waits while too many are on their way; what comes after the end is dropped.
    pub(crate) fn hand_in(&self, goods: Goods) {
        let mut goods = Some(goods);
        self.wait(None, |papers| {
            if !papers.over && papers.goods_bytes >= GOODS_BOUND {
                return None;
            }
            if let Some(goods) = goods.take().filter(|_| !papers.over) {
                papers.goods_bytes += goods.len();
                papers.goods.push_back(goods);
            }
            Some(())
        });
        self.ring();
    }

    /// The next bytes for members.
    pub(crate) fn take_goods(&self) -> Option<Goods> {
        self.lay(|papers| {
            let goods = papers.goods.pop_front()?;
            papers.goods_bytes -= goods.len();
            Some(goods)
        })
    }

    /// Wakes the root, also when a caller has taken something it was waiting to lay down.
    pub(crate) fn ring(&self) {
        // The counter can only be full if the root has not looked for 2^64 rings: it is awake anyway.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// The orders since the last call.
    pub(crate) fn take_orders(&self) -> VecDeque<Order> {
        let mut count = [0; 8];
        // Nothing to read only means that another ring was answered together with an earlier one.
        let _ = rustix::io::read(&self.bell, &mut count);
        std::mem::take(&mut self.papers().orders)
    }

    /// Changes what lies here and wakes the callers.
    pub(crate) fn lay<R>(&self, change: impl FnOnce(&mut Papers) -> R) -> R {
        let result = change(&mut self.papers());
        self.changed.notify_all();
        result
    }

    /// The next piece of what is staged.
    pub(crate) fn take_piece(&self) -> Option<(Bytes, bool)> {
        let piece = self.papers().staging.pieces.pop_front()?;
        self.changed.notify_all();
        Some(piece)
    }

    /// Whether the root should read more data.
    pub(crate) fn has_room(&self) -> bool {
        let papers = self.papers();
        // A message is taken as a whole, so the rest of one that is longer than the bound must come too.
        let user = papers.user_bytes < USER_BOUND || papers.user.iter().all(|(_, more)| *more);
        papers.output_bytes < OUTPUT_BOUND && user
    }

    /// Waits until `take` gives something, or the deadline has passed (`None`).
    pub(crate) fn wait<R>(
        &self,
        deadline: Option<Instant>,
        mut take: impl FnMut(&mut Papers) -> Option<R>,
    ) -> Option<R> {
        let mut papers = self.papers();
        loop {
            if let Some(taken) = take(&mut papers) {
                return Some(taken);
            }
            papers = match deadline {
                None => self.changed.wait(papers).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.checked_duration_since(Instant::now())?;
                    self.changed.wait_timeout(papers, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Papers {
    /// Where members of other hosts find an agent. What cannot be read is no address.
    pub(crate) fn put_door(&mut self, node: u32, text: &[u8]) {
        let words = text.split(|byte| *byte == b' ').filter_map(|word| str::from_utf8(word).ok());
        let addresses = words.filter_map(|word| word.parse().ok()).take(ADDRESSES).collect();
        if self.doors.len() < self.states.len() {
            self.doors.insert(node, addresses);
        }
    }

    /// The next event.
    pub(crate) fn take_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.output_bytes -= event.cost();
        self.told_problems -= usize::from(matches!(event, Event::Problem(_)));
        Some(event)
    }

    /// Lines for standard error.
    pub(crate) fn pass(&mut self, lines: Lines) {
        self.output_bytes += lines.cost();
        self.passed.push_back(lines);
    }

    /// The next of them.
    pub(crate) fn take_passed(&mut self) -> Option<Lines> {
        let lines = self.passed.pop_front()?;
        self.output_bytes -= lines.cost();
        Some(lines)
    }

    fn note_words(&mut self, lines: &Lines) {
        if let Some(last) = lines.lines().last().filter(|_| (lines.rank as usize) < self.states.len()) {
            let words = String::from_utf8_lossy(last).trim_end().chars().take(LAST_WORDS).collect();
            self.last_words.insert(lines.rank, words);
        }
    }

    /// The last line that a member wrote to standard error.
    pub(crate) fn last_words(&self, rank: u32) -> Option<&String> {
        self.last_words.get(&rank)
    }

    pub(crate) fn put_event(&mut self, event: Event) {
        self.output_bytes += event.cost();
        self.events.push_back(event);
    }

    /// A member has ended, for the first time or once more.
    pub(crate) fn put_exit(&mut self, rank: u32, host: Arc<str>, state: ExitState) {
        let state = self.with_cause(rank, state);
        if let Some(slot @ None) = self.states.get_mut(rank as usize) {
            *slot = Some(state.clone());
            self.ended += 1;
            self.put_event(Event::Exited { rank, host, state });
        }
    }

    /// The state of a member that never started with what its agent said about it.
    fn with_cause(&self, rank: u32, state: ExitState) -> ExitState {
        let said = || self.never_started.iter().find(|(ranks, _)| ranks.contains(rank));
        match state {
            ExitState::NeverStarted(reason) => {
                ExitState::NeverStarted(said().map_or(reason, |(_, cause)| cause.clone()))
            }
            other => other,
        }
    }

    /// Something went wrong at a host. What nobody takes is bounded: agents may say it again and again.
    pub(crate) fn put_problem(&mut self, problem: Problem) {
        let bound = self.problems_bound();
        if let (ProblemKind::NotStarted, Ok(ranks)) = (problem.kind, problem.members.parse())
            && self.never_started.len() < bound
        {
            self.never_started.push((ranks, problem.cause.clone()));
        }
        // What members leave behind does not keep a session from coming up.
        if self.problems.len() < bound && problem.kind != ProblemKind::LeftRunning {
            self.problems.push(problem.clone());
        }
        if self.told_problems < bound {
            self.told_problems += 1;
            self.put_event(Event::Problem(problem));
        }
    }

    /// Something could not be brought to a host.
    pub(crate) fn put_staging(&mut self, problem: Problem) {
        if self.staging.problems.len() < self.problems_bound() {
            self.staging.problems.push(problem);
        }
    }

    fn problems_bound(&self) -> usize {
        PROBLEMS_BOUND + 4 * self.states.len()
    }

    /// One whole message of the master, if all of it is here.
    pub(crate) fn take_user(&mut self) -> Option<Vec<u8>> {
        let pieces = self.user.iter().position(|(_, more)| !more)? + 1;
        let mut message = Vec::new();
        for (bytes, _) in self.user.drain(..pieces) {
            self.user_bytes -= bytes.len();
            message.extend_from_slice(&bytes);
        }
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_in_after_the_end_is_dropped() {
        let desk = Desk::new(1, RankSet::new(), None).unwrap();
        let input = || Goods::Input { bytes: Bytes::from_static(b"late"), last: false };
        desk.hand_in(input());
        assert!(desk.take_goods().is_some());
        desk.lay(|papers| papers.over = true);
        desk.hand_in(input());
        assert!(desk.take_goods().is_none());
    }

    #[test]
    fn no_more_problems_are_kept_than_the_bound_and_those_that_were_taken_make_room() {
        let desk = Desk::new(3, RankSet::new(), None).unwrap();
        let mut papers = desk.papers();
        let bound = papers.problems_bound();
        let problem = |kind| Problem {
            host: "n1".into(),
            kind,
            cause: "again".into(),
            remedy: String::new(),
            members: String::new(),
        };
        for _ in 0..2 * bound {
            papers.put_problem(problem(ProblemKind::Broken));
            papers.put_staging(problem(ProblemKind::Staging));
        }
        assert_eq!((papers.problems.len(), papers.events.len(), papers.staging.problems.len()), (bound, bound, bound));
        assert!(matches!(papers.take_event(), Some(Event::Problem(_))));
        papers.put_problem(problem(ProblemKind::Broken));
        papers.put_problem(problem(ProblemKind::Broken));
        assert_eq!(papers.events.len(), bound);
    }
}
