//! What must hold, whatever happens: checked while a simulation runs and at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use banyan_boot::RankSet;

use super::reduction::Reductions;
use super::sum::{HOP_BITS, fails_at_front_end, fails_downwards, lacks_field, number, sifted};
use crate::combiner::Combiners;
use crate::format_book::FormatBook;
use crate::ids::{NodeId, StreamId, WaveNumber};
use crate::node::{Delivery, RecordCounters};
use crate::synchronisation::Synchronisation;

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
        got: WaveNumber,
        /// What should have been.
        expected: WaveNumber,
    },
    /// A wave is not the sum of what its members sent.
    #[error("{stream}, {wave}: the sum of members {members} is not what they sent")]
    Sum {
        /// The stream.
        stream: StreamId,
        /// The wave.
        wave: WaveNumber,
        /// Who is said to be in it.
        members: RankSet,
    },
    /// A member that was never lost is not in a wave.
    #[error("{stream}, {wave}: members {missing} are missing, and were never lost")]
    Missing {
        /// The stream.
        stream: StreamId,
        /// The wave.
        wave: WaveNumber,
        /// Who is missing.
        missing: RankSet,
    },
    /// A record of a stream without waves came twice, was never sent, or is not what was sent.
    #[error("{stream}: record {number} of member {member} came twice, was never sent, or is not what was sent")]
    Record {
        /// The stream.
        stream: StreamId,
        /// Who sent it.
        member: u32,
        /// Its number.
        number: u64,
    },
    /// What was sent is not all accounted for, or more than that.
    #[error("{sent} were sent, and {accounted} are accounted for: {what}")]
    Conservation {
        /// How many were sent.
        sent: u64,
        /// How many came, or were dropped.
        accounted: u64,
        /// Of what.
        what: &'static str,
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
    /// A packet has not passed the filters that it should have, or one was said to have failed that does not.
    #[error("{stream}: packet {packet} came to member {member} by {hops} filters, which cannot be")]
    Filters {
        /// The stream.
        stream: StreamId,
        /// The member.
        member: u32,
        /// The packet.
        packet: u64,
        /// How many filters it has passed.
        hops: u64,
    },
    /// A state was said to be lost that is not, or twice.
    #[error("{stream}: the state of {node} was said to be lost, which it is not, or was said before")]
    StateLost {
        /// The stream.
        stream: StreamId,
        /// The agent.
        node: NodeId,
    },
    /// Members were said to lack a field that they have, or twice; or it was not said although they were in waves.
    #[error(
        "{stream}: records of members {members} lack a field or not, and that was said wrongly, twice or not at all"
    )]
    Fields {
        /// The stream.
        stream: StreamId,
        /// The members.
        members: RankSet,
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
    /// A clock was not within the bounds of what a node thought of it.
    #[error(
        "the clock of node {of} is {ahead} ns ahead of that of node {node}, which thinks that it is {low} to {high}"
    )]
    Clock {
        /// The node.
        node: usize,
        /// Whose clock it is about.
        of: usize,
        /// How far that is ahead.
        ahead: i64,
        /// What the node thinks, at least.
        low: i64,
        /// And at most.
        high: i64,
    },
    /// A node took a clock for one that was set.
    #[error("node {node} thinks that its parent's clock was set")]
    Step {
        /// The node.
        node: usize,
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
    /// A node has more children than its capacity, and than had nobody else.
    #[error("node {node} has {degree} children; with those who asked urgently {allowed} are allowed")]
    Degree {
        /// The node.
        node: usize,
        /// How many children it has.
        degree: usize,
        /// How many it may have.
        allowed: usize,
    },
    /// A node asked urgently before it had asked everyone.
    #[error("node {node} asks urgently to be taken in, and has asked {asked} others, without the front-end")]
    Urgent {
        /// The node.
        node: usize,
        /// How many it has asked.
        asked: usize,
    },
    /// Something else came than what was sent.
    #[error("node {from} sent node {to} {sent}, and there came {came}")]
    Link {
        /// Who sent it.
        from: usize,
        /// Whom it was for.
        to: usize,
        /// What was to come next.
        sent: String,
        /// What came.
        came: String,
    },
    /// What a node sent could not be understood.
    #[error("node {to} does not understand what node {from} sent: {what}")]
    Nonsense {
        /// Who sent it.
        from: usize,
        /// Whom it was for.
        to: usize,
        /// Why not.
        what: String,
    },
    /// Contributions overlapped, which cannot be.
    #[error("{0} contributions were in conflict")]
    Conflicts(u64),
    /// A wave took longer than anyone needs to find out who is gone.
    #[error("{stream}: {wave} has not come {waited:?} after the last fault, or the wave before it: {progress}")]
    Late {
        /// The stream.
        stream: StreamId,
        /// The wave that is next.
        wave: WaveNumber,
        /// How long it was waited for.
        waited: Duration,
        /// Where everyone is.
        progress: String,
    },
    /// Everything stands still.
    #[error("nothing moves any more: {0}")]
    Stuck(String),
}

/// What one member sends as its part of a wave.
pub(super) fn contribution(stream: StreamId, member: u32, wave: WaveNumber) -> u64 {
    let mixed = (u64::from(stream.0) << 48) ^ (u64::from(member) << 24) ^ wave.0;
    crate::node::Chance::new(mixed).next_number()
}

/// The numbers of the records of a process.
fn of_life(life: u32) -> std::ops::Range<u64> {
    WaveNumber::first_record(life).0..WaveNumber::first_record(life + 1).0
}

/// What is known of a stream, by member.
fn of_stream<T>(
    known: &BTreeMap<(StreamId, u32), T>,
    stream: StreamId,
) -> impl Iterator<Item = (&(StreamId, u32), &T)> {
    known.range((stream, 0)..=(stream, u32::MAX))
}

/// Follows what the front-end gets.
#[derive(Debug, Default)]
pub(super) struct Model {
    kinds: BTreeMap<StreamId, Synchronisation>,
    /// Streams whose filter fails now and then.
    failing: BTreeSet<StreamId>,
    /// Streams that are reduced as those of users are.
    reduced: BTreeSet<StreamId>,
    /// Streams without waves whose filters make none or several records of some.
    sifted: BTreeSet<StreamId>,
    reductions: Reductions,
    /// How many filters packets of a stream pass on their way down.
    hops: BTreeMap<StreamId, RangeInclusive<u64>>,
    /// What was said to be lost.
    states_lost: BTreeSet<(StreamId, NodeId)>,
    /// Members that were in waves and whose records lack a field, and those of whom that was said.
    lacking: BTreeMap<StreamId, RankSet>,
    told_lacking: BTreeMap<StreamId, RankSet>,
    /// Members that joined when streams were open: they are not in the first waves, and miss packets.
    joining: RankSet,
    next: BTreeMap<StreamId, WaveNumber>,
    /// Who was in each wave of each stream, or is said to be missing, as runs of waves with the same members.
    contributors: BTreeMap<StreamId, Vec<(WaveNumber, RankSet)>>,
    /// What members contributed to which others do not wait for, or not for all: waves of each.
    contributed: BTreeMap<(StreamId, u32), BTreeSet<u64>>,
    /// Records that came of streams without waves, and of those that lose nothing also those of which filters made nothing.
    records: BTreeMap<(StreamId, u32), BTreeSet<u64>>,
    /// How often members were in waves of streams with a timeout.
    in_time: u64,
    /// Members that were given up at some time.
    lost: RankSet,
    /// The first packet that each member may get.
    packets: BTreeMap<(StreamId, u32), u64>,
    /// Packets that were sent to some members only.
    chosen: BTreeMap<(StreamId, u64), Arc<RankSet>>,
    /// Members that have missed packets where some are for some members: nobody knows which of these were for them.
    unsure: BTreeSet<(StreamId, u32)>,
}

impl Model {
    pub(super) fn opened(
        &mut self,
        stream: StreamId,
        kind: Synchronisation,
        is_failing: bool,
        hops: RangeInclusive<u64>,
    ) {
        self.kinds.insert(stream, kind);
        self.hops.insert(stream, hops);
        self.failing.extend(is_failing.then_some(stream));
    }

    /// The filters that users have.
    pub(super) fn reductions(&self) -> Combiners {
        self.reductions.combiners()
    }

    /// The formats of everything that is sent.
    pub(super) fn formats(&self) -> FormatBook {
        self.reductions.formats()
    }

    pub(super) fn is_reduced_as_users_do(&mut self, stream: StreamId) {
        self.reduced.insert(stream);
    }

    pub(super) fn is_sifted(&mut self, stream: StreamId) {
        self.sifted.insert(stream);
    }

    /// What should come of a record: nothing, some numbers, or that its filter failed in it.
    fn expected_of(&self, stream: StreamId, member: u32, record: WaveNumber) -> Option<Vec<u64>> {
        let number = contribution(stream, member, record);
        let fails = self.failing.contains(&stream) && fails_at_front_end(record);
        let made = if self.sifted.contains(&stream) { sifted(number).collect() } else { vec![number] };
        (!fails).then_some(made)
    }

    fn is_filtered(&self, stream: StreamId, member: u32, record: WaveNumber) -> bool {
        self.expected_of(stream, member, record).is_some_and(|made| made.is_empty())
    }

    /// Of a stream that loses nothing, whose filters may make nothing of a record: the front-end has those of a process that are
    /// before this one.
    pub(super) fn came_until(&mut self, stream: StreamId, member: u32, until: WaveNumber) -> Result<(), Broken> {
        let life = until.life();
        loop {
            let next = WaveNumber(WaveNumber::first_record(life).0 + self.records(stream, member, life));
            if next >= until {
                return Ok(());
            }
            let is_sent = self.contributed.get(&(stream, member)).is_some_and(|sent| sent.contains(&next.0));
            if !is_sent || !self.is_filtered(stream, member, next) {
                return Err(Broken::Record { stream, member, number: next.0 });
            }
            self.records.entry((stream, member)).or_default().insert(next.0);
        }
    }

    pub(super) fn is_reduced(&self, stream: StreamId) -> bool {
        self.reduced.contains(&stream)
    }

    pub(super) fn joins(&mut self, member: u32) {
        self.joining.insert(member);
    }

    /// Members that are not in all waves, and do not get all packets, because they came later.
    pub(super) fn joining(&self) -> &RankSet {
        &self.joining
    }

    /// Another process is this member now.
    pub(super) fn begins_again(&mut self, member: u32) {
        self.joining.insert(member);
        self.packets.retain(|(_, of), _| *of != member);
        self.unsure.retain(|(_, of)| *of != member);
    }

    pub(super) fn kind(&self, stream: StreamId) -> &Synchronisation {
        self.kinds.get(&stream).unwrap_or(&Synchronisation::All)
    }

    /// A member has contributed to a wave, or sent a record.
    pub(super) fn contributed(&mut self, stream: StreamId, member: u32, wave: u64) {
        if *self.kind(stream) != Synchronisation::All {
            self.contributed.entry((stream, member)).or_default().insert(wave);
        }
    }

    pub(super) fn delivered(&mut self, delivery: &Delivery) -> Result<(), Broken> {
        match self.kind(delivery.stream) {
            kind if kind.has_waves() => self.delivered_waves(delivery),
            _ => self.delivered_records(delivery),
        }
    }

    fn delivered_waves(&mut self, delivery: &Delivery) -> Result<(), Broken> {
        let stream = delivery.stream;
        let kind = self.kinds.get(&stream).unwrap_or(&Synchronisation::All);
        let expected = self.next.entry(stream).or_default();
        // Intervals in which nobody has anything are left out, and so are waves to which nobody contributed in time.
        let is_next = match kind {
            Synchronisation::All => delivery.first == *expected,
            _ => delivery.first >= *expected,
        };
        if !is_next {
            return Err(Broken::Order { stream, got: delivery.first, expected: *expected });
        }
        *expected = delivery.first.after(delivery.count);
        let has_contributed = |member, wave: WaveNumber| {
            !matches!(kind, Synchronisation::Interval(_))
                || self.contributed.get(&(stream, member)).is_some_and(|waves| waves.contains(&wave.0))
        };
        for at in 0..delivery.count {
            let wave = delivery.first.after(at);
            let members: RankSet = delivery.members.iter().filter(|member| has_contributed(*member, wave)).collect();
            let numbers = members.iter().map(|member| contribution(stream, member, wave));
            if !self.reduced.contains(&stream) {
                self.lacking.entry(stream).or_default().extend(members.iter().filter(|member| lacks_field(*member)));
            }
            let fails = self.failing.contains(&stream) && fails_at_front_end(wave);
            let is_right = match &delivery.bodies {
                Err(_) => fails,
                Ok(bodies) if self.reduced.contains(&stream) => self.reductions.is_sum(bodies, at, numbers),
                Ok(bodies) => !fails && number(bodies.get(at)) == numbers.fold(0, u64::wrapping_add),
            };
            if !is_right || !delivery.missing.is_disjoint(&delivery.members) {
                return Err(Broken::Sum { stream, wave, members: (*delivery.members).clone() });
            }
        }
        if matches!(kind, Synchronisation::Timeout(_)) {
            self.in_time += delivery.members.len() * u64::from(delivery.count);
        }
        let accounted = delivery.members.union(&delivery.missing);
        let runs = self.contributors.entry(stream).or_default();
        if runs.last().is_none_or(|(_, members)| *members != accounted) {
            runs.push((delivery.first, accounted));
        }
        Ok(())
    }

    fn delivered_records(&mut self, delivery: &Delivery) -> Result<(), Broken> {
        let stream = delivery.stream;
        let Some(member) = delivery.members.only() else {
            let members = (*delivery.members).clone();
            return Err(Broken::Sum { stream, wave: delivery.first, members });
        };
        let mut got: BTreeMap<u64, Option<Vec<u64>>> = BTreeMap::new();
        for body in 0..delivery.body_count() {
            let record = got.entry(delivery.number(body).0).or_insert_with(|| delivery.bodies.is_ok().then(Vec::new));
            if let (Some(numbers), Ok(bodies)) = (record, &delivery.bodies) {
                numbers.push(number(bodies.get(body)));
            }
        }
        for (record, got) in got {
            let wave = WaveNumber(record);
            let is_lossy = *self.kind(stream) == Synchronisation::Lossy;
            if !is_lossy && self.sifted.contains(&stream) {
                self.came_until(stream, member, wave)?;
            }
            let is_sent = self.contributed.get(&(stream, member)).is_some_and(|sent| sent.contains(&record));
            // Where nothing gets lost, the first of its process or the one behind the last that came.
            let is_next = self.is_next(stream, member, wave) || is_lossy;
            let is_new = self.records.entry((stream, member)).or_default().insert(record);
            if !is_sent || !is_new || !is_next || got != self.expected_of(stream, member, wave) {
                return Err(Broken::Record { stream, member, number: record });
            }
        }
        Ok(())
    }

    /// Records of a process of a member that have come.
    pub(super) fn records(&self, stream: StreamId, member: u32, life: u32) -> u64 {
        self.records.get(&(stream, member)).map_or(0, |records| records.range(of_life(life)).count() as u64)
    }

    fn is_next(&self, stream: StreamId, member: u32, number: WaveNumber) -> bool {
        let life = number.life();
        number.0 == WaveNumber::first_record(life).0 + self.records(stream, member, life)
    }

    /// How many records a process of a member has sent.
    pub(super) fn contributions(&self, stream: StreamId, member: u32, life: u32) -> u64 {
        self.contributed.get(&(stream, member)).map_or(0, |numbers| numbers.range(of_life(life)).count() as u64)
    }

    /// How many records of a process were sent of which filters make nothing.
    pub(super) fn filtered(&self, stream: StreamId, member: u32, life: u32) -> u64 {
        let sent = self.contributed.get(&(stream, member)).into_iter().flat_map(|sent| sent.range(of_life(life)));
        sent.filter(|number| self.is_filtered(stream, member, WaveNumber(**number))).count() as u64
    }

    /// How far a stream is, in waves; or in records of each member that has sent some.
    pub(super) fn progress(&self, stream: StreamId) -> u64 {
        let came = || of_stream(&self.records, stream);
        match self.kind(stream) {
            kind if !kind.has_waves() => {
                came().map(|(_, numbers)| numbers.len() as u64).sum::<u64>() / came().count().max(1) as u64
            }
            _ => self.next(stream).0,
        }
    }

    /// Records of a stream without waves: what its nodes have counted together, and how many are known to be neither delivered nor
    /// to come, or are on their way.
    pub(super) fn check_records(&self, stream: StreamId, nodes: &RecordCounters, elsewhere: u64) -> Result<(), Broken> {
        let count = |numbers: &BTreeMap<_, BTreeSet<u64>>| -> u64 {
            of_stream(numbers, stream).map(|(_, numbers)| numbers.len() as u64).sum()
        };
        let is_lossy = *self.kind(stream) == Synchronisation::Lossy;
        let of_nothing = |numbers: &BTreeMap<(StreamId, u32), BTreeSet<u64>>| -> u64 {
            let all = of_stream(numbers, stream)
                .flat_map(|((_, member), numbers)| numbers.iter().map(|number| (*member, *number)));
            all.filter(|(member, number)| self.is_filtered(stream, *member, WaveNumber(*number))).count() as u64
        };
        let (sent, came) = (count(&self.contributed), count(&self.records) - of_nothing(&self.records));
        // Of a stream that loses some nobody knows which of these got lost before a filter saw them.
        let filtered =
            if is_lossy { nodes.filtered.min(of_nothing(&self.contributed)) } else { of_nothing(&self.records) };
        let heard_of = if self.sifted.contains(&stream) { nodes.seen } else { self.heard_of(stream) };
        let elsewhere = if is_lossy { elsewhere } else { sent - came - filtered };
        let figures = [
            (sent, nodes.sent, "records that members say they have sent"),
            (
                sent,
                came + filtered + elsewhere,
                "records that came, were filtered, dropped, went down or are on their way",
            ),
            (came, nodes.delivered, "records that the front-end says have come"),
            (filtered, nodes.filtered, "records that the front-end says were filtered"),
            (heard_of, nodes.seen, "records that the front-end has heard of"),
        ];
        match figures.into_iter().find(|(sent, accounted, _)| accounted != sent) {
            Some((sent, accounted, what)) => Err(Broken::Conservation { sent, accounted, what }),
            None => Ok(()),
        }
    }

    /// Records that were sent by each process up to the last of it that came.
    fn heard_of(&self, stream: StreamId) -> u64 {
        let mut last: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for ((_, member), numbers) in of_stream(&self.records, stream) {
            // They ascend.
            last.extend(numbers.iter().map(|number| ((*member, WaveNumber(*number).life()), *number)));
        }
        last.into_iter().map(|((_, life), last)| last + 1 - WaveNumber::first_record(life).0).sum()
    }

    /// Nobody is in time and too late with the same contribution.
    pub(super) fn check_timeouts(&self, overdue: u64) -> Result<(), Broken> {
        let is_timed = |stream| matches!(self.kind(stream), Synchronisation::Timeout(_));
        let contributed = self.contributed.iter().filter(|((stream, _), _)| is_timed(*stream));
        let sent: u64 = contributed.map(|(_, waves)| waves.len() as u64).sum();
        let accounted = self.in_time + overdue;
        if accounted > sent {
            return Err(Broken::Conservation { sent, accounted, what: "contributions in time or too late" });
        }
        Ok(())
    }

    pub(super) fn lost(&mut self, members: &RankSet) {
        self.lost = self.lost.union(members);
    }

    pub(super) fn is_failing(&self, stream: StreamId) -> bool {
        self.failing.contains(&stream)
    }

    /// The front-end was told that what a filter knew is lost.
    pub(super) fn state_lost(&mut self, stream: StreamId, node: NodeId, is_wrong: bool) -> Result<(), Broken> {
        self.states_lost.insert((stream, node));
        if is_wrong || !self.failing.contains(&stream) {
            return Err(Broken::StateLost { stream, node });
        }
        Ok(())
    }

    /// The front-end was told that records of these members lack a field.
    pub(super) fn fields_missing(&mut self, stream: StreamId, members: RankSet) -> Result<(), Broken> {
        let told = self.told_lacking.entry(stream).or_default();
        if !members.is_disjoint(told) || !members.iter().all(lacks_field) {
            return Err(Broken::Fields { stream, members });
        }
        *told = told.union(&members);
        Ok(())
    }

    /// Of everyone who was in a wave and whose records lack a field the front-end was told that.
    pub(super) fn check_fields(&self) -> Result<(), Broken> {
        for (stream, lacking) in &self.lacking {
            let untold = self.told_lacking.get(stream).map_or_else(|| lacking.clone(), |told| lacking.difference(told));
            if !untold.is_empty() {
                return Err(Broken::Fields { stream: *stream, members: untold });
            }
        }
        Ok(())
    }

    pub(super) fn is_state_lost(&self, stream: StreamId, node: NodeId) -> bool {
        self.states_lost.contains(&(stream, node))
    }

    /// In place of a packet a member has heard that a filter failed in it.
    pub(super) fn failed_packet(&mut self, stream: StreamId, member: u32) -> Result<(), Broken> {
        let mut packet = self.next_packet(stream, member);
        while self.unsure.contains(&(stream, member)) && !fails_downwards(packet) {
            packet += 1;
        }
        if !self.failing.contains(&stream) || !fails_downwards(packet) {
            return Err(Broken::Filters { stream, member, packet, hops: 0 });
        }
        self.packets.insert((stream, member), packet + 1);
        Ok(())
    }

    /// A packet was sent to some members.
    pub(super) fn chosen(&mut self, stream: StreamId, packet: u64, members: Arc<RankSet>) {
        self.chosen.insert((stream, packet), members);
    }

    fn is_for(&self, stream: StreamId, member: u32, packet: u64) -> bool {
        self.chosen.get(&(stream, packet)).is_none_or(|members| members.contains(member))
    }

    /// The packet that a member gets next.
    fn next_packet(&self, stream: StreamId, member: u32) -> u64 {
        let from = self.packets.get(&(stream, member)).copied().unwrap_or_default();
        (from..).find(|packet| self.is_for(stream, member, *packet)).unwrap_or(from)
    }

    /// A member has got a packet: its number, and how many filters it has passed.
    pub(super) fn packet(&mut self, stream: StreamId, member: u32, got: u64) -> Result<(), Broken> {
        let (got, hops) = (got & !HOP_BITS, got >> HOP_BITS.trailing_zeros());
        if self.hops.get(&stream).is_none_or(|allowed| !allowed.contains(&hops)) {
            return Err(Broken::Filters { stream, member, packet: got, hops });
        }
        let expected = self.next_packet(stream, member);
        let may_miss = self.unsure.remove(&(stream, member)) && got > expected && self.is_for(stream, member, got);
        if got != expected && !may_miss {
            return Err(Broken::Packets { member, got, expected });
        }
        self.packets.insert((stream, member), got + 1);
        Ok(())
    }

    pub(super) fn skipped(&mut self, stream: StreamId, member: u32, packets: u64) -> Result<(), Broken> {
        if !self.lost.contains(member) && !self.joining.contains(member) {
            return Err(Broken::Skipped { stream, member, packets });
        }
        *self.packets.entry((stream, member)).or_default() += packets;
        if self.chosen.range((stream, 0)..=(stream, u64::MAX)).next().is_some() {
            self.unsure.insert((stream, member));
        }
        Ok(())
    }

    /// Packets before this one a member has got, or they were not for it.
    pub(super) fn packets(&self, stream: StreamId, member: u32) -> u64 {
        self.next_packet(stream, member)
    }

    /// Whether a member has got all packets of so many that it can get.
    pub(super) fn has_packets(&self, stream: StreamId, member: u32, count: u64) -> bool {
        self.unsure.contains(&(stream, member)) || self.next_packet(stream, member) >= count
    }

    /// The first wave of a stream that was not delivered.
    pub(super) fn next(&self, stream: StreamId) -> WaveNumber {
        self.next.get(&stream).copied().unwrap_or_default()
    }

    pub(super) fn all_lost(&self) -> &RankSet {
        &self.lost
    }

    /// Every wave has every member of its stream that was never given up and did not die.
    pub(super) fn check_contributors(&self, stream: StreamId, members: &RankSet, died: &RankSet) -> Result<(), Broken> {
        let steady = members.difference(died).difference(&self.lost).difference(&self.joining);
        for (wave, contributors) in self.contributors.get(&stream).into_iter().flatten() {
            if !steady.is_subset(contributors) {
                let missing = steady.difference(contributors);
                return Err(Broken::Missing { stream, wave: *wave, missing });
            }
        }
        Ok(())
    }
}
