//! The channel between the front-end's threads and the thread that runs the root of the tree.
//!
//! The root lays down what came up the tree; callers take it, and wait for it. Callers lay down orders; the root is
//! woken by an event descriptor. What is not taken is bounded: when [`OUTPUT_BOUND`] bytes of output lie here the root
//! stops reading, and the members that write wait; when [`MEMBER_DATA_BOUND`] bytes for members lie here the callers wait.

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
const MEMBER_DATA_BOUND: usize = 1 << 20;

/// Bytes for members.
#[derive(Debug)]
pub(crate) enum MemberData {
    /// For the master.
    User { bytes: Bytes, more: bool },
    /// Standard input; `last` closes it.
    Input { bytes: Bytes, last: bool },
}

impl MemberData {
    fn len(&self) -> usize {
        let (MemberData::User { bytes, .. } | MemberData::Input { bytes, .. }) = self;
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

/// The transfer that is under way.
#[derive(Debug, Default)]
pub(crate) struct StageState {
    pub(crate) phase: StagePhase,
    pub(crate) tally: Tally,
    /// Pieces that were read, and whether they are the last.
    pub(crate) pieces: VecDeque<(Bytes, bool)>,
    pub(crate) problems: Vec<Problem>,
}

/// What the root and the callers leave for each other.
#[derive(Debug, Default)]
pub(crate) struct RootState {
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
    pub(crate) staging: StageState,
    /// Where members of other hosts attach, by node number.
    pub(crate) listeners: BTreeMap<u32, Vec<SocketAddr>>,
    /// Those that were refused at listeners of the front-end and of agents.
    pub(crate) refused: Refused,
    /// Hosts lack the agent program, and it was not on its way.
    pub(crate) is_agent_needed: bool,
    /// Agents know that this process will be silent.
    pub(crate) is_paused: bool,
    /// The root has ended; nothing more will come.
    pub(crate) over: bool,
    orders: VecDeque<Order>,
    member_data: VecDeque<MemberData>,
    member_data_bytes: usize,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct RootChannel {
    root_state: Mutex<RootState>,
    changed: Condvar,
    bell: OwnedFd,
    /// Members whose output is passed on to standard error.
    passing: RankSet,
    /// Is told which hosts have not answered.
    awaited: Option<fn(&[&str])>,
}

impl RootChannel {
    /// For so many members; what these write is passed on.
    pub(crate) fn new(size: usize, passing: RankSet, awaited: Option<fn(&[&str])>) -> std::io::Result<RootChannel> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let root_state = RootState { states: vec![None; size], ..RootState::default() };
        Ok(RootChannel { root_state: Mutex::new(root_state), changed: Condvar::new(), bell, passing, awaited })
    }

    /// What wakes the root.
    pub(crate) fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    pub(crate) fn root_state(&self) -> MutexGuard<'_, RootState> {
        self.root_state.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.lay(|root_state| {
            if lines.errors {
                root_state.note_words(&lines);
            }
            if is_passed { root_state.pass(lines) } else { root_state.put_event(Event::Output(lines)) }
        });
    }

    /// An order for the root.
    pub(crate) fn order(&self, order: Order) {
        self.root_state().orders.push_back(order);
        self.ring();
    }

    /// Bytes for members. Waits while too many are on their way; what comes after the end is dropped.
    pub(crate) fn hand_in(&self, member_data: MemberData) {
        let mut member_data = Some(member_data);
        self.wait(None, |root_state| {
            if !root_state.over && root_state.member_data_bytes >= MEMBER_DATA_BOUND {
                return None;
            }
            if let Some(member_data) = member_data.take().filter(|_| !root_state.over) {
                root_state.member_data_bytes += member_data.len();
                root_state.member_data.push_back(member_data);
            }
            Some(())
        });
        self.ring();
    }

    /// The next bytes for members.
    pub(crate) fn take_member_data(&self) -> Option<MemberData> {
        self.lay(|root_state| {
            let member_data = root_state.member_data.pop_front()?;
            root_state.member_data_bytes -= member_data.len();
            Some(member_data)
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
        std::mem::take(&mut self.root_state().orders)
    }

    /// Changes what lies here and wakes the callers.
    pub(crate) fn lay<R>(&self, change: impl FnOnce(&mut RootState) -> R) -> R {
        let result = change(&mut self.root_state());
        self.changed.notify_all();
        result
    }

    /// The next piece of what is staged.
    pub(crate) fn take_piece(&self) -> Option<(Bytes, bool)> {
        let piece = self.root_state().staging.pieces.pop_front()?;
        self.changed.notify_all();
        Some(piece)
    }

    /// Whether the root should read more data.
    pub(crate) fn has_room(&self) -> bool {
        let root_state = self.root_state();
        // A message is taken as a whole, so the rest of one that is longer than the bound must come too.
        let user = root_state.user_bytes < USER_BOUND || root_state.user.iter().all(|(_, more)| *more);
        root_state.output_bytes < OUTPUT_BOUND && user
    }

    /// Waits until `take` gives something, or the deadline has passed (`None`).
    pub(crate) fn wait<R>(
        &self,
        deadline: Option<Instant>,
        mut take: impl FnMut(&mut RootState) -> Option<R>,
    ) -> Option<R> {
        let mut root_state = self.root_state();
        loop {
            if let Some(taken) = take(&mut root_state) {
                return Some(taken);
            }
            root_state = match deadline {
                None => self.changed.wait(root_state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.checked_duration_since(Instant::now())?;
                    self.changed.wait_timeout(root_state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl RootState {
    /// Where members of other hosts find an agent. What cannot be read is no address.
    pub(crate) fn put_attach_addresses(&mut self, node: u32, text: &[u8]) {
        let words = text.split(|byte| *byte == b' ').filter_map(|word| str::from_utf8(word).ok());
        let addresses = words.filter_map(|word| word.parse().ok()).take(ADDRESSES).collect();
        if self.listeners.len() < self.states.len() {
            self.listeners.insert(node, addresses);
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
        let channel = RootChannel::new(1, RankSet::new(), None).unwrap();
        let input = || MemberData::Input { bytes: Bytes::from_static(b"late"), last: false };
        channel.hand_in(input());
        assert!(channel.take_member_data().is_some());
        channel.lay(|root_state| root_state.over = true);
        channel.hand_in(input());
        assert!(channel.take_member_data().is_none());
    }

    #[test]
    fn no_more_problems_are_kept_than_the_bound_and_those_that_were_taken_make_room() {
        let channel = RootChannel::new(3, RankSet::new(), None).unwrap();
        let mut root_state = channel.root_state();
        let bound = root_state.problems_bound();
        let problem = |kind| Problem {
            host: "n1".into(),
            kind,
            cause: "again".into(),
            remedy: String::new(),
            members: String::new(),
        };
        for _ in 0..2 * bound {
            root_state.put_problem(problem(ProblemKind::Broken));
            root_state.put_staging(problem(ProblemKind::Staging));
        }
        assert_eq!(
            (root_state.problems.len(), root_state.events.len(), root_state.staging.problems.len()),
            (bound, bound, bound)
        );
        assert!(matches!(root_state.take_event(), Some(Event::Problem(_))));
        root_state.put_problem(problem(ProblemKind::Broken));
        root_state.put_problem(problem(ProblemKind::Broken));
        assert_eq!(root_state.events.len(), bound);
    }
}
