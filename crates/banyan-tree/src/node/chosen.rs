//! Packets for some members of a stream: they take the way to these, and no other.
//!
//! They have numbers like all packets of the stream. A child that gets the next one hears that those between are not for it.

use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_ndr::FormatId;
use bytes::Bytes;

use super::Node;
use super::log::Taken;
use super::packets::SendError;
use crate::ids::{LinkId, StreamId};
use crate::message::{Chosen, Message, Packet};

impl Chosen {
    /// What of it is for some of these; nothing if none of them is meant.
    pub(super) fn for_members(self: &Arc<Chosen>, below: &RankSet) -> Option<Packet> {
        if self.members.is_subset(below) {
            return Some(Packet::Chosen(Arc::clone(self)));
        }
        let members = self.members.intersection(below);
        let chosen = Chosen { members: Arc::new(members), content: self.content.clone() };
        (!chosen.members.is_empty()).then(|| Packet::Chosen(Arc::new(chosen)))
    }
}

impl Node {
    /// At the front-end: sends a record to some members of a stream.
    ///
    /// # Errors
    /// If the stream is not there, some are not its members, or one of its members is too far behind.
    pub fn send_to(
        &mut self,
        stream: StreamId,
        members: Arc<RankSet>,
        tag: u32,
        format: FormatId,
        body: Bytes,
    ) -> Result<(), SendError> {
        let Some(known) = self.streams.get(&stream) else { return Err(SendError::NoStream(stream)) };
        let others = members.difference(&known.opening.members);
        if !others.is_empty() {
            return Err(SendError::Others { stream, others });
        }
        if members.is_empty() {
            return Ok(());
        }
        let content = Packet::Record { tag, format, body, is_partial: false };
        self.send_packet(stream, Packet::Chosen(Arc::new(Chosen { members, content })))
    }

    /// The parent has nothing between these packets for anyone at or below this node.
    pub(super) fn gap(&mut self, id: StreamId, from: u64, until: u64) {
        let is_member = self.role.is_member();
        let Node { joins, streams, .. } = self;
        let Some(stream) = streams.get_mut(&id) else { return self.unopened.note_packet(id, from) };
        let next = stream.log.next().max(from);
        let taken = if is_member { stream.log.pass_gap(from, until) } else { stream.log.take_gap(from, until, joins) };
        if stream.received_asked == next && next > 0 {
            // The parent has asked for these as well, and knew already that they are not for this node.
            stream.received_asked = until.max(next);
        }
        match taken {
            Taken::New if is_member => {
                stream.not_for_it += until - next;
                self.tell_end_of_skip(id);
            }
            Taken::TooEarly => {
                let next = stream.log.next();
                return self.ask_again(id, next);
            }
            Taken::New | Taken::Known | Taken::Dropped => {}
        }
        self.repeat_received(id, from..until);
        self.pump_down(id);
    }

    /// Tells a child that packets between these are for nobody below it.
    pub(super) fn send_gap(&mut self, link: LinkId, id: StreamId, from: u64, until: u64) {
        self.tell_joins(link);
        self.send(link, Message::Gap { stream: id, from, until });
    }
}
