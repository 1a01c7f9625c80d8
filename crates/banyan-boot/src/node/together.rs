//! Agents that are started together: the command that starts them all (at the root), and the listener by which they come.
//!
//! An agent that proves that it is one of this node's children, and is awaited, gets its work. One from below a child that
//! has not come is noted: when the child is given up, those of its subtree that were not heard of are missing, too.
//! Everyone else is dropped.
//!
//! The command belongs to the root: what it complains about goes into error messages, and it is reaped when the session
//! ends. It mostly ends by itself once its agents have; otherwise it is asked, and then made to.

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use banyan_link::{Interest, Link, Listener, PeerId, Secret, SecretBytes, SessionId};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;

use super::child::{ChildAgent, ChildStage, StarterProcess, Upload};
use super::token::Token;
use super::wire::Wire;
use super::{Node, Up};
use crate::launcher::Starter;
use crate::launcher::together::{RosterFile, StartTogether};
use crate::problem::{Problem, ProblemKind};
use crate::process::{ExitState, signal_group};
use crate::shape;

/// How long the command may take to end by itself when its agents have.
const ENDS_BY_ITSELF: Duration = Duration::from_secs(1);

/// How long it may take when it was asked.
const ENDS_WHEN_ASKED: Duration = Duration::from_secs(2);

/// How long it has to say why agents are lost, …
const LAST_WORDS: Duration = Duration::from_secs(1);

/// … which are lost together if less than this is between them.
const LOST_TOGETHER: Duration = Duration::from_secs(5);

/// What Slurm's `srun` says when it has to wait for nodes, and when it has them.
const QUEUED: &str = "queued and waiting for resources";
const GRANTED: &str = "has been allocated resources";

/// What Slurm says when it ends a job or a step, behind who has ended it and before when and why.
const CANCELLED: &str = " CANCELLED AT ";

/// What a node knows of agents that were started together.
pub(crate) struct Together {
    secret: Secret,
    /// What the root has to start, until it has.
    begin: Option<Starter>,
    starter: Option<StarterProcess>,
    /// What the command has not read yet of its standard input: the agent program, where hosts lack it, and the roster.
    upload: Option<Upload>,
    input: SecretBytes,
    /// Whether hosts that lack the agent program say so.
    asks: bool,
    /// Removed when all agents have come.
    file: Option<RosterFile>,
    /// The command waits for hosts: nobody can be late.
    queued: bool,
    /// When the command is asked to end, or made to if it was asked.
    end_at: Option<Instant>,
    asked: bool,
    /// Agents from below children that have not come, by their place in the assignment. Their links stay as they are,
    /// not opened, until they find their parents.
    orphans: BTreeMap<usize, Link>,
    /// Is told what the command waits for.
    notice: Option<fn(&str)>,
    /// When the command was last given time to say why agents are lost.
    heard_out: Option<Instant>,
    /// The line by which the command said that its agents were ended: what it says of each of them afterwards is no cause.
    cancelled: Option<String>,
}

impl Together {
    /// At an agent: its children come by themselves.
    pub(crate) fn below(secret: Secret) -> Together {
        Together {
            secret,
            begin: None,
            starter: None,
            upload: None,
            input: SecretBytes::default(),
            asks: false,
            file: None,
            queued: false,
            end_at: None,
            asked: false,
            orphans: BTreeMap::new(),
            notice: None,
            heard_out: None,
            cancelled: None,
        }
    }

    /// At the root: a command starts all agents, and they come by this listener.
    pub(crate) fn by(start_together: StartTogether) -> (Listener, Together) {
        let StartTogether { listener, secret, starter, upload, input, asks, file, notice } = start_together;
        let begin = Some(starter);
        (listener, Together { begin, upload, input, asks, file, notice, ..Together::below(secret) })
    }

    /// The command, if this is the root.
    pub(super) fn starter(&self) -> Option<&StarterProcess> {
        self.starter.as_ref()
    }

    /// What the command says of an agent that is lost.
    pub(super) fn words_on(&self, host: &str) -> Option<String> {
        self.cancelled.clone().or_else(|| self.starter.as_ref()?.last_words_on(host))
    }

    /// Whether the roster lies in a file for agents that have not come.
    pub(super) fn has_roster(&self) -> bool {
        self.file.is_some()
    }

    /// Whether the command has ended, or there is none.
    pub(super) fn is_reaped(&self) -> bool {
        self.starter.as_ref().is_none_or(|starter| starter.exited.is_some())
    }

    /// How much longer the end of a session may take.
    pub(super) fn patience(&self) -> Duration {
        if self.is_reaped() { Duration::ZERO } else { 2 * (ENDS_BY_ITSELF + ENDS_WHEN_ASKED) }
    }

    /// When the command's end has to be seen to.
    pub(super) fn timeout(&self) -> Option<Instant> {
        self.end_at.filter(|_| !self.is_reaped())
    }
}

/// Whether a child has not come yet.
fn is_awaited(agent: &ChildAgent) -> bool {
    agent.stage == ChildStage::Starting && agent.wire.is_none()
}

impl Node {
    /// Starts all agents, if that is this node's task.
    pub(super) fn start_together(&mut self) {
        let Some(together) = &mut self.together else { return };
        let Some(starter) = together.begin.take() else { return };
        let files = together.file.as_ref().map_or_else(Vec::new, RosterFile::paths);
        let posted = self.start_launch_keeper(&files);
        match posted.and_then(|()| StarterProcess::run(&mut self.spawner, starter, &self.null)) {
            Err(error) => {
                let cause = error.to_string();
                (0..self.agents.len()).for_each(|index| self.unreachable(index, &cause));
            }
            Ok((starter, _)) => {
                self.put_in_ward(starter.process.pid);
                let watched = [
                    (starter.input.as_ref(), Token::CommonInput, Interest::WRITE),
                    (starter.errors.as_ref(), Token::CommonComplaint, Interest::READ),
                    (Some(&starter.process.pidfd), Token::CommonExit, Interest::READ),
                ];
                let watch = |(fd, token, interest): (Option<_>, Token, Interest)| {
                    fd.map_or(Ok(()), |fd| self.poller.register(fd, token.number(), interest))
                };
                let watching = watched.into_iter().try_for_each(watch);
                if let Some(together) = &mut self.together {
                    together.starter = Some(starter);
                }
                if let Err(error) = watching {
                    self.give_up(&format!("descriptors cannot be watched: {error}"));
                }
            }
        }
    }

    /// The command takes more of the agent program and the roster. When it has all its standard input is closed.
    pub(super) fn write_roster(&mut self) {
        let Some(together) = &mut self.together else { return };
        let Some(starter) = &mut together.starter else { return };
        let Some(input) = &starter.input else { return };
        if self.ending.is_some() {
            // Nobody is to come any more; who keeps what came of it removes that when it ends.
            (together.upload, together.input) = (None, SecretBytes::default());
        }
        if let Some(upload) = &mut together.upload {
            // Bytes are moving: no host can be late. While the command waits for hosts there is no deadline at all.
            if !together.queued {
                let deadline = Some(Instant::now() + self.assignment.terms.host_deadline());
                self.agents.iter_mut().filter(|agent| is_awaited(agent)).for_each(|agent| agent.deadline = deadline);
            }
            match upload.write(input) {
                Ok(false) => return,
                Ok(true) => {}
                // The command has ended and says why, or the program cannot be read here: hosts say that only a part came.
                Err(_) => together.input = SecretBytes::default(),
            }
            together.upload = None;
        }
        while !together.input.is_empty() {
            match rustix::io::retry_on_intr(|| rustix::io::write(input, together.input.expose())) {
                Ok(count) => together.input.drop_first(count),
                Err(rustix::io::Errno::AGAIN) => return,
                // Its end, or its complaint, says why.
                Err(_) => together.input = SecretBytes::default(),
            }
        }
        let _ = self.poller.remove(input);
        starter.input = None;
    }

    /// The command complains, or says that it waits for hosts.
    pub(super) fn take_common_complaint(&mut self) {
        let Some(together) = &mut self.together else { return };
        let Some(starter) = &mut together.starter else { return };
        let goes_on = starter.take_complaint(self.log.as_ref());
        if let (true, Up::RootChannel(channel)) = (together.asks && starter.is_needed, &self.up) {
            channel.lay(|root_state| root_state.is_agent_needed = true);
        }
        let said = starter.complaint();
        if !goes_on && let Some(errors) = starter.errors.take() {
            let _ = self.poller.remove(&errors);
        }
        if together.cancelled.is_none() {
            together.cancelled = said.lines().find(|line| line.contains(CANCELLED)).map(|line| line.trim().to_owned());
        }
        let queued = said.rfind(QUEUED) > said.rfind(GRANTED);
        if queued != together.queued {
            together.queued = queued;
            let line = said.lines().rev().find(|line| line.contains(if queued { QUEUED } else { GRANTED }));
            if let (Some(notice), Some(line)) = (together.notice, line) {
                notice(line.trim());
            }
            let deadline = (!queued).then(|| Instant::now() + self.assignment.terms.host_deadline());
            let awaited = self.agents.iter_mut().filter(|agent| agent.stage == ChildStage::Starting);
            awaited.for_each(|agent| agent.deadline = deadline);
        }
    }

    /// Agents are lost. What they are lost by, such as the end of an allocation, the command often says a moment later: it is
    /// given that time, once for those that are lost together.
    pub(super) fn hear_command_out(&mut self) {
        let now = Instant::now();
        let Some(together) = &mut self.together else { return };
        if together.is_reaped() || together.heard_out.is_some_and(|at| now < at + LOST_TOGETHER) {
            return;
        }
        together.heard_out = Some(now);
        let until = now + LAST_WORDS;
        let is_silent = |together: &&Together| together.cancelled.is_none();
        while Instant::now() < until
            && let Some(together) = self.together.as_ref().filter(is_silent)
            && let Some(errors) = together.starter().and_then(|starter| starter.errors.as_ref())
        {
            let Ok(left) = Timespec::try_from(until.saturating_duration_since(Instant::now())) else { return };
            match rustix::event::poll(&mut [PollFd::new(errors, PollFlags::IN)], Some(&left)) {
                Ok(0) => return,
                Ok(_) | Err(rustix::io::Errno::INTR) => self.take_common_complaint(),
                Err(_) => return,
            }
        }
    }

    /// At the root: an agent that says itself that it is lost may not know why. The command that started it may.
    pub(super) fn with_command_words(&mut self, mut problem: Problem) -> Problem {
        if problem.kind == ProblemKind::AgentLost {
            self.hear_command_out();
            if let Some(words) = self.together.as_ref().and_then(|together| together.words_on(&problem.host)) {
                problem.cause = format!("{} (last words: {words:?})", problem.cause);
            }
        }
        problem
    }

    /// The command ended. If it failed, agents that have not come will not.
    pub(super) fn common_starter_exited(&mut self) {
        let Some(starter) = self.together.as_mut().and_then(|together| together.starter.as_mut()) else { return };
        let Ok(Some(state)) = ExitState::take(starter.process.pidfd.as_fd()) else { return };
        let _ = self.poller.remove(&starter.process.pidfd);
        starter.exited = Some(state.clone());
        let group = starter.process.pid;
        self.take_common_complaint();
        self.out_of_ward(group);
        if state.is_success() {
            return;
        }
        for index in 0..self.agents.len() {
            if matches!(self.agents[index].stage, ChildStage::Waiting | ChildStage::Starting)
                && self.agents[index].wire.is_none()
            {
                self.unreachable(index, &format!("no agent came: the command that starts them {state}"));
            }
        }
    }

    /// Takes agents in that came by themselves.
    pub(super) fn accept(&mut self) {
        let Some(mut listener) = self.listener.take() else { return };
        let find = &mut |peer: &PeerId| {
            self.awaited(peer).or_else(|| self.orphan(peer))?;
            self.together.as_ref().map(|together| together.secret.derive("agent", peer.index))
        };
        let links = listener.accept_ready(Instant::now(), find);
        self.unreported.refused += listener.take_refused().strangers();
        self.listener = Some(listener);
        links.into_iter().for_each(|link| self.arrived(link));
    }

    /// Which child agent a peer is; `None` if it is none, or is not awaited.
    fn awaited(&self, peer: &PeerId) -> Option<usize> {
        let place = self.place(peer)?;
        let is_it = |agent: &ChildAgent| agent.subtree.start == place && is_awaited(agent);
        self.agents.iter().position(is_it)
    }

    /// The place in the assignment of a peer whose parent, or somebody above it, has not come.
    fn orphan(&self, peer: &PeerId) -> Option<usize> {
        let place = self.place(peer)?;
        let is_below = |agent: &ChildAgent| agent.subtree.contains(&place) && is_awaited(agent);
        self.agents.iter().any(is_below).then_some(place)
    }

    /// Where in this node's assignment a peer stands.
    fn place(&self, peer: &PeerId) -> Option<usize> {
        // Agent `i` of the session is node `i + 1`.
        let own = if matches!(self.up, Up::RootChannel(_)) { 0 } else { self.assignment.node.checked_sub(1)? };
        let place = peer.index.checked_sub(own)?;
        (peer.session == SessionId(self.assignment.session)).then_some(place as usize)
    }

    /// A child was given up: who else of its subtree is missing. Of those below one that is here nothing is known.
    pub(super) fn report_missing_below(&mut self, index: usize, cause: &str) {
        let Some(together) = &mut self.together else { return };
        let orphans = std::mem::take(&mut together.orphans);
        let check =
            together.starter.as_ref().map_or_else(String::new, |starter| format!("check with: {}", starter.check));
        let subtree = self.agents[index].subtree.clone();
        let mut missing = self.subtrees_below(&subtree);
        while let Some(subtree) = missing.pop() {
            if orphans.contains_key(&subtree.start) {
                continue;
            }
            self.problem(Problem {
                host: self.assignment.agents[subtree.start].host.clone(),
                kind: ProblemKind::Unreachable,
                cause: cause.to_owned(),
                remedy: check.clone(),
                members: self.assignment.agents[subtree.start].ranks().to_string(),
            });
            missing.extend(self.subtrees_below(&subtree));
        }
        // Others that have not come may be above some of them.
        if let Some(together) = &mut self.together {
            together.orphans = orphans;
        }
    }

    /// The subtrees below the root of one.
    fn subtrees_below(&self, subtree: &Range<usize>) -> Vec<Range<usize>> {
        shape::subtrees(subtree.start + 1..subtree.end, |agent| self.assignment.agents[agent].below)
    }

    fn arrived(&mut self, link: Link) {
        let Some(peer) = link.peer_id() else { return };
        let Some(index) = self.awaited(&peer) else {
            // Who came twice at the same time is neither, and dropped.
            if let (Some(place), Some(together)) = (self.orphan(&peer), &mut self.together) {
                together.orphans.insert(place, link);
            }
            return;
        };
        match Wire::new(link, &self.poller, Token::Agent(index as u32).number()) {
            Ok(wire) => {
                self.agents[index].wire = Some(wire);
                self.assign(index);
            }
            Err(error) => self.unreachable(index, &format!("its link cannot be watched: {error}")),
        }
    }

    /// Sees to the listener, the roster's file and the end of the command.
    pub(super) fn tick_together(&mut self, now: Instant) {
        if self.listener.as_ref().and_then(|listener| listener.timeout()).is_some_and(|timeout| timeout <= now) {
            self.accept();
        }
        let came: u32 = self.agents.iter().map(|agent| agent.progress.agents).sum();
        let all_gone = self.agents.iter().all(|agent| matches!(agent.stage, ChildStage::Gone | ChildStage::Ended));
        let Some(together) = &mut self.together else { return };
        if came as usize >= self.assignment.agents.len() {
            together.file = None;
            // Those that were given up may still be waited for by the command.
            let have_come = self.agents.iter().all(|agent| agent.was_linked);
            if let Some(starter) = together.starter.as_ref().filter(|_| have_come) {
                let group = starter.process.pid;
                self.out_of_ward(group);
            }
        }
        let Some(together) = &mut self.together else { return };
        if self.ending.is_none() || !all_gone || together.is_reaped() {
            return;
        }
        let end_at = *together.end_at.get_or_insert(now + ENDS_BY_ITSELF);
        if now < end_at {
            return;
        }
        let signal = if together.asked { Signal::KILL } else { Signal::TERM };
        together.asked = true;
        together.end_at = Some(now + ENDS_WHEN_ASKED);
        if let Some(starter) = &together.starter {
            // It may be ending at this very moment.
            let _ = signal_group(&starter.process, signal);
        }
    }
}
