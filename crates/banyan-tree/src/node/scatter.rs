//! Packets with a record for each member: every node passes on what the members below need, and no more.
//!
//! A node that takes in others after such a packet has passed may not have what they need. It asks its parent again, which
//! knows by then whom it has below.

use std::sync::Arc;

use banyan_boot::RankSet;
use bytes::Bytes;

use super::Node;
use super::packets::SendError;
use crate::ids::{LinkId, StreamId};
use crate::message::{Packet, Scatter};
use crate::run::Bodies;

impl Packet {
    /// What of a packet is for these members, who all belong to its stream; none if it has not got everything for them.
    pub(super) fn for_members(&self, wanted: &RankSet) -> Option<Packet> {
        let Packet::Scatter(scatter) = self else { return Some(self.clone()) };
        let Scatter { tag, members, bodies, is_partial } = &**scatter;
        // A child whose members have all ended passes on whatever it gets, which is nothing to anybody.
        if **members == *wanted || wanted.is_empty() {
            return Some(self.clone());
        }
        if !wanted.is_subset(members) {
            return None;
        }
        let places: Vec<u32> =
            (0..).zip(members.iter()).filter(|(_, rank)| wanted.contains(*rank)).map(|(place, _)| place).collect();
        let bodies = bodies.select(&places)?;
        let members = Arc::new(wanted.clone());
        Some(Packet::Scatter(Arc::new(Scatter { tag: *tag, members, bodies, is_partial: *is_partial })))
    }
}

impl Scatter {
    /// The record for one member.
    pub(super) fn part_of(&self, rank: u32) -> Option<Bytes> {
        let Scatter { members, bodies, .. } = self;
        let place = members.iter().position(|member| member == rank)?;
        bodies.select(&[u32::try_from(place).ok()?]).map(|body| body.bytes().clone())
    }
}

impl Node {
    /// At the front-end: sends each member of a stream a record of its own: one for each, in the order of ranks.
    ///
    /// # Errors
    /// If the stream is not there, there are not as many records as members, or a member is too far behind.
    pub fn scatter(&mut self, stream: StreamId, tag: u32, bodies: Bodies) -> Result<(), SendError> {
        let Some(known) = self.streams.get(&stream) else { return Err(SendError::NoStream(stream)) };
        let members = Arc::clone(&known.opening.members);
        if members.len() != u64::from(bodies.len()) {
            return Err(SendError::Parts { stream, members: members.len(), parts: bodies.len() });
        }
        self.send_packet(stream, Packet::Scatter(Arc::new(Scatter { tag, members, bodies, is_partial: false })))
    }

    /// The members of a stream below a link.
    pub(super) fn concerned(&mut self, link: LinkId, id: StreamId) -> RankSet {
        let below = self.below.members(link);
        self.streams.get(&id).map_or(RankSet::new(), |stream| stream.opening.members.intersection(below))
    }
}
