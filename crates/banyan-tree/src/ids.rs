//! The small numbers by which things of the tree are known.

use std::fmt;
use std::time::Duration;

/// A process of the tree: the front-end, an agent or a member. Ids are given once and never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The front-end.
    pub const ROOT: NodeId = NodeId(0);

    /// Guards have numbers from here on: behind all members.
    pub(crate) const FIRST_GUARD: NodeId = NodeId(1 << 31);

    /// The guard of this agent, which keeps its members when it was killed.
    pub(crate) fn guard(self) -> NodeId {
        NodeId(self.0 | NodeId::FIRST_GUARD.0)
    }

    /// The agent that this is, or is the guard of.
    pub(crate) fn without_guard(self) -> NodeId {
        NodeId(self.0 & !NodeId::FIRST_GUARD.0)
    }
}

/// How far below the root a node was when it first joined. It never changes, and a node is only ever adopted by one of
/// a smaller level: whoever moves wherever, parents cannot form a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(pub u16);

impl Level {
    /// Of nodes that never have children, members above all: anyone may be above them.
    pub const LOWEST: Level = Level(u16::MAX);
}

/// How many questions for a parent a node has asked. Of two reports about one node, the one with the larger epoch is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub u32);

impl Epoch {
    /// Questions that a process has in one life, before those of the next; who needs more is taken for its successor.
    const OF_A_LIFE: u32 = 1 << 16;

    /// Before the first question of a life: that of a member's first process is 0.
    pub(crate) fn before(life: u32) -> Epoch {
        Epoch(life.saturating_mul(Epoch::OF_A_LIFE))
    }

    /// Which of a member's processes has asked.
    pub(crate) fn life(self) -> u32 {
        self.0 / Epoch::OF_A_LIFE
    }
}

/// A link of one node, as its driver and the node call it between themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u64);

/// A stream of one network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

impl StreamId {
    /// What the front-end tells every node: which streams there are.
    pub const CONTROL: StreamId = StreamId(0);
}

/// The number of a wave of a stream: wave k holds the k-th packets of all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct WaveNumber(pub u64);

impl WaveNumber {
    /// The wave so many later.
    pub fn after(self, waves: u32) -> WaveNumber {
        WaveNumber(self.0.saturating_add(u64::from(waves)))
    }

    /// How many waves lie between this one and a later one.
    pub fn until(self, later: WaveNumber) -> u64 {
        later.0.saturating_sub(self.0)
    }
}

/// Records that a process of a member has numbers for on a stream without waves, before those of the next process. Lives
/// have 16 bits, so that all numbers stay below 2⁶³.
const RECORDS_OF_A_LIFE: u64 = 1 << 47;

impl WaveNumber {
    /// On a stream without waves, the number of the first record of a member's process: that of its first process is 0.
    pub(crate) fn first_record(life: u32) -> WaveNumber {
        WaveNumber(u64::from(life).saturating_mul(RECORDS_OF_A_LIFE))
    }

    /// On a stream without waves, which of its member's processes has sent this record.
    pub(crate) fn life(self) -> u32 {
        u32::try_from(self.0 / RECORDS_OF_A_LIFE).unwrap_or(u32::MAX)
    }
}

/// A point in time, on whatever clock the driver has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// This point and so much later.
    pub fn after(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == NodeId::ROOT { f.write_str("the front-end") } else { write!(f, "node {}", self.0) }
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}", self.0)
    }
}

impl fmt::Display for WaveNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wave {}", self.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} s", self.0 / 1_000_000_000, self.0 / 1_000 % 1_000_000)
    }
}
