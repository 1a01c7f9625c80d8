//! Agents that are started together: the command that starts them all (at the root), and the door by which they come.
//!
//! An agent that proves that it is one of this node's children, and is awaited, gets its work; everyone else is dropped.
//! The command belongs to the root: what it complains about goes into error messages, and it is reaped when the session
//! ends. It mostly ends by itself once its agents have; otherwise it is asked, and then made to.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use banyan_link::{Interest, Link, PeerId, Secret, SessionId};
use rustix::process::Signal;

use super::child::{Stage, StarterProcess};
use super::token::Token;
use super::wire::Wire;
use super::{Node, Up};
use crate::launcher::Starter;
use crate::launcher::together::RosterFile;
use crate::process::{ExitState, signal_group};

/// How long the command may take to end by itself when its agents have.
const ENDS_BY_ITSELF: Duration = Duration::from_secs(1);

/// How long it may take when it was asked.
const ENDS_WHEN_ASKED: Duration = Duration::from_secs(2);

/// What Slurm's `srun` says when it has to wait for nodes, and when it has them.
const QUEUED: &str = "queued and waiting for resources";
const GRANTED: &str = "has been allocated resources";

/// What a node knows of agents that were started together.
pub(crate) struct Together {
    secret: Secret,
    /// What the root has to start, until it has.
    begin: Option<(Starter, Vec<u8>)>,
    starter: Option<StarterProcess>,
    /// What the command has not read yet of its standard input.
    input: Vec<u8>,
    /// Removed when all agents have come.
    file: Option<RosterFile>,
    /// The command waits for hosts: nobody can be late.
    queued: bool,
    /// When the command is asked to end, or made to if it was asked.
    end_at: Option<Instant>,
    asked: bool,
}

impl Together {
    /// At an agent: its children come by themselves.
    pub(crate) fn below(secret: Secret) -> Together {
        Together {
            secret,
            begin: None,
            starter: None,
            input: Vec::new(),
            file: None,
            queued: false,
            end_at: None,
            asked: false,
        }
    }

    /// At the root: this command starts all agents.
    pub(crate) fn by(secret: Secret, starter: Starter, input: Vec<u8>, file: Option<RosterFile>) -> Together {
        Together { begin: Some((starter, input)), file, ..Together::below(secret) }
    }

    /// The command, if this is the root.
    pub(super) fn starter(&self) -> Option<&StarterProcess> {
        self.starter.as_ref()
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

impl Node {
    /// Starts all agents, if that is this node's task.
    pub(super) fn start_together(&mut self) {
        let Some(together) = &mut self.together else { return };
        let Some((starter, input)) = together.begin.take() else { return };
        match StarterProcess::run(&mut self.spawner, starter, &self.null) {
            Err(error) => {
                let cause = error.to_string();
                (0..self.agents.len()).for_each(|index| self.unreachable(index, &cause));
            }
            Ok((starter, _)) => {
                let watched = [
                    (starter.input.as_ref(), Token::CommonInput, Interest::WRITE),
                    (starter.errors.as_ref(), Token::CommonComplaint, Interest::READ),
                    (Some(&starter.process.pidfd), Token::CommonExit, Interest::READ),
                ];
                let watch = |(fd, token, interest): (Option<_>, Token, Interest)| {
                    fd.map_or(Ok(()), |fd| self.poller.register(fd, token.number(), interest))
                };
                let watching = watched.into_iter().try_for_each(watch);
                (together.starter, together.input) = (Some(starter), input);
                if let Err(error) = watching {
                    self.end(&format!("descriptors cannot be watched: {error}"));
                }
            }
        }
    }

    /// The command takes more of the roster. When it has all its standard input is closed.
    pub(super) fn write_roster(&mut self) {
        let Some(together) = &mut self.together else { return };
        let Some(starter) = &mut together.starter else { return };
        let Some(input) = &starter.input else { return };
        while !together.input.is_empty() {
            match rustix::io::retry_on_intr(|| rustix::io::write(input, &together.input)) {
                Ok(count) => _ = together.input.drain(..count),
                Err(rustix::io::Errno::AGAIN) => return,
                // Its end, or its complaint, says why.
                Err(_) => together.input.clear(),
            }
        }
        let _ = self.poller.remove(input);
        starter.input = None;
    }

    /// The command complains, or says that it waits for hosts.
    pub(super) fn take_common_complaint(&mut self) {
        let Some(together) = &mut self.together else { return };
        let Some(starter) = &mut together.starter else { return };
        let goes_on = starter.take_complaint();
        let said = starter.complaint();
        if !goes_on && let Some(errors) = starter.errors.take() {
            let _ = self.poller.remove(&errors);
        }
        let queued = said.rfind(QUEUED) > said.rfind(GRANTED);
        if queued != together.queued {
            together.queued = queued;
            let deadline = (!queued).then(|| Instant::now() + self.assignment.terms.host_deadline());
            let awaited = self.agents.iter_mut().filter(|agent| agent.stage == Stage::Starting);
            awaited.for_each(|agent| agent.deadline = deadline);
        }
    }

    /// The command ended. If it failed, agents that have not come will not.
    pub(super) fn common_starter_exited(&mut self) {
        let Some(starter) = self.together.as_mut().and_then(|together| together.starter.as_mut()) else { return };
        let Ok(Some(state)) = ExitState::take(starter.process.pidfd.as_fd()) else { return };
        let _ = self.poller.remove(&starter.process.pidfd);
        starter.exited = Some(state.clone());
        starter.take_complaint();
        if state.is_success() {
            return;
        }
        for index in 0..self.agents.len() {
            if matches!(self.agents[index].stage, Stage::Waiting | Stage::Starting) && self.agents[index].wire.is_none()
            {
                self.unreachable(index, &format!("no agent came: the command that starts them {state}"));
            }
        }
    }

    /// Takes agents in that came by themselves.
    pub(super) fn accept(&mut self) {
        let Some(mut listener) = self.listener.take() else { return };
        let find = &mut |peer: &PeerId| {
            self.awaited(peer)?;
            self.together.as_ref().map(|together| together.secret.derive("agent", peer.index))
        };
        let links = listener.accept_ready(Instant::now(), find);
        self.listener = Some(listener);
        links.into_iter().for_each(|link| self.arrived(link));
    }

    /// Which child agent a peer is; `None` if it is none, or is not awaited.
    fn awaited(&self, peer: &PeerId) -> Option<usize> {
        // Agent `i` of the session is node `i + 1`.
        let own = if matches!(self.up, Up::Desk(_)) { 0 } else { self.assignment.node - 1 };
        let place = peer.index.checked_sub(own)? as usize;
        let index = self.agents.iter().position(|agent| agent.subtree.start == place)?;
        let agent = &self.agents[index];
        let is_awaited = agent.stage == Stage::Starting && agent.wire.is_none();
        (peer.session == SessionId(self.assignment.session) && is_awaited).then_some(index)
    }

    fn arrived(&mut self, link: Link) {
        // It may have come twice at the same time.
        let Some(index) = link.peer_id().and_then(|peer| self.awaited(&peer)) else { return };
        match Wire::new(link, &self.poller, Token::Agent(index as u32).number()) {
            Ok(wire) => {
                self.agents[index].wire = Some(wire);
                self.assign(index);
            }
            Err(error) => self.unreachable(index, &format!("its link cannot be watched: {error}")),
        }
    }

    /// Sees to the door, the roster's file and the end of the command.
    pub(super) fn tick_together(&mut self, now: Instant) {
        if self.listener.as_ref().and_then(|listener| listener.timeout()).is_some_and(|timeout| timeout <= now) {
            self.accept();
        }
        let came: u32 = self.agents.iter().map(|agent| agent.progress.agents).sum();
        let all_gone = self.agents.iter().all(|agent| matches!(agent.stage, Stage::Gone | Stage::Ended));
        let Some(together) = &mut self.together else { return };
        if came as usize >= self.assignment.agents.len() {
            together.file = None;
        }
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
