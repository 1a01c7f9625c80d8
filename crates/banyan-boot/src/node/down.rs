//! Frames and orders from above, on their way to agents and members.

use std::time::Instant;

use banyan_link::Frame;
use banyan_ranks::RankSet;
use bytes::Bytes;
use rustix::process::Signal;

use super::root_channel::{MemberData, Order};
use super::token::Token;
use super::{Below, Node, Up};
use crate::collective::belongs_to_collectives;
use crate::message;

#[expect(clippy::wrong_self_convention, reason = "`from` and `to` are directions in the tree")]
impl Node {
    /// A frame of the parent.
    pub(super) fn from_parent(&mut self, frame: Frame) {
        match frame.kind {
            kind if belongs_to_collectives(kind) => {
                if kind == message::ASK_ENTERED {
                    self.look_at_shared_now();
                }
                let mut outgoing = std::mem::take(&mut self.outgoing);
                let result = self.collectives.from_parent(frame, Instant::now(), &mut outgoing);
                self.outgoing = outgoing;
                match result {
                    Ok(()) => self.deliver(),
                    Err(broken) => self.give_up(&broken.to_string()),
                }
            }
            message::USER => self.to_master(frame),
            message::INPUT => self.pass_input(&frame),
            message::SIGNAL => self.pass_signal(&frame),
            message::STAGE => self.stage_piece(&frame),
            message::STAGE_BEGIN => self.take_offer(&frame),
            message::STAGE_CANCEL => self.stage_cancel(frame.stream),
            message::TUNNEL_BYTES | message::TUNNEL_TAKEN | message::TUNNEL_CLOSE => self.tunnel_from_parent(&frame),
            message::PAUSE => self.parent_pauses(frame.stream),
            message::RELEASE => self.release_members(),
            message::TIME_IS_UP => self.time_is_up(),
            message::LOG => self.begin_log(&frame),
            message::END => self.end(),
            message::DETACH => self.detach(),
            _ => self.give_up("the parent sent a frame that does not go down"),
        }
    }

    /// What the front-end's callers have ordered.
    pub(super) fn take_orders(&mut self) {
        let Up::RootChannel(channel) = &self.up else { return };
        for order in channel.take_orders() {
            match order {
                Order::Signal { signal, ranks } => {
                    let mut bytes = Vec::new();
                    ranks.iter().for_each(|ranks| ranks.encode(&mut bytes));
                    self.pass_signal(&Frame::new(message::SIGNAL, signal.cast_unsigned(), 0, bytes));
                }
                Order::Stage(offer) => self.stage_begin(&offer),
                Order::StageCancel(number) => self.stage_cancel(number),
                Order::Pause { seconds } => self.announce_pause(seconds),
                Order::Release => self.release_members(),
                Order::TimeIsUp => self.time_is_up(),
                Order::End => self.end(),
                Order::Detach => self.detach(),
            }
        }
    }

    /// Sends bytes of the front-end's callers down while everyone below has room.
    pub(super) fn pass_member_data(&mut self) {
        while self.flow.is_clear() && self.awaiting.has_room() {
            let Up::RootChannel(channel) = &self.up else { return };
            match channel.take_member_data() {
                None => return,
                Some(MemberData::User { bytes, more }) => {
                    let mut frame = Frame::new(message::USER, 0, 0, bytes);
                    frame.flags = if more { message::MORE } else { 0 };
                    self.to_master(frame);
                }
                Some(MemberData::Input { bytes, last }) => {
                    let mut frame = Frame::new(message::INPUT, 0, 0, bytes);
                    frame.flags = if last { message::LAST } else { 0 };
                    self.pass_input(&frame);
                }
            }
        }
    }

    fn to_master(&mut self, frame: Frame) {
        self.keep_for_awaited(&frame);
        let has_master = |child: &&Below| match child {
            Below::Member(index) => self.members[*index].rank == 0,
            Below::Agent(index) => self.agents[*index].ranks.contains(0),
        };
        if let Some(master) = self.order.children().iter().find(has_master) {
            self.send_below(*master, frame);
        }
    }

    /// Standard input, for every member that has one.
    fn pass_input(&mut self, frame: &Frame) {
        self.keep_for_awaited(frame);
        let last = frame.flags & message::LAST != 0;
        for index in 0..self.members.len() {
            if let Some(input) = &mut self.members[index].input {
                input.push(frame.payload.clone(), last);
                self.write_input(index);
            }
        }
        self.to_agents(frame);
    }

    pub(super) fn to_agents(&mut self, frame: &Frame) {
        for index in 0..self.agents.len() {
            self.send_below(Below::Agent(index), frame.clone());
        }
    }

    fn pass_signal(&mut self, frame: &Frame) {
        let all = frame.payload.is_empty();
        let ranks = if all { Ok((RankSet::new(), 0)) } else { RankSet::decode(&frame.payload) };
        let signal = Signal::from_named_raw(frame.stream.cast_signed());
        let (Ok((ranks, _)), Some(signal)) = (ranks, signal) else { return };
        for index in 0..self.members.len() {
            if all || ranks.contains(self.members[index].rank) {
                self.signal_member(index, signal);
            }
        }
        self.to_agents(frame);
    }

    fn release_members(&mut self) {
        self.to_start.held = false;
        self.to_agents(&Frame::new(message::RELEASE, 0, 0, Bytes::new()));
    }

    /// The front-end goes; members stay, and this node with them until the last has ended.
    fn detach(&mut self) {
        self.to_agents(&Frame::new(message::DETACH, 0, 0, Bytes::new()));
        self.detached = true;
        self.stop_launch_keeper();
        if let Up::RootChannel(_) = self.up {
            for index in 0..self.agents.len() {
                if let Some(wire) = &mut self.agents[index].wire {
                    wire.link.close();
                    self.flow.touch(Token::Agent(index as u32));
                }
            }
        }
    }
}
