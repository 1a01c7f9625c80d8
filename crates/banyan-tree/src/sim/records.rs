//! Records of streams without waves in a simulation: where all of them are that were sent, whatever has happened.

use std::collections::BTreeMap;

use super::WINDOW_BYTES;
use super::model::Broken;
use super::network::Sent;
use super::world::World;
use crate::ids::{StreamId, WaveNumber};
use crate::message::Message;
use crate::node::RecordCounters;
use crate::synchronisation::Synchronisation;

impl World<'_, '_> {
    /// Whether the process that is a member now has sent all of its records; and whether they have come, without faults or where
    /// nothing gets lost.
    pub(super) fn has_sent_all(&self, stream: StreamId, member: u32) -> bool {
        let of_member = self.nodes.iter().filter(|node| node.is_alive && node.rank == Some(member));
        let Some(life) = of_member.map(|node| node.life).max() else { return true };
        let is_safe = self.plan.faults.count == 0 && self.plan.window_bytes == WINDOW_BYTES;
        let is_lossless = *self.model.kind(stream) == Synchronisation::None;
        let progress = match is_safe || is_lossless {
            true if is_lossless => self.model.records(stream, member, life),
            true => self.model.records(stream, member, life) + self.model.filtered(stream, member, life),
            false => self.model.contributions(stream, member, life),
        };
        progress >= self.plan.waves
    }

    /// The number of the first contribution of a process to a stream.
    pub(super) fn first_number(&self, stream: StreamId, life: u32) -> WaveNumber {
        match self.model.kind(stream) {
            kind if kind.has_waves() => WaveNumber(0),
            _ => WaveNumber::first_record(life),
        }
    }

    /// These never come.
    pub(super) fn note_lost(&mut self, lost: &[Sent]) {
        for (stream, count) in lost.iter().filter_map(Sent::contributions) {
            if self.is_lossy(stream) {
                *self.lost_records.entry(stream).or_default() += count;
            }
        }
    }

    pub(super) fn note_lost_message(&mut self, message: &Message) {
        self.note_lost(&[Sent::of(message)]);
    }

    fn is_lossy(&self, stream: StreamId) -> bool {
        *self.model.kind(stream) == Synchronisation::Lossy
    }

    fn on_their_way(&self) -> BTreeMap<StreamId, u64> {
        let mut records: BTreeMap<StreamId, u64> = BTreeMap::new();
        let sent = self.wires.iter().flat_map(|wire| wire.sent.iter().flatten());
        for (stream, count) in sent.filter_map(Sent::contributions) {
            if self.is_lossy(stream) {
                *records.entry(stream).or_default() += count;
            }
        }
        records
    }

    /// At the front-end: how far members are of whose last records filters may have made nothing.
    pub(super) fn note_come(&mut self, stream: StreamId) -> Result<(), Broken> {
        let until = self.nodes[0].node.records_until(stream);
        until.into_iter().try_for_each(|(member, until)| self.model.came_until(stream, member, until))
    }

    /// Sent is delivered, filtered, dropped and counted, lost with a wire or a node, or on its way: of every stream without waves
    /// that is open.
    pub(super) fn check_records(&mut self) -> Result<(), Broken> {
        let streams: Vec<StreamId> = self.streams.iter().map(|(stream, _)| *stream).collect();
        self.take_waves(&streams)?;
        let on_their_way = self.on_their_way();
        for stream in streams.into_iter().filter(|stream| !self.model.kind(*stream).has_waves()) {
            let nodes = self.nodes.iter().map(|inhabitant| &inhabitant.node).chain(&self.past);
            let counters = nodes.filter_map(|node| node.stream_counters(stream)).map(|counters| counters.records);
            let counters = counters.fold(RecordCounters::default(), RecordCounters::plus);
            let dropped = counters.without_parent + counters.without_room + counters.without_stream;
            let of = |known: &BTreeMap<StreamId, u64>| known.get(&stream).copied().unwrap_or_default();
            let elsewhere = dropped + of(&self.lost_records) + of(&on_their_way);
            self.model.check_records(stream, &counters, elsewhere)?;
        }
        Ok(())
    }
}
