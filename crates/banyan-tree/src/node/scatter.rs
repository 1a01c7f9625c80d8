//! Packets with a record for each member: every node passes on what the members below need, and no more.
//!
//! A node that takes in others after such a packet has passed may not have what they need. It asks its parent again, which
//! knows by then whom it has below.

use std::ops::RangeInclusive;
use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_reduce::Bodies;
use bytes::Bytes;

use super::Node;
use super::packets::SendError;
use crate::ids::{LinkId, StreamId};
use crate::message::{Packet, Scatter};

/// Where the record of each member is among those of all. Made once for all children of a node, so that what each of them
/// gets is found in its own members.
#[derive(Debug)]
pub(super) struct Places(Vec<(RangeInclusive<u32>, u32)>);

impl Places {
    pub(super) fn of(members: &RankSet) -> Places {
        let mut next = 0;
        let ranges = members.ranges().map(|ranks| {
            let first = next;
            // There is a record for each, and they are counted by as many bits.
            next += ranks.end() - ranks.start() + 1;
            (ranks, first)
        });
        Places(ranges.collect())
    }

    fn place(&self, rank: u32) -> Option<u32> {
        let at = self.0.partition_point(|(ranks, _)| *ranks.end() < rank);
        let (ranks, first) = self.0.get(at)?;
        ranks.contains(&rank).then(|| first + (rank - ranks.start()))
    }
}

impl Packet {
    /// What of a packet is for these members, who all belong to its stream; none if it has not got everything for them.
    pub(super) fn for_members(&self, wanted: &RankSet) -> Option<Packet> {
        match self {
            Packet::Scatter(scatter) => scatter.for_members(wanted, &Places::of(&scatter.members)),
            packet => Some(packet.clone()),
        }
    }
}

impl Scatter {
    /// As [`Packet::for_members`], given where the records are.
    pub(super) fn for_members(self: &Arc<Scatter>, wanted: &RankSet, places: &Places) -> Option<Packet> {
        let Scatter { tag, members, bodies, is_partial } = &**self;
        // A child whose members have all ended passes on whatever it gets, which is nothing to anybody.
        if **members == *wanted || wanted.is_empty() {
            return Some(Packet::Scatter(Arc::clone(self)));
        }
        let places: Option<Vec<u32>> = wanted.iter().map(|rank| places.place(rank)).collect();
        let bodies = bodies.select(&places?)?;
        let members = Arc::new(wanted.clone());
        Some(Packet::Scatter(Arc::new(Scatter { tag: *tag, members, bodies, is_partial: *is_partial })))
    }

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
        let Node { below, streams, .. } = self;
        let Some(stream) = streams.get(&id) else { return RankSet::new() };
        // Not as the intersection: that goes through all members of the stream for each child.
        below.members(link).iter().filter(|rank| stream.opening.members.contains(*rank)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set() -> impl Strategy<Value = RankSet> {
        let some = prop::collection::btree_set(0u32..60, 0..40).prop_map(|ranks| ranks.into_iter().collect());
        prop_oneof![some, (0u32..40, 1u32..20).prop_map(|(first, count)| (first..first + count).collect())]
    }

    proptest! {
        #[test]
        fn a_place_is_how_many_members_are_before(members in set()) {
            let places = Places::of(&members);
            for rank in 0..70 {
                let expected = members.iter().position(|member| member == rank).map(|place| place as u32);
                prop_assert_eq!(places.place(rank), expected);
            }
        }
    }
}
