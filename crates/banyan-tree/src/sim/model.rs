//! What must hold, whatever happens: checked while a simulation runs and at its end.

use std::collections::BTreeMap;

use banyan_boot::RankSet;

use super::sum::number;
use crate::ids::{StreamId, Wave};
use crate::node::Delivery;

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// A wave came out of order, twice, or one was left out.
    #[error("{stream}: {got} was delivered when {expected} was next")]
    Order {
        /// The stream.
        stream: StreamId,
        /// What was delivered.
        got: Wave,
        /// What should have been.
        expected: Wave,
    },
    /// A wave is not the sum of what its members sent.
    #[error("{stream}, {wave}: the sum of members {members} is not what they sent")]
    Sum {
        /// The stream.
        stream: StreamId,
        /// The wave.
        wave: Wave,
        /// Who is said to be in it.
        members: RankSet,
    },
    /// A member that was never lost is not in a wave.
    #[error("{stream}, {wave}: members {missing} are missing, and were never lost")]
    Missing {
        /// The stream.
        stream: StreamId,
        /// The wave.
        wave: Wave,
        /// Who is missing.
        missing: RankSet,
    },
    /// Members that never failed were given up.
    #[error("members {0} were given up, although they never failed")]
    GivenUp(RankSet),
    /// A member got packets out of order, twice, or not all.
    #[error("member {member}: packet {got} came when {expected} was next")]
    Packets {
        /// The member.
        member: u32,
        /// What came.
        got: u64,
        /// What should have come.
        expected: u64,
    },
    /// A member that was never given up was told that packets are gone.
    #[error("{stream}: member {member} missed {packets} packets, and was never given up")]
    Skipped {
        /// The stream.
        stream: StreamId,
        /// The member.
        member: u32,
        /// How many.
        packets: u64,
    },
    /// A node held more than it may.
    #[error("node {node} held {bytes} bytes; {allowed} are allowed")]
    Memory {
        /// The node.
        node: usize,
        /// What it held.
        bytes: usize,
        /// What it may hold.
        allowed: usize,
    },
    /// Contributions overlapped, which cannot be.
    #[error("{0} contributions were in conflict")]
    Conflicts(u64),
    /// Everything stands still.
    #[error("nothing moves any more: {0}")]
    Stuck(String),
}

/// What one member sends as its part of a wave.
pub(super) fn contribution(stream: StreamId, member: u32, wave: Wave) -> u64 {
    let mixed = (u64::from(stream.0) << 48) ^ (u64::from(member) << 24) ^ wave.0;
    crate::node::Chance::new(mixed).next_number()
}

/// Follows what the front-end gets.
#[derive(Debug, Default)]
pub(super) struct Model {
    next: BTreeMap<StreamId, Wave>,
    /// Who was in each wave of each stream, as runs of waves with the same members.
    contributors: BTreeMap<StreamId, Vec<(Wave, RankSet)>>,
    /// Members that were given up at some time.
    lost: RankSet,
    /// Packets each member has got.
    packets: BTreeMap<(StreamId, u32), u64>,
}

impl Model {
    pub(super) fn delivered(&mut self, delivery: &Delivery) -> Result<(), Broken> {
        let stream = delivery.stream;
        let expected = self.next.entry(stream).or_default();
        if delivery.first != *expected {
            return Err(Broken::Order { stream, got: delivery.first, expected: *expected });
        }
        *expected = delivery.first.after(delivery.count);
        let sums = |wave: Wave| {
            let parts = delivery.members.iter().map(|member| contribution(stream, member, wave));
            parts.fold(0, u64::wrapping_add)
        };
        for at in 0..delivery.count {
            let wave = delivery.first.after(at);
            let got = delivery.bodies.as_ref().map(|bodies| number(bodies.get(at)));
            if got != Ok(sums(wave)) {
                return Err(Broken::Sum { stream, wave, members: (*delivery.members).clone() });
            }
        }
        let runs = self.contributors.entry(stream).or_default();
        if runs.last().is_none_or(|(_, members)| *members != *delivery.members) {
            runs.push((delivery.first, (*delivery.members).clone()));
        }
        Ok(())
    }

    pub(super) fn lost(&mut self, members: &RankSet) {
        self.lost = self.lost.union(members);
    }

    pub(super) fn packet(&mut self, stream: StreamId, member: u32, got: u64) -> Result<(), Broken> {
        let expected = self.packets.entry((stream, member)).or_default();
        if got != *expected {
            return Err(Broken::Packets { member, got, expected: *expected });
        }
        *expected += 1;
        Ok(())
    }

    pub(super) fn skipped(&mut self, stream: StreamId, member: u32, packets: u64) -> Result<(), Broken> {
        if !self.lost.contains(member) {
            return Err(Broken::Skipped { stream, member, packets });
        }
        *self.packets.entry((stream, member)).or_default() += packets;
        Ok(())
    }

    pub(super) fn packets(&self, stream: StreamId, member: u32) -> u64 {
        self.packets.get(&(stream, member)).copied().unwrap_or_default()
    }

    /// The first wave of a stream that was not delivered.
    pub(super) fn next(&self, stream: StreamId) -> Wave {
        self.next.get(&stream).copied().unwrap_or_default()
    }

    pub(super) fn all_lost(&self) -> &RankSet {
        &self.lost
    }

    /// Every wave has every member of its stream that was never given up and did not die.
    pub(super) fn check_contributors(&self, stream: StreamId, members: &RankSet, died: &RankSet) -> Result<(), Broken> {
        let steady = members.difference(died).difference(&self.lost);
        for (wave, contributors) in self.contributors.get(&stream).into_iter().flatten() {
            if !steady.is_subset(contributors) {
                let missing = steady.difference(contributors);
                return Err(Broken::Missing { stream, wave: *wave, missing });
            }
        }
        Ok(())
    }
}
