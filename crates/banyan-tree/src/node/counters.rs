//! What a node holds and has seen, for those who watch it.

use super::Node;
use super::ledger::Ledger;
use super::records::{RecordCounters, Records};
use super::stream::Stream;

/// Figures of one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeCounters {
    /// Children.
    pub children: usize,
    /// Bytes of waves that went up and that the front-end has not taken.
    pub kept_bytes: usize,
    /// Bytes of waves that wait for other children.
    pub gathered_bytes: usize,
    /// Bytes of packets that someone below has not taken.
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

impl Node {
    /// The figures of this moment.
    pub fn counters(&self) -> NodeCounters {
        let start =
            NodeCounters { children: self.degree(), log_bytes: self.control.bytes(), ..NodeCounters::default() };
        self.streams.values().fold(start, |sum, stream| sum.plus(stream))
    }
}

impl NodeCounters {
    fn plus(self, stream: &Stream) -> NodeCounters {
        let of_ledger = |figure: fn(&Ledger) -> u64| stream.ledger.as_ref().map_or(0, figure);
        NodeCounters {
            children: self.children,
            kept_bytes: self.kept_bytes + stream.kept.bytes(),
            gathered_bytes: self.gathered_bytes
                + stream.gathering.bytes()
                + stream.records.as_ref().map_or(0, Records::bytes),
            log_bytes: self.log_bytes + stream.log.bytes(),
            late: self.late + of_ledger(Ledger::late),
            overdue: self.overdue + of_ledger(Ledger::overdue),
            conflicts: self.conflicts + of_ledger(Ledger::conflicts),
            records: stream.records.as_ref().map_or(self.records, |records| self.records.plus(records.counters)),
        }
    }
}
