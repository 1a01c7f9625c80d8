//! The end of a session at this node: everyone below is told, asked, and finally made to end.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use banyan_link::{Frame, LinkError};
use bytes::Bytes;
use rustix::process::{Pid, Signal};
use tracing::debug;

use super::child::ChildStage;
use super::shared::SharedMembers;
use super::together::Together;
use super::token::Token;
use super::{Node, Up};
use crate::layout::ranks_of;
use crate::message;
use crate::options::Leftovers;
use crate::problem::{Problem, ProblemKind};
use crate::process::{ExitState, Heard, KeeperSocket, orphans, reap_orphans};

/// How much longer than its members' grace a node waits for the agents below it, at each level.
const AGENTS_GRACE: Duration = Duration::from_secs(2);

/// How often an agent looks for orphans that have ended: they take a process id each, and nothing else.
const REAP_EVERY: Duration = Duration::from_secs(2);

/// Processes that members left and that are named; others are counted.
const LEFTOVERS_NAMED: usize = 4;

/// How long what starts agents may take to end after SIGKILL.
const KILL_GRACE: Duration = Duration::from_secs(2);

/// A session that is ending at this node.
#[derive(Debug)]
pub(super) struct Ending {
    since: Instant,
    /// Members have been killed.
    ordered: bool,
    /// What starts agents has been killed.
    given_up: bool,
}

impl Node {
    /// This node cannot go on: says why, and ends everything below.
    pub(super) fn give_up(&mut self, cause: &str) {
        if self.ending.is_none() {
            let (kind, who, place) = match self.up {
                Up::RootChannel(_) => (ProblemKind::FrontEnd, "the front-end", "here"),
                Up::Parent(_) | Up::Nobody => (ProblemKind::AgentLost, "its agent", "there"),
            };
            self.problem(Problem {
                host: self.host.to_string(),
                kind,
                cause: format!("{who} cannot go on: {cause}"),
                remedy: format!("check the limits {place} (ulimit -n), and that all programs are of one release"),
                members: ranks_of(&self.assignment.agents).to_string(),
            });
        }
        self.end();
    }

    /// Ends everything below: members are asked first.
    pub(super) fn end(&mut self) {
        if self.ending.is_some() {
            return;
        }
        debug!(running = self.running, "ends everything below");
        self.ending = Some(Ending { since: Instant::now(), ordered: false, given_up: false });
        self.to_start.clear();
        self.to_agents(&Frame::new(message::END, 0, 0, Bytes::new()));
        self.let_attached_go();
        for index in 0..self.members.len() {
            self.signal_member(index, Signal::TERM);
            // Stopped processes hear of it only when they run.
            self.signal_member(index, Signal::CONT);
        }
        for index in 0..self.agents.len() {
            if matches!(self.agents[index].stage, ChildStage::Waiting | ChildStage::Starting)
                && self.agents[index].wire.is_none()
            {
                self.stop_starter(index);
                self.agents[index].stage = ChildStage::Ended;
            }
            if self.agents[index].stage == ChildStage::Gone {
                // What it left behind may be guarded.
                self.stop_starter(index);
            }
        }
    }

    /// Whether nothing is left to do.
    pub(super) fn is_finished(&self) -> bool {
        let agents_gone = || {
            self.agents.iter().all(|agent| {
                let reaped = agent.starter.as_ref().is_none_or(|starter| starter.exited.is_some());
                matches!(agent.stage, ChildStage::Gone | ChildStage::Ended) && reaped
            })
        };
        let reaped = self.together.as_ref().is_none_or(Together::is_reaped);
        if let (Up::RootChannel(_), true) = (&self.up, self.detached) {
            // The front-end leaves as soon as everyone has been told.
            return self.agents.iter().filter_map(|agent| agent.wire.as_ref()).all(|wire| wire.link.is_finished());
        }
        let nothing_below = self.running == 0 && agents_gone() && reaped;
        let detached = self.detached && self.to_start.members.is_empty();
        nothing_below && (self.ending.is_some() || detached)
            || self.ending.as_ref().is_some_and(|ending| self.is_hopeless(ending))
    }

    /// Too much time has passed; what is left is swept by the keeper.
    fn is_hopeless(&self, ending: &Ending) -> bool {
        let command = self.together.as_ref().map_or(Duration::ZERO, Together::patience);
        ending.since.elapsed() > self.agents_time() + KILL_GRACE + command
    }

    /// How long agents may take to end, from the beginning of the end.
    fn agents_time(&self) -> Duration {
        self.assignment.terms.grace() + AGENTS_GRACE * self.levels.max(1)
    }

    /// Looks at the clock.
    pub(super) fn tick(&mut self, now: Instant) {
        self.tick_links(now);
        self.check_attaching(now);
        self.report_pending_exits(now);
        self.tick_together(now);
        self.answer_questions(now);
        if self.is_agent() && now >= self.reap_at {
            self.reap_orphans(now);
        }
        for index in 0..self.agents.len() {
            if self.agents[index].deadline.is_some_and(|deadline| deadline <= now) {
                self.agent_too_slow(index);
            }
        }
        if self.has_time_limits {
            for index in 0..self.members.len() {
                if self.members[index].deadline.is_some_and(|deadline| deadline <= now) {
                    self.member_out_of_time(index, now);
                }
            }
        }
        let grace = self.assignment.terms.grace();
        if let Some(ending) = &mut self.ending
            && !ending.ordered
            && now >= ending.since + grace
        {
            ending.ordered = true;
            for index in 0..self.members.len() {
                self.signal_member(index, Signal::KILL);
            }
        }
        let agents_time = self.agents_time();
        if let Some(ending) = &mut self.ending
            && !ending.given_up
            && now >= ending.since + agents_time
        {
            ending.given_up = true;
            for index in 0..self.agents.len() {
                self.end_starter(index);
            }
        }
    }

    fn is_agent(&self) -> bool {
        !matches!(self.up, Up::RootChannel(_))
    }

    /// Agents inherit what their members leave behind: those that have ended are taken note of.
    fn reap_orphans(&mut self, now: Instant) {
        self.reap_at = now + REAP_EVERY;
        let own = self.own_children();
        // What is not reaped now is reaped later, at the latest by the system.
        let _ = reap_orphans(|pid| own.contains(&pid));
    }

    /// Members, and what starts agents.
    fn own_children(&self) -> HashSet<Pid> {
        let members = self.members.iter().filter_map(|member| member.process.as_ref());
        let starters = self.agents.iter().filter_map(|agent| agent.starter.as_ref()).map(|starter| &starter.process);
        members.chain(starters).map(|child| child.pid).collect()
    }

    /// All members of this agent have ended: names the processes that they left, if that is wanted.
    pub(super) fn tell_leftovers(&mut self) {
        let is_due = self.running == 0 && self.to_start.members.is_empty() && self.ending.is_none();
        if !is_due || self.keeper.is_none() || self.assignment.terms.leftovers != Leftovers::Tell {
            return;
        }
        let own = self.own_children();
        let left = orphans(|pid| own.contains(&pid));
        if left.is_empty() {
            return;
        }
        let name = |(pid, command): &(Pid, String)| format!("{command} (pid {})", pid.as_raw_pid());
        let mut names: Vec<String> = left.iter().take(LEFTOVERS_NAMED).map(name).collect();
        if left.len() > LEFTOVERS_NAMED {
            names.push(format!("{} others", left.len() - LEFTOVERS_NAMED));
        }
        self.problem(Problem {
            host: self.host.to_string(),
            kind: ProblemKind::LeftRunning,
            cause: format!("processes that were left running are ended: {}", names.join(", ")),
            remedy: String::new(),
            members: String::new(),
        });
    }

    fn tick_links(&mut self, now: Instant) {
        let agents = self.agents.len() as u32;
        for token in std::iter::once(Token::Parent).chain((0..agents).map(Token::Agent)) {
            if !self.is_due(token, now) {
                continue;
            }
            // Who has spoken is not silent: this process may have been stopped, and have heard nothing of it yet.
            self.handle_link(token, true);
            if let Some(wire) = self.wire(token) {
                wire.link.tick(now);
                self.flow.touch(token);
            }
        }
    }

    /// Whether a link has to look at the clock.
    fn is_due(&mut self, token: Token, now: Instant) -> bool {
        let timeout = self.wire(token).and_then(|wire| wire.link.timeout());
        timeout.is_some_and(|timeout| timeout <= now)
    }

    /// A member has used up its time: it is asked to end, and some time later made to.
    fn member_out_of_time(&mut self, index: usize, now: Instant) {
        // It may have ended by itself a moment ago.
        self.member_exited(index);
        if self.members[index].state.is_some() {
            return;
        }
        let asked = std::mem::replace(&mut self.members[index].asked, true);
        let signal = if asked { Signal::KILL } else { Signal::TERM };
        self.signal_member(index, signal);
        self.members[index].deadline = (!asked).then(|| now + self.assignment.terms.grace());
    }

    /// How long the node may sleep.
    pub(super) fn patience(&self) -> Option<Duration> {
        let now = Instant::now();
        let may_start = self.to_start.may_start_member();
        let can_pump = self.flow.blocked().iter().any(|token| self.may_take(*token));
        if may_start || self.may_start_agent() || can_pump {
            return Some(Duration::ZERO);
        }
        let parent = match &self.up {
            Up::Parent(wire) => wire.link.timeout(),
            Up::RootChannel(_) | Up::Nobody => None,
        };
        let agents = self
            .agents
            .iter()
            .flat_map(|agent| [agent.deadline, agent.wire.as_ref().and_then(|wire| wire.link.timeout())]);
        let members = self.members.iter().filter(|_| self.has_time_limits).map(|member| member.deadline);
        let ending = self.ending.as_ref().map(|ending| {
            let after = match (ending.ordered, ending.given_up) {
                (false, _) => self.assignment.terms.grace(),
                (true, false) => self.agents_time(),
                (true, true) => self.agents_time() + KILL_GRACE,
            };
            ending.since + after + Duration::from_millis(1)
        });
        let listener = self.listener.as_ref().and_then(|listener| listener.timeout());
        let attaching = self.attaching.timeout();
        let command = self.together.as_ref().and_then(Together::timeout);
        let reap = self.is_agent().then_some(self.reap_at);
        let shared = self.shared.as_ref().and_then(SharedMembers::timeout);
        let question = self.collectives.question_timeout();
        let own = [parent, ending, listener, attaching, command, reap, shared, question, self.awaited_at()];
        let next = own.into_iter().chain(agents).chain(members).flatten().min()?;
        Some(next.saturating_duration_since(now))
    }

    /// The keeper of this agent has been asked to end, or is gone.
    pub(super) fn hear_keeper(&mut self) {
        match self.keeper.as_ref().map(KeeperSocket::hear) {
            None | Some(Heard::Nothing) => {}
            Some(Heard::End) => {
                self.agent_problem(
                    ProblemKind::AgentLost,
                    "its keeper was asked to end, so its members were ended",
                    "look for who ended it: the resource manager (a cancelled job, a time limit), or a signal",
                );
                self.end();
            }
            Some(Heard::Gone) => self.keeper_gone(),
        }
    }

    /// The keeper of this agent is gone. With an extension, members are to live on: only if the agent is killed as well
    /// nobody ends them. Otherwise the agent ends, and all it started.
    pub(super) fn keeper_gone(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            let _ = self.poller.remove(&keeper);
        }
        // Said before the members end: who hears of their ends should know why.
        let reason = "look into the host's log for the reason (out of memory, a signal)";
        if self.extension.is_some() {
            return self.agent_problem(
                ProblemKind::KeeperLost,
                "its keeper is gone; the agent and its members go on",
                reason,
            );
        }
        self.agent_problem(ProblemKind::AgentLost, "its keeper is gone, so the agent ends with all it started", reason);
        self.end();
    }

    fn agent_problem(&mut self, kind: ProblemKind, cause: &str, remedy: &str) {
        self.problem(Problem {
            host: self.host.to_string(),
            kind,
            cause: cause.to_owned(),
            remedy: remedy.to_owned(),
            members: ranks_of(&self.assignment.agents).to_string(),
        });
    }

    /// A link broke.
    pub(super) fn link_lost(&mut self, token: Token, error: &LinkError) {
        match token {
            Token::Parent => {
                let is_silent = matches!(error, LinkError::Silent(_));
                self.parent_gone();
                if !is_silent {
                    self.tell_extension_of_closing();
                }
            }
            Token::Agent(index) => self.agent_link_lost(index as usize, error),
            Token::Member(index) if self.attaches(index as usize) => {
                self.attached_gone(index as usize, ExitState::Lost(format!("lost its link: {error}")));
            }
            Token::Member(index) => match error.other_protocol() {
                Some(other) => self.member_of_other_protocol(index as usize, other),
                None => self.close_member_link(index as usize),
            },
            _ => {}
        }
    }

    /// The parent is gone. If the front-end had detached, or there is an extension to say when it is over, members stay; but
    /// collectives went through the parent. Otherwise everything ends.
    fn parent_gone(&mut self) {
        debug!("the node above is gone");
        // If it is there after all, the end of the link tells it not to wait for anything.
        if let Up::Parent(mut wire) = std::mem::replace(&mut self.up, Up::Nobody) {
            wire.unwatch(&self.poller);
        }
        self.part_extension();
        self.end_tunnels(Token::Parent);
        let why = match (self.detached, &self.extension) {
            (true, _) => "the front-end has detached from the session",
            (false, Some(_)) => "the node above this agent is gone",
            (false, None) => return self.end(),
        };
        self.detached = true;
        self.collectives.parent_gone(why.to_owned(), &mut self.outgoing);
        self.deliver();
    }

    /// The other side said goodbye.
    pub(super) fn link_closed(&mut self, token: Token) {
        match token {
            Token::Parent => self.parent_gone(),
            Token::Agent(index) => self.agent_left(index as usize),
            Token::Member(index) if self.attaches(index as usize) => {
                self.attached_gone(index as usize, ExitState::Left);
            }
            Token::Member(index) => self.close_member_link(index as usize),
            _ => {}
        }
    }
}
