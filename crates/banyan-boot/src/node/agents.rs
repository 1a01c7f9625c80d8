//! Starting child agents, giving them their work, and noticing when they are gone.

use std::ops::Range;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use banyan_link::{Frame, Interest, Link, LinkError, OtherProtocol};
use bytes::Bytes;
use rustix::process::{Pid, Signal};
use tracing::debug;

use super::child::{ChildStage, StarterProcess, Upload};
use super::greeting::GreetingLine;
use super::root_channel::Progress;
use super::together::Together;
use super::token::Token;
use super::wire::Wire;
use super::{Node, STARTS_TIME, Up};
use crate::assignment::Assignment;
use crate::launcher::Way;
use crate::launcher::packed::{Packer, Packing, packs};
use crate::message;
use crate::problem::{Problem, ProblemKind};
use crate::process::{ExitState, signal_group};

/// The exit status of an ssh that could not connect; any other is of what ran on the host.
const SSH_FAILED: u8 = 255;

impl Node {
    /// Starts the next few child agents.
    pub(super) fn start_agents(&mut self) {
        let begun = Instant::now();
        while self.may_start_agent() && begun.elapsed() <= STARTS_TIME {
            let Some(index) = self.to_start.agents.pop_front() else { return };
            self.start_agent(index);
        }
    }

    /// Whether there is a child agent to start, and no more than allowed are being started.
    pub(super) fn may_start_agent(&self) -> bool {
        // Those that come by themselves cost nothing to wait for.
        let together = self.assignment.way == Way::Together;
        !self.to_start.agents.is_empty()
            && (together || self.to_start.agents_under_way < self.assignment.terms.concurrency as usize)
    }

    fn start_agent(&mut self, index: usize) {
        if matches!(self.assignment.way, Way::Ssh(_))
            && let Err(error) = self.start_launch_keeper(&[])
        {
            return self.unreachable(index, &error.to_string());
        }
        self.to_start.agents_under_way += 1;
        let agent = &mut self.agents[index];
        agent.deadline = Some(Instant::now() + self.assignment.terms.host_deadline());
        let place = (&self.poller, Token::Agent(index as u32));
        let heartbeat = self.assignment.terms.heartbeat();
        let Some(starter) = self.assignment.way.starter(&agent.host, &self.agent_program, heartbeat) else {
            agent.stage = ChildStage::Starting;
            return;
        };
        match agent.start(&mut self.spawner, starter, &self.null, &self.agent_options, place) {
            Err(error) => self.unreachable(index, &error),
            Ok(()) => {
                // Until it speaks, its deadline says how long to wait.
                if let Some(wire) = &mut self.agents[index].wire {
                    wire.link.set_silence(Duration::from_millis(self.assignment.terms.silence));
                }
                if let Some(group) = self.group_of(index) {
                    self.put_in_ward(group);
                }
                self.watch_starter(index);
                if self.agents[index].wire.is_some() {
                    self.assign(index);
                }
            }
        }
    }

    /// The process group of the command that starts an agent, if it still runs.
    fn group_of(&self, index: usize) -> Option<Pid> {
        let starter = self.agents[index].starter.as_ref().filter(|starter| starter.exited.is_none());
        starter.map(|starter| starter.process.pid)
    }

    fn watch_starter(&mut self, index: usize) {
        let number = index as u32;
        let agent = &mut self.agents[index];
        let mut results = Vec::new();
        if let Some(starter) = &agent.starter {
            let watched = [
                (starter.output.as_ref(), Token::Greeting(number)),
                (starter.errors.as_ref(), Token::Complaint(number)),
                (Some(&starter.process.pidfd), Token::StarterExit(number)),
            ];
            for (descriptor, token) in watched {
                let watch =
                    descriptor.map(|descriptor| self.poller.register(descriptor, token.number(), Interest::READ));
                results.extend(watch);
            }
        }
        if let Some(error) = results.into_iter().find_map(Result::err) {
            self.give_up(&format!("descriptors cannot be watched: {error}"));
        }
    }

    /// The numbers of the nodes in a child agent's subtree.
    pub(super) fn nodes_below(&self, index: usize) -> Range<u32> {
        let subtree = &self.agents[index].subtree;
        let first = self.assignment.node + subtree.start as u32 + u32::from(matches!(self.up, Up::RootChannel(_)));
        first..first + subtree.len() as u32
    }

    /// Gives a child agent the work of its subtree.
    pub(super) fn assign(&mut self, index: usize) {
        let node = self.nodes_below(index).start;
        let agent = &mut self.agents[index];
        let own = &self.assignment;
        let assignment = Assignment {
            session: own.session,
            node,
            level: own.level.saturating_add(1),
            size: own.size,
            agent_count: own.agent_count,
            held: own.held,
            agents: own.agents[agent.subtree.clone()].to_vec(),
            images: own.images.clone(),
            way: own.way.clone(),
            terms: own.terms.clone(),
            member_secret: own.member_secret.clone(),
            agent_hash: own.agent_hash.clone(),
            agent_length: own.agent_length,
            installed_agent: own.installed_agent.clone(),
            agent_directory: own.agent_directory.clone(),
            note: own.note.as_ref().map(|_| self.note.expose().to_vec()),
        };
        let Some(wire) = &mut agent.wire else { return };
        match wire.link.send_record(message::ASSIGN, 0, 0, &assignment) {
            Ok(()) => {
                self.flow.touch(Token::Agent(index as u32));
                self.catch_up(index);
            }
            Err(error) => self.unreachable(index, &format!("its work cannot be sent: {error}")),
        }
    }

    /// A link is open.
    pub(super) fn opened(&mut self, token: Token) {
        match token {
            Token::Member(index) => self.member_joined(index as usize),
            Token::Agent(index) => {
                let agent = &mut self.agents[index as usize];
                if agent.stage == ChildStage::Starting {
                    agent.stage = ChildStage::Linked;
                    debug!(host = agent.host, "an agent has answered");
                    agent.was_linked = true;
                    agent.deadline = None;
                    self.to_start.agents_under_way -= 1;
                    if let Some(group) = self.group_of(index as usize) {
                        self.out_of_ward(group);
                    }
                    self.ask_for_log(index as usize);
                }
            }
            _ => {}
        }
    }

    /// Reads what a starter writes before its agent speaks.
    pub(super) fn take_greeting(&mut self, index: usize) {
        let is_awaited = self.agents[index].stage == ChildStage::Starting;
        let Some(starter) = self.agents[index].starter.as_mut().filter(|_| is_awaited) else { return };
        let Some(output) = &starter.output else { return };
        let mut byte = [0];
        loop {
            // Byte by byte: what follows the agent's line belongs to the link.
            match rustix::io::retry_on_intr(|| rustix::io::read(output, &mut byte)) {
                Ok(1) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Ok(_) | Err(_) => {
                    let _ = self.poller.remove(output);
                    starter.output = None;
                    return;
                }
            }
            match starter.greeting.push(&byte).1 {
                Some(GreetingLine::Need { unpackers }) => return self.needs_program(index, &unpackers),
                Some(GreetingLine::Ready { protocol }) => return self.greeted(index, protocol),
                None if starter.greeting.is_hopeless() => {
                    return self.unreachable(index, "what runs there is no agent: it writes without end");
                }
                None => {}
            }
        }
    }

    /// The agent runs: its standard streams become a link.
    fn greeted(&mut self, index: usize, protocol: u16) {
        if let Err(other) = OtherProtocol::check(protocol) {
            return self.agent_of_other_protocol(index, other);
        }
        let agent = &mut self.agents[index];
        let Some(starter) = &mut agent.starter else { return };
        let (Some(output), Some(input)) = (starter.output.take(), starter.input.take()) else { return };
        let _ = self.poller.remove(&output);
        let wire = Link::over_pipes(output, input, &self.agent_options)
            .and_then(|link| Wire::new(link, &self.poller, Token::Agent(index as u32).number()));
        match wire {
            Ok(wire) => {
                agent.wire = Some(wire);
                self.assign(index);
            }
            Err(error) => self.unreachable(index, &error.to_string()),
        }
    }

    /// The agent cannot be understood: it was built with another release.
    fn agent_of_other_protocol(&mut self, index: usize, other: OtherProtocol) {
        let cause = other.cause("its agent", "the node above it");
        let remedy = other.remedy("the agent program there", "the program of the session");
        self.refuse_with(index, ProblemKind::Version, &cause, remedy);
    }

    /// The host has not got the agent program: it is sent through the starter.
    fn begin_upload(&mut self, index: usize, upload: std::io::Result<Upload>) {
        match upload {
            Err(error) => self.unreachable(index, &format!("the agent program cannot be read: {error}")),
            Ok(upload) => {
                let Some(starter) = &mut self.agents[index].starter else { return };
                starter.upload = Some(upload);
                if let Some(input) = &starter.input {
                    let _ = self.poller.register(input, Token::Upload(index as u32).number(), Interest::WRITE);
                }
            }
        }
    }

    /// The host has not got the agent program, and can unpack it with these: it is sent as soon as it is packed.
    fn needs_program(&mut self, index: usize, unpackers: &[Packer]) {
        let is_worth_it = packs(matches!(self.up, Up::RootChannel(_)), self.agents.len());
        let packer = Packer::choose(unpackers).filter(|packer| is_worth_it && self.start_packing(*packer).is_ok());
        let Some(packer) = packer else {
            return self.begin_upload(index, Upload::announced(&self.agent_program));
        };
        if let Some(starter) = &mut self.agents[index].starter {
            starter.awaits_packing = Some(packer);
        }
        self.send_packed();
    }

    /// Begins to pack the agent program, once with each packer.
    fn start_packing(&mut self, packer: Packer) -> std::io::Result<()> {
        if self.packings.iter().any(|packing| packing.packer == packer) {
            return Ok(());
        }
        let packing = Packing::start(packer, &self.agent_program.path)?;
        self.poller.register(packing.bell(), Token::Packing.number(), Interest::READ)?;
        self.packings.push(packing);
        Ok(())
    }

    /// The agent program is packed.
    pub(super) fn packed(&mut self) {
        for packing in self.packings.iter().filter(|packing| packing.done().is_some()) {
            let _ = self.poller.remove(packing.bell());
        }
        self.send_packed();
    }

    /// Sends what is packed to those that wait for it.
    fn send_packed(&mut self) {
        for index in 0..self.agents.len() {
            let Some(starter) = &mut self.agents[index].starter else { continue };
            let awaited = self.packings.iter().find(|packing| starter.awaits_packing == Some(packing.packer));
            let Some(packed) = awaited.and_then(Packing::done) else { continue };
            starter.awaits_packing = None;
            let upload = match packed {
                Some(packed) => Ok(Upload::packed(packed)),
                None => Upload::announced(&self.agent_program),
            };
            self.begin_upload(index, upload);
        }
    }

    pub(super) fn go_on_with_upload(&mut self, index: usize) {
        // Bytes are moving: the host answers, however long its program takes.
        self.agents[index].deadline = Some(Instant::now() + self.assignment.terms.host_deadline());
        let Some(starter) = &mut self.agents[index].starter else { return };
        let (Some(upload), Some(input)) = (&mut starter.upload, &starter.input) else { return };
        match upload.write(input) {
            Ok(false) => {}
            Ok(true) => {
                let _ = self.poller.remove(input);
                starter.upload = None;
            }
            // The command says why on standard error, or by its end.
            Err(_) => {
                let _ = self.poller.remove(input);
                starter.upload = None;
                starter.input = None;
            }
        }
    }

    pub(super) fn take_complaint(&mut self, index: usize) {
        let Some(starter) = &mut self.agents[index].starter else { return };
        if !starter.take_complaint(self.log.as_ref())
            && let Some(errors) = starter.errors.take()
        {
            let _ = self.poller.remove(&errors);
        }
    }

    /// The starter ended: before there was a link, that is why there will be none.
    pub(super) fn starter_exited(&mut self, index: usize) {
        let Some(starter) = &mut self.agents[index].starter else { return };
        let Ok(Some(state)) = ExitState::take(starter.process.pidfd.as_fd()) else { return };
        let _ = self.poller.remove(&starter.process.pidfd);
        starter.exited = Some(state.clone());
        starter.take_complaint(self.log.as_ref());
        let group = starter.process.pid;
        debug!(host = self.agents[index].host, %state, "what started an agent has ended");
        self.out_of_ward(group);
        self.take_greeting(index);
        match self.agents[index].stage {
            ChildStage::Starting => self.unreachable(index, &format!("no agent could be started: its starter {state}")),
            // The link says more, if it has not yet.
            ChildStage::Linked => self.handle_link(Token::Agent(index as u32), true),
            ChildStage::Waiting | ChildStage::Gone | ChildStage::Ended => {}
        }
    }

    pub(super) fn agent_too_slow(&mut self, index: usize) {
        let waited = self.assignment.terms.host_deadline().as_secs_f64();
        let cause = format!("no agent answered within {waited} s");
        // Before the child itself: with that the launch may count as failed.
        self.report_missing_below(index, &cause);
        self.unreachable(index, &cause);
    }

    /// The time for the launch is over: agents that have not come, here and below, are given up.
    pub(super) fn time_is_up(&mut self) {
        self.to_start.agents.clear();
        let cause = "no agent answered before the time for the launch was over";
        for index in 0..self.agents.len() {
            if matches!(self.agents[index].stage, ChildStage::Waiting | ChildStage::Starting) {
                self.report_missing_below(index, cause);
                self.refuse(index, ProblemKind::Unreachable, cause);
            }
        }
        self.to_agents(&Frame::new(message::TIME_IS_UP, 0, 0, Bytes::new()));
    }

    /// This node cannot start an agent. The front-end may be able to; if it is not, those below it are.
    pub(super) fn unreachable(&mut self, index: usize, cause: &str) {
        if matches!(self.agents[index].stage, ChildStage::Gone | ChildStage::Ended) {
            return;
        }
        self.take_complaint(index);
        if self.may_part() && matches!(self.up, Up::Parent(_)) {
            return self.hand_up(index, &self.with_last_words(index, cause));
        }
        if self.may_part() {
            self.adopt_below(index);
        }
        self.refuse(index, ProblemKind::Unreachable, cause);
    }

    /// The command that starts an agent, by itself or with all others.
    fn starter_of(&self, index: usize) -> Option<&StarterProcess> {
        self.agents[index].starter.as_ref().or_else(|| self.together.as_ref().and_then(Together::starter))
    }

    /// A cause with what the command that starts an agent said last.
    fn with_last_words(&self, index: usize, cause: &str) -> String {
        let words = self.starter_of(index).and_then(|starter| starter.last_words_on(&self.agents[index].host));
        words.map_or_else(|| cause.to_owned(), |words| format!("{cause} (last words: {words:?})"))
    }

    /// Reports that there will be no agent, with the last words of its starter and what to type to see more.
    fn refuse(&mut self, index: usize, kind: ProblemKind, cause: &str) {
        let remedy = self.starter_of(index).map_or_else(String::new, |starter| self.remedy(starter));
        self.refuse_with(index, kind, cause, remedy);
    }

    fn refuse_with(&mut self, index: usize, kind: ProblemKind, cause: &str, remedy: String) {
        if matches!(self.agents[index].stage, ChildStage::Gone | ChildStage::Ended) {
            return;
        }
        self.take_complaint(index);
        let agent = &self.agents[index];
        let problem = Problem {
            host: agent.host.clone(),
            kind,
            cause: self.with_last_words(index, cause),
            remedy,
            members: agent.ranks.to_string(),
        };
        self.problem(problem);
        self.forget_agent(index);
    }

    /// What to do where a command could not start an agent. An ssh that has run something there would succeed again.
    fn remedy(&self, starter: &StarterProcess) -> String {
        let has_run_there = matches!(starter.exited, Some(ExitState::Exited(code)) if code != SSH_FAILED);
        match &self.assignment.way {
            Way::Ssh(_) if has_run_there => {
                "ssh itself works: repair the cause on the host, or choose another directory for the agent program"
                    .into()
            }
            _ => format!("check with: {}", starter.check),
        }
    }

    /// The link to an agent was lost, and with it everyone below it.
    pub(super) fn agent_gone(&mut self, index: usize, why: &str) {
        match self.agents[index].stage {
            ChildStage::Gone | ChildStage::Ended => return,
            ChildStage::Starting => return self.unreachable(index, &format!("its agent ended at once: {why}")),
            _ if self.ending.is_some() => {
                // It may live and think that this node is lost.
                if self.assignment.note.is_some() {
                    self.stop_starter(index);
                }
                return self.agent_ended(index);
            }
            _ if self.agents[index].has_said_why => return self.forget_agent(index),
            _ => {}
        }
        self.take_complaint(index);
        self.hear_command_out();
        let agent = &self.agents[index];
        let words = match &agent.starter {
            Some(starter) => starter.last_words(),
            None => self.together.as_ref().and_then(|together| together.words_on(&agent.host)),
        };
        let problem = Problem {
            host: agent.host.clone(),
            kind: ProblemKind::AgentLost,
            cause: format!(
                "its agent was lost: {why}{}",
                words.map_or_else(String::new, |words| format!(" (last words: {words:?})"))
            ),
            remedy: format!(
                "its members {}; check the network to it, or allow a longer silence; look into the host's log for the \
                 reason (out of memory, reboot, a signal)",
                if self.assignment.note.is_some() { "go on without it" } else { "were ended" }
            ),
            members: agent.ranks.to_string(),
        };
        self.problem(problem);
        self.forget_agent(index);
    }

    /// The link to an agent broke.
    pub(super) fn agent_link_lost(&mut self, index: usize, error: &LinkError) {
        match error.other_protocol() {
            Some(other) => self.agent_of_other_protocol(index, other),
            None => self.agent_gone(index, &error.to_string()),
        }
    }

    /// An agent said goodbye. Where there is an extension that can be because it is over.
    pub(super) fn agent_left(&mut self, index: usize) {
        match self.agents[index].stage {
            ChildStage::Linked if self.ending.is_some() => self.agent_ended(index),
            ChildStage::Linked if self.assignment.note.is_some() => self.forget_agent(index),
            _ => self.agent_gone(index, "it said goodbye"),
        }
    }

    /// Everyone below an agent is lost.
    fn forget_agent(&mut self, index: usize) {
        if self.agents[index].stage == ChildStage::Starting {
            self.to_start.agents_under_way -= 1;
        }
        // With an extension, what was there lives on in the care of the agent's keeper.
        if self.assignment.note.is_none() || self.agents[index].stage != ChildStage::Linked {
            self.stop_starter(index);
        }
        self.close_agent_link(index);
        self.await_nobody_below(index);
        self.stage_lost(index, "its agent was lost");
        let agent = &mut self.agents[index];
        let was_reached = agent.stage == ChildStage::Linked;
        agent.stage = ChildStage::Gone;
        agent.deadline = None;
        let lost = agent.ranks.len() as u32;
        agent.progress = Progress { failed: lost, agents: agent.places().count() as u32, ..agent.progress };
        let host = agent.host.clone();
        for rank in agent.ranks.iter().collect::<Vec<_>>() {
            let state = match was_reached {
                true => ExitState::Lost(format!("the agent of host {host} was lost")),
                false => ExitState::NeverStarted(format!("host {host} could not be reached")),
            };
            self.unreported.exits.push((rank, state));
            let why = format!("member {rank} was lost with the agent of host {host}");
            self.collectives.member_gone(rank, why, &mut self.outgoing);
        }
        self.deliver();
    }

    /// An agent ended in good order, with everything below it.
    pub(super) fn agent_ended(&mut self, index: usize) {
        debug!(host = self.agents[index].host, "an agent has ended in good order");
        if self.agents[index].stage == ChildStage::Starting {
            self.to_start.agents_under_way -= 1;
        }
        self.close_agent_link(index);
        self.agents[index].stage = ChildStage::Ended;
        self.stage_lost(index, "its agent has ended");
        self.agents[index].deadline = None;
    }

    pub(super) fn close_agent_link(&mut self, index: usize) {
        if let Some(mut wire) = self.agents[index].wire.take() {
            wire.unwatch(&self.poller);
        }
        let token = Token::Agent(index as u32);
        self.end_tunnels(token);
        self.flow.set_full(token, false);
    }

    /// Asks the command that starts an agent to end, if it still runs.
    pub(super) fn stop_starter(&mut self, index: usize) {
        // The keeper of a local agent passes it on to the agent; `ssh` closes the connection.
        self.signal_starter(index, Signal::TERM);
    }

    /// Makes what starts an agent end, if it still runs. Without keeper, those that it was to guard would stay for ever: it is
    /// asked again instead, also if it was stopped.
    pub(super) fn end_starter(&mut self, index: usize) {
        if self.assignment.note.is_some() && self.agents[index].was_linked {
            self.stop_starter(index);
            self.signal_starter(index, Signal::CONT);
        } else {
            self.signal_starter(index, Signal::KILL);
        }
    }

    fn signal_starter(&mut self, index: usize, signal: Signal) {
        if let Some(starter) = &self.agents[index].starter
            && starter.exited.is_none()
        {
            // It may be ending at this very moment.
            let _ = signal_group(&starter.process, signal);
        }
    }
}
