//! Staging at a node: the question who lacks it on its way down, answers on their way up, and pieces in between.

use std::collections::BTreeSet;

use banyan_link::{Frame, Interest};
use bytes::Bytes;

use super::child::ChildStage;
use super::root_channel::StagePhase;
use super::token::Token;
use super::{Below, Node, Up};
use crate::message;
use crate::problem::{Problem, ProblemKind};
use crate::staging::assembly::Assembly;
use crate::staging::place::Placed;
use crate::staging::writer::{Writer, WriterProgress};
use crate::staging::{Offer, Tally};

/// `sequence` of [`message::STAGED`]: who has it.
const ANSWER: u32 = 0;
/// `sequence` of [`message::STAGED`]: who has got it.
const END: u32 = 1;

/// Staging at a node.
#[derive(Debug, Default)]
pub(super) struct Staging {
    /// There is one transfer at a time. A new one takes the place of one that did not end.
    transfer: Option<NodeTransfer>,
    /// Where the parcels of the last source went.
    placed: Placed,
    /// The large file that is put together on this host.
    assembly: Assembly,
}

impl Staging {
    /// Whether this host's disk takes another piece.
    pub(super) fn has_room(&self) -> bool {
        let writer = self.transfer.as_ref().and_then(|transfer| transfer.writer.as_ref());
        writer.is_none_or(Writer::has_room)
    }
}

/// A transfer that is under way.
#[derive(Debug)]
struct NodeTransfer {
    number: u32,
    /// Stores it on this host; the root has none.
    writer: Option<Writer>,
    own: HostTally,
    /// By child agent.
    children: Vec<HostTally>,
    answered: bool,
}

/// What is known of one's own host, or of a subtree.
#[derive(Debug, Clone, Copy, Default)]
struct HostTally {
    answer: Option<Tally>,
    end: Option<Tally>,
}

impl HostTally {
    /// Nothing more will come from there.
    fn settle(&mut self, tally: Tally) {
        self.answer.get_or_insert(tally);
        self.end = Some(tally);
    }

    fn wants_pieces(&self) -> bool {
        self.end.is_none() && self.answer.is_some_and(|answer| answer.needs > 0)
    }
}

impl NodeTransfer {
    /// Everyone's answers, or everyone's ends, together; `None` while some are missing.
    fn sum(&self, of: impl Fn(&HostTally) -> Option<Tally>) -> Option<Tally> {
        let parts = self.children.iter().chain([&self.own]);
        parts.map(of).try_fold(Tally::default(), |sum, tally| Some(sum.plus(tally?)))
    }
}

impl Node {
    /// Asks everyone below, and this host, who lacks what is offered.
    pub(super) fn stage_begin(&mut self, offer: &Offer) {
        self.stage_forget();
        let mut transfer = NodeTransfer {
            number: offer.number,
            writer: None,
            own: HostTally::default(),
            children: vec![HostTally::default(); self.agents.len()],
            answered: false,
        };
        if matches!(self.up, Up::RootChannel(_)) {
            transfer.own.settle(Tally::default());
        }
        self.staging.transfer = Some(transfer);
        for index in 0..self.agents.len() {
            let agent = &mut self.agents[index];
            let sent = match &mut agent.wire {
                Some(wire) if agent.stage == ChildStage::Linked => {
                    wire.link.send_record(message::STAGE_BEGIN, 0, 0, offer).map_err(|error| error.to_string())
                }
                _ => Err("there is no agent".to_owned()),
            };
            match sent {
                Ok(()) => self.flow.touch(Token::Agent(index as u32)),
                Err(why) => self.stage_lost(index, &why),
            }
        }
        if !matches!(self.up, Up::RootChannel(_)) {
            self.start_writer(offer);
        }
        self.stage_progress();
    }

    /// The parent asks.
    pub(super) fn take_offer(&mut self, frame: &Frame) {
        let decoded = self.wire(Token::Parent).map(|wire| wire.link.decode::<Offer>(frame));
        match decoded {
            Some(Ok(offer)) => self.stage_begin(&offer),
            _ => self.give_up("the parent offered something that cannot be read"),
        }
    }

    fn start_writer(&mut self, offer: &Offer) {
        let (cache, host) = (self.assignment.terms.cache.clone(), self.host.to_string());
        let (placed, assembly) = (self.staging.placed.clone(), self.staging.assembly.clone());
        let started = Writer::start(offer.clone(), cache, host, placed, assembly).and_then(|writer| {
            self.poller.register(writer.bell(), Token::Staging.number(), Interest::READ)?;
            Ok(writer)
        });
        let Some(transfer) = &mut self.staging.transfer else { return };
        match started {
            Ok(writer) => transfer.writer = Some(writer),
            Err(error) => {
                transfer.own.settle(Tally { failed: 1, ..Tally::default() });
                let cause = format!("nothing can be stored: {error}");
                self.staging_problem(self.host.to_string(), ProblemKind::Staging, cause);
            }
        }
    }

    /// The writer of this host has come further, or has room again.
    pub(super) fn stage_bell(&mut self) {
        let Some(transfer) = &mut self.staging.transfer else { return };
        let Some(writer) = &transfer.writer else { return };
        let none = Tally::default();
        let mut failed = None;
        match writer.progress() {
            WriterProgress::Looking => return,
            WriterProgress::Needs => transfer.own.answer = Some(Tally { needs: 1, ..none }),
            WriterProgress::Had => transfer.own.settle(Tally { had: 1, ..none }),
            WriterProgress::Lacks => transfer.own.settle(Tally { needs: 1, ..none }),
            WriterProgress::GaveUp => transfer.own.settle(Tally { failed: 1, ..none }),
            WriterProgress::Stored => transfer.own.settle(Tally { stored: 1, ..none }),
            WriterProgress::Failed(kind, why) => {
                transfer.own.settle(Tally { failed: 1, ..none });
                failed = Some((kind, why));
            }
        }
        if transfer.own.end.is_some() {
            let _ = self.poller.remove(writer.bell());
            transfer.writer = None;
        }
        if let Some((kind, why)) = failed {
            self.staging_problem(self.host.to_string(), kind, why);
        }
        self.stage_progress();
    }

    /// A piece from the parent, for this host and everyone below that lacks it.
    pub(super) fn stage_piece(&mut self, frame: &Frame) {
        let Some(transfer) = self.staging.transfer.as_ref().filter(|transfer| transfer.number == frame.stream) else {
            return;
        };
        if transfer.own.wants_pieces()
            && let Some(writer) = &transfer.writer
        {
            writer.push(frame.payload.clone(), frame.flags & message::MORE == 0);
        }
        let wanted = (0..).zip(&transfer.children).filter(|(_, part)| part.wants_pieces());
        for index in wanted.map(|(index, _)| index).collect::<Vec<_>>() {
            self.send_below(Below::Agent(index), frame.clone());
        }
    }

    /// Sends what the front-end's caller has read, as far as there is room below.
    pub(super) fn stage_down(&mut self) {
        let Up::RootChannel(channel) = &self.up else { return };
        let channel = std::sync::Arc::clone(channel);
        let Some(number) = self.staging.transfer.as_ref().map(|transfer| transfer.number) else { return };
        while self.flow.is_clear()
            && let Some((piece, last)) = channel.take_piece()
        {
            let mut frame = Frame::new(message::STAGE, number, 0, piece);
            frame.flags = if last { 0 } else { message::MORE };
            self.stage_piece(&frame);
        }
    }

    /// What a child agent says about its subtree.
    pub(super) fn staged(&mut self, index: usize, frame: &Frame) {
        let Some(tally) = Tally::decode(&frame.payload) else {
            return self.broken(Token::Agent(index as u32), "a staging report of the wrong length");
        };
        let Some(transfer) = self.staging.transfer.as_mut().filter(|transfer| transfer.number == frame.stream) else {
            return;
        };
        let part = &mut transfer.children[index];
        match frame.sequence {
            ANSWER if part.answer.is_none() && tally.needs > 0 => part.answer = Some(tally),
            ANSWER if part.answer.is_some() => {}
            _ => part.settle(tally),
        }
        self.stage_progress();
    }

    /// Another child agent is to come: what is under way does not reach it.
    pub(super) fn stage_without(&mut self, index: usize) {
        if let Some(transfer) = &mut self.staging.transfer {
            transfer.children.push(HostTally::default());
            self.stage_lost(index, "there is no agent");
        }
    }

    /// Nothing comes from a child agent, or nothing more.
    pub(super) fn stage_lost(&mut self, index: usize, why: &str) {
        let agent = &self.agents[index];
        let places: Vec<usize> = agent.places().collect();
        let Some(transfer) = &mut self.staging.transfer else { return };
        let part = &mut transfer.children[index];
        if part.end.is_some() {
            return;
        }
        let (count, none) = (places.len() as u32, Tally::default());
        part.settle(match agent.stage {
            ChildStage::Waiting | ChildStage::Starting => Tally { late: count, ..none },
            ChildStage::Linked | ChildStage::Gone | ChildStage::Ended => Tally { failed: count, ..none },
        });
        // Why one was not reached is said anyway.
        if agent.was_linked {
            let agents = &self.assignment.agents;
            let hosts: BTreeSet<String> = places.iter().map(|place| agents[*place].host.clone()).collect();
            for host in hosts {
                self.staging_problem(host, ProblemKind::Staging, format!("nothing was staged there: {why}"));
            }
        }
        self.stage_progress();
    }

    /// The front-end gave up.
    pub(super) fn stage_cancel(&mut self, number: u32) {
        if self.staging.transfer.as_ref().is_some_and(|transfer| transfer.number == number) {
            self.stage_forget();
        }
        self.to_agents(&Frame::new(message::STAGE_CANCEL, number, 0, Bytes::new()));
    }

    fn stage_forget(&mut self) {
        if let Some(writer) = self.staging.transfer.take().and_then(|transfer| transfer.writer) {
            let _ = self.poller.remove(writer.bell());
        }
    }

    /// Reports what is complete.
    fn stage_progress(&mut self) {
        let Some(transfer) = &mut self.staging.transfer else { return };
        if !transfer.answered {
            let Some(answer) = transfer.sum(|part| part.answer) else { return };
            transfer.answered = true;
            if answer.needs > 0 {
                self.tell_staged(ANSWER, answer);
            }
        }
        if let Some(end) = self.staging.transfer.as_ref().and_then(|transfer| transfer.sum(|part| part.end)) {
            self.tell_staged(END, end);
            self.stage_forget();
        }
    }

    fn tell_staged(&mut self, what: u32, tally: Tally) {
        let number = self.staging.transfer.as_ref().map_or(0, |transfer| transfer.number);
        match &self.up {
            Up::Parent(_) | Up::Nobody => self.pass_up(Frame::new(message::STAGED, number, what, tally.encode())),
            Up::RootChannel(channel) => channel.lay(|root_state| {
                root_state.staging.tally = tally;
                root_state.staging.phase = if what == ANSWER { StagePhase::Sending } else { StagePhase::Ended };
            }),
        }
    }

    fn staging_problem(&mut self, host: String, kind: ProblemKind, cause: String) {
        let (remedy, members) = (String::new(), String::new());
        self.problem(Problem { host, kind, cause, remedy, members });
    }
}
