//! What a node holds and has seen, for those who watch it.

use super::Node;
use super::ledger::Ledger;
use super::records::{RecordCounters, Records};
use super::stream::NodeStream;
use crate::ids::StreamId;
use crate::message::Packet;
use crate::run::Run;

/// Figures of one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeCounters {
    /// Children.
    pub children: usize,
    /// Bytes of waves that went up and that the front-end has not taken.
    pub kept_bytes: usize,
    /// Bytes of waves that wait for other children, or of records that wait to be taken.
    pub gathered_bytes: usize,
    /// Bytes of packets that someone at or below this node has not taken.
    pub log_bytes: usize,
    /// At the front-end: contributions to waves that were delivered already, once more or too late.
    pub late: u64,
    /// At the front-end, for streams with a timeout: how often a member contributed to a wave that had been delivered
    /// without it.
    pub overdue: u64,
    /// At the front-end: contributions that were refused because some, but not all, of their members were in the wave.
    /// There are none unless a node is broken.
    pub conflicts: u64,
    /// Of streams without waves.
    pub records: RecordCounters,
}

/// Figures of one stream at one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamCounters {
    /// What has passed.
    pub traffic: Traffic,
    /// Bytes of waves that went up and that the front-end has not taken.
    pub kept_bytes: usize,
    /// Bytes of waves that wait for other children, or of records that wait to be taken.
    pub gathered_bytes: usize,
    /// Bytes of packets that someone at or below this node has not taken.
    pub log_bytes: usize,
    /// What the program has not taken: at a member packets, at the front-end runs of waves or of records.
    pub queued: usize,
    /// At a member: records for waves that were over before the records went, or intervals that were over when it had its
    /// records of them together. These are lost.
    pub overdue: u64,
    /// If the stream has no waves.
    pub records: RecordCounters,
}

/// What has passed a node, of one stream, since the stream was opened there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Waves that went up from here, those sent again not counted; or records, if the stream has no waves.
    pub waves_up: u64,
    /// Their bytes.
    pub bytes_up: u64,
    /// Packets that went down from here, counted for each child.
    pub packets_down: u64,
    /// Their bytes.
    pub bytes_down: u64,
    /// How often the program could not send because others were behind.
    pub stalls: u64,
}

impl Traffic {
    pub(super) fn up(&mut self, run: &Run) {
        self.waves_up += u64::from(run.len());
        self.bytes_up += run.bodies.size() as u64;
    }

    pub(super) fn down(&mut self, packet: &Packet) {
        self.packets_down += 1;
        self.bytes_down += packet.size() as u64;
    }
}

impl Node {
    /// The figures of one stream.
    pub fn stream_counters(&self, stream: StreamId) -> Option<StreamCounters> {
        let stream = self.streams.get(&stream)?;
        let records = stream.records.as_ref();
        let waiting = stream.ledger.as_ref().map_or(0, Ledger::waiting) + records.map_or(0, Records::waiting);
        Some(StreamCounters {
            traffic: stream.traffic,
            kept_bytes: stream.kept.bytes(),
            gathered_bytes: stream.gathering.bytes() + records.map_or(0, Records::bytes),
            log_bytes: stream.untaken_bytes(),
            queued: stream.inbox.len() + waiting,
            overdue: stream.overdue,
            records: records.map(|records| records.counters).unwrap_or_default(),
        })
    }

    /// The figures of this moment.
    pub fn counters(&self) -> NodeCounters {
        let start =
            NodeCounters { children: self.degree(), log_bytes: self.control.bytes(), ..NodeCounters::default() };
        self.streams.values().fold(start, |sum, stream| sum.plus(stream))
    }
}

impl NodeCounters {
    fn plus(self, stream: &NodeStream) -> NodeCounters {
        let of_ledger = |figure: fn(&Ledger) -> u64| stream.ledger.as_ref().map_or(0, figure);
        NodeCounters {
            children: self.children,
            kept_bytes: self.kept_bytes + stream.kept.bytes(),
            gathered_bytes: self.gathered_bytes
                + stream.gathering.bytes()
                + stream.records.as_ref().map_or(0, Records::bytes),
            log_bytes: self.log_bytes + stream.untaken_bytes(),
            late: self.late + of_ledger(Ledger::late),
            overdue: self.overdue + of_ledger(Ledger::overdue),
            conflicts: self.conflicts + of_ledger(Ledger::conflicts),
            records: stream.records.as_ref().map_or(self.records, |records| self.records.plus(records.counters)),
        }
    }
}
