//! Frames from below: what agents and members say, on its way to the front-end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use banyan_link::Frame;
use tracing::warn;

use super::root_channel::Progress;
use super::token::Token;
use super::unreported::Extent;
use super::{Below, Node, Up};
use crate::collective::{To, belongs_to_collectives};
use crate::event::Lines;
use crate::message;
use crate::problem::{Problem, ProblemKind};
use crate::process::ExitState;

/// Bytes of the numbers of one entry of [`message::EXITED`], …
const EXIT_BYTES: usize = 12;
/// … and of the reason behind them at most.
const REASON_BYTES: usize = 400;

/// Bytes of one entry of [`message::PROCESSES`].
const PROCESS_BYTES: usize = 8;

#[expect(clippy::wrong_self_convention, reason = "`from` and `to` are directions in the tree")]
impl Node {
    /// A frame of a child agent.
    pub(super) fn from_agent(&mut self, index: usize, frame: Frame) {
        match frame.kind {
            kind if belongs_to_collectives(kind) => self.collective(Below::Agent(index), frame),
            message::USER if self.agents[index].ranks.contains(0) => self.pass_up(frame),
            message::OUTPUT if self.agents[index].ranks.contains(frame.stream) => self.pass_up(frame),
            message::ATTACH_ADDRESSES if self.nodes_below(index).contains(&frame.stream) => self.pass_up(frame),
            message::AWAITED => self.awaited_below(index, frame),
            message::UNSTARTED => self.unstarted_below(index, frame),
            message::USER | message::OUTPUT | message::ATTACH_ADDRESSES => {
                self.broken(Token::Agent(index as u32), "something in the name of others that are not below it");
            }
            message::EXITED => self.take_exits(index, &frame),
            message::PROCESSES => self.take_processes(index, &frame),
            message::PROGRESS => match progress(&frame.payload) {
                Some(progress) if self.agents[index].can_have_come(progress) => self.agents[index].progress = progress,
                _ => self.broken(Token::Agent(index as u32), "a progress report that cannot be"),
            },
            message::STAGED => self.staged(index, &frame),
            message::TUNNEL_OPEN | message::TUNNEL_BYTES | message::TUNNEL_TAKEN | message::TUNNEL_CLOSE => {
                self.tunnel_from_agent(index, &frame);
            }
            message::REFUSED => match self.agents[index].wire.as_mut().map(|wire| wire.link.decode(&frame)) {
                Some(Ok(refused)) => self.unreported.refused += refused,
                _ => self.broken(Token::Agent(index as u32), "counts that cannot be read"),
            },
            message::PROBLEM => {
                let decoded = self.agents[index].wire.as_mut().map(|wire| wire.link.decode::<Problem>(&frame));
                match decoded {
                    Some(Ok(problem)) => {
                        let agent = &mut self.agents[index];
                        agent.has_said_why |= agent.is_said_to_end(&problem);
                        let problem = self.with_command_words(problem.shortened());
                        self.problem(problem);
                    }
                    _ => self.broken(Token::Agent(index as u32), "a problem that cannot be read"),
                }
            }
            _ => self.broken(Token::Agent(index as u32), "a frame that does not go up"),
        }
    }

    /// A frame of a member.
    pub(super) fn from_member(&mut self, index: usize, frame: Frame) {
        match frame.kind {
            message::USER if self.members[index].rank == 0 => self.pass_up(frame),
            kind if belongs_to_collectives(kind) => {
                self.collective(Below::Member(index), frame);
            }
            message::SHARED => self.share_with(index),
            message::BELL => {
                if let Some(shared) = &mut self.shared {
                    shared.ring();
                }
            }
            _ => self.broken(Token::Member(index as u32), "a frame that members do not send"),
        }
    }

    fn collective(&mut self, from: Below, frame: Frame) {
        let child = self.order.position(from);
        let mut outgoing = std::mem::take(&mut self.outgoing);
        if let Err(broken) = self.collectives.from_child(child, frame, Instant::now(), &mut outgoing) {
            let token = match from {
                Below::Member(index) => Token::Member(index as u32),
                Below::Agent(index) => Token::Agent(index as u32),
            };
            self.broken(token, &broken.to_string());
        }
        self.outgoing = outgoing;
        self.deliver();
    }

    /// Answers for agents that have not said in time who of their members has not entered a collective.
    pub(super) fn answer_questions(&mut self, now: Instant) {
        if self.collectives.question_timeout().is_some_and(|at| at <= now) {
            let host_of = |child: usize| match self.order.at(child) {
                Below::Agent(index) => self.agents[index].host.clone(),
                Below::Member(_) => self.host.to_string(),
            };
            self.collectives.questions_due(now, &host_of, &mut self.outgoing);
            self.deliver();
        }
    }

    /// Sends what the collectives decided.
    pub(super) fn deliver(&mut self) {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        for (to, frame) in outgoing.drain(..) {
            match to {
                To::Parent => self.pass_up(frame),
                To::Child(child) => self.send_below(self.order.at(child), frame),
                To::AllChildren => self.send_all_below(None, &frame),
                To::AllChildrenBut(child) => self.send_all_below(Some(child), &frame),
            }
        }
        self.outgoing = outgoing;
    }

    fn send_all_below(&mut self, but: Option<usize>, frame: &Frame) {
        let published = self.publish(but, frame);
        for position in 0..self.order.children().len() {
            let child = self.order.at(position);
            if Some(position) != but && !(published && self.has_published(child)) {
                self.send_below(child, frame.clone());
            }
        }
    }

    /// Sends a frame to a child. One that is gone or not there yet gets nothing.
    pub(super) fn send_below(&mut self, to: Below, frame: Frame) {
        let token = match to {
            Below::Member(index) => Token::Member(index as u32),
            Below::Agent(index) => Token::Agent(index as u32),
        };
        if let Below::Member(index) = to
            && self.is_awaited(index)
        {
            return self.keep_for_later(index, frame);
        }
        if let Below::Member(index) = to
            && self.put(index, &frame)
        {
            return;
        }
        if let Some(wire) = self.wire(token) {
            wire.link.send(frame);
            self.note_full(token);
            self.flow.touch(token);
        }
    }

    /// Passes a frame to the parent, or gives it to the callers.
    pub(super) fn pass_up(&mut self, frame: Frame) {
        match &mut self.up {
            Up::Parent(wire) => {
                wire.link.send(frame);
                self.flow.touch(Token::Parent);
            }
            Up::Nobody => {}
            Up::RootChannel(channel) => {
                let channel = Arc::clone(channel);
                match frame.kind {
                    message::USER => {
                        let more = frame.flags & message::MORE != 0;
                        channel.lay(|root_state| {
                            root_state.user_bytes += frame.payload.len();
                            root_state.user.push_back((frame.payload, more));
                        });
                    }
                    message::OUTPUT => {
                        let lines = Lines {
                            rank: frame.stream,
                            host: self.host_of(frame.stream),
                            errors: frame.flags & message::ERRORS != 0,
                            bytes: frame.payload,
                        };
                        channel.lay_output(lines);
                    }
                    message::ATTACH_ADDRESSES => {
                        channel.lay(|root_state| root_state.put_attach_addresses(frame.stream, &frame.payload))
                    }
                    // Collectives never send anything above the root.
                    _ => {}
                }
            }
        }
    }

    /// The host of a member, as the root knows it.
    pub(super) fn host_of(&self, rank: u32) -> Arc<str> {
        self.hosts.get(rank as usize).cloned().unwrap_or_else(|| Arc::clone(&self.host))
    }

    fn take_exits(&mut self, index: usize, frame: &Frame) {
        match exits(&frame.payload) {
            Some(exits) => {
                let ranks = &self.agents[index].ranks;
                self.unreported.exits.extend(exits.into_iter().filter(|(rank, _)| ranks.contains(*rank)));
            }
            None => self.broken(Token::Agent(index as u32), "exit states that cannot be read"),
        }
    }

    fn take_processes(&mut self, index: usize, frame: &Frame) {
        let ranks = &self.agents[index].ranks;
        let pairs = frame.payload.as_chunks::<PROCESS_BYTES>().0.iter().map(|[a, b, c, d, e, f, g, h]| {
            (u32::from_le_bytes([*a, *b, *c, *d]), u32::from_le_bytes([*e, *f, *g, *h]))
        });
        self.unreported.processes.extend(pairs.filter(|(rank, _)| ranks.contains(*rank)));
    }

    /// Tells the parent, or the front-end's callers, what changed since the last time.
    pub(super) fn report(&mut self) {
        self.report_refused();
        self.report_processes();
        self.report_exits();
        self.report_awaited();
        self.report_progress();
    }

    fn report_progress(&mut self) {
        let is_root = matches!(self.up, Up::RootChannel(_));
        let now = self.agents.iter().fold(self.progress, |sum, agent| sum.plus(agent.progress));
        let extent =
            Extent { agents: self.agent_count as u32, members: self.ranks_below as u32, held: self.assignment.held };
        let Some(now) = self.unreported.progress_due(now, extent, is_root) else { return };
        match &mut self.up {
            Up::RootChannel(channel) => channel.lay(|root_state| root_state.progress = now),
            Up::Nobody => {}
            Up::Parent(_) => self.pass_up(Frame::new(message::PROGRESS, 0, 0, now.encode())),
        }
    }

    fn report_refused(&mut self) {
        let is_root = matches!(self.up, Up::RootChannel(_));
        let Some(refused) = self.unreported.refused_due(is_root) else { return };
        match &mut self.up {
            Up::RootChannel(channel) => channel.lay(|root_state| root_state.refused += refused),
            Up::Nobody => {}
            Up::Parent(wire) => {
                // If so little cannot be sent the link is lost, and the node ends anyway.
                let _ = wire.link.send_record(message::REFUSED, 0, 0, &refused);
                self.flow.touch(Token::Parent);
            }
        }
    }

    fn report_exits(&mut self) {
        if self.unreported.exits.is_empty() {
            return;
        }
        let exits = std::mem::take(&mut self.unreported.exits);
        if let Up::RootChannel(channel) = &self.up {
            let channel = Arc::clone(channel);
            for (rank, state) in exits {
                let host = self.host_of(rank);
                channel.lay(|root_state| root_state.put_exit(rank, host, state));
            }
            return;
        }
        for exits in exits.chunks(message::CHUNK / (EXIT_BYTES + REASON_BYTES)) {
            let mut payload = Vec::new();
            exits.iter().for_each(|(rank, state)| push_exit(&mut payload, *rank, state));
            self.pass_up(Frame::new(message::EXITED, 0, 0, payload));
        }
    }

    /// Tells which process each member is, when all have been started.
    fn report_processes(&mut self) {
        if self.unreported.processes.is_empty() || !(self.to_start.members.is_empty() || self.to_start.held) {
            return;
        }
        let processes = std::mem::take(&mut self.unreported.processes);
        if let Up::RootChannel(channel) = &self.up {
            return channel.lay(|root_state| root_state.processes.extend(processes));
        }
        for pairs in processes.chunks(message::CHUNK / PROCESS_BYTES) {
            let words = pairs.iter().flat_map(|(rank, process)| [*rank, *process]);
            let payload: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
            self.pass_up(Frame::new(message::PROCESSES, 0, 0, payload));
        }
    }

    /// Tells the front-end of something that went wrong.
    pub(super) fn problem(&mut self, problem: Problem) {
        warn!(host = problem.host, members = problem.members, "{}", problem.cause);
        match &mut self.up {
            Up::Parent(wire) => {
                // A problem is short; if even this cannot be sent the link is lost and the node ends anyway.
                let _ = wire.link.send_record(message::PROBLEM, 0, 0, &problem);
                self.flow.touch(Token::Parent);
            }
            Up::Nobody => {}
            Up::RootChannel(channel) if problem.kind.is_of_staging() => {
                channel.lay(|root_state| root_state.put_staging(problem));
            }
            Up::RootChannel(channel) => channel.lay(|root_state| root_state.put_problem(problem)),
        }
    }

    /// Cuts off a child that broke the protocol.
    pub(super) fn broken(&mut self, token: Token, how: &str) {
        let (host, members) = match token {
            Token::Agent(index) => {
                let agent = &self.agents[index as usize];
                (agent.host.clone(), agent.ranks.to_string())
            }
            Token::Member(index) => (self.host.to_string(), self.members[index as usize].rank.to_string()),
            _ => return,
        };
        self.problem(Problem {
            host,
            kind: ProblemKind::Broken,
            cause: format!("was cut off because it sent {how}"),
            remedy: "check that every program of the session was built with the same release".into(),
            members,
        });
        match token {
            Token::Agent(index) => self.agent_gone(index as usize, "was cut off"),
            Token::Member(index) => self.cut_member(index as usize),
            _ => {}
        }
    }
}

/// Appends how a member ended: its rank, the state as a number, the length of the reason, and the reason.
pub(super) fn push_exit(payload: &mut Vec<u8>, rank: u32, state: &ExitState) {
    let reason = state.reason();
    let reason = &reason[..reason.floor_char_boundary(REASON_BYTES)];
    for number in [rank, state.to_wire(), reason.len() as u32] {
        payload.extend_from_slice(&number.to_le_bytes());
    }
    payload.extend_from_slice(reason.as_bytes());
}

/// How members ended; `None` if that cannot be.
pub(super) fn exits(mut payload: &[u8]) -> Option<Vec<(u32, ExitState)>> {
    let mut exits = Vec::new();
    while !payload.is_empty() {
        let (numbers, rest) = payload.split_first_chunk::<EXIT_BYTES>()?;
        let number = |at: usize| u32::from_le_bytes([numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]]);
        let length = usize::try_from(number(8)).ok().filter(|length| *length <= REASON_BYTES)?;
        let (reason, rest) = rest.split_at_checked(length)?;
        exits.push((number(0), ExitState::from_wire(number(4), str::from_utf8(reason).ok()?)?));
        payload = rest;
    }
    Some(exits)
}

pub(super) fn progress(payload: &[u8]) -> Option<Progress> {
    let words: VecDeque<u32> =
        payload.chunks(4).map(|word| word.try_into().map(u32::from_le_bytes)).collect::<Result<_, _>>().ok()?;
    let [agents, started, failed, joined] = <[u32; 4]>::try_from(Vec::from(words)).ok()?;
    Some(Progress { agents, started, failed, joined })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_states_travel_with_their_reasons_and_nonsense_is_refused() {
        let states = [(7, ExitState::Exited(1)), (8, ExitState::Lost("why".into())), (9, ExitState::Left)];
        let mut payload = Vec::new();
        states.iter().for_each(|(rank, state)| push_exit(&mut payload, *rank, state));
        assert_eq!(exits(&payload), Some(states.to_vec()));
        assert!((1..EXIT_BYTES).all(|cut| exits(&payload[..payload.len() - cut]).is_none()));
        let mut long = Vec::new();
        push_exit(&mut long, 1, &ExitState::Lost("ä".repeat(REASON_BYTES)));
        assert_eq!(exits(&long), Some(vec![(1, ExitState::Lost("ä".repeat(REASON_BYTES / 2)))]));
        long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(exits(&long), None);
    }
}
