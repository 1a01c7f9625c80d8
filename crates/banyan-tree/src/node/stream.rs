//! One stream at one node.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use banyan_boot::RankSet;

use super::counters::Traffic;
use super::gathering::Gathering;
use super::kept::Kept;
use super::ledger::Ledger;
use super::log::Log;
use super::missing_fields::MissingFields;
use super::newcomer::{Predecessor, Standing};
use super::patience::Patience;
use super::records::Records;
use crate::ids::{LinkId, NodeId, WaveNumber};
use crate::message::{Opening, Packet, Succession};
use crate::run::Run;
use crate::transformation::Transformation;

/// A packet that a member has not taken.
pub(super) struct WaitingPacket {
    pub(super) sequence: u64,
    /// How many of the numbers right before it are those of packets for others.
    pub(super) not_for_it: u64,
    pub(super) packet: Packet,
}

pub(super) struct NodeStream {
    pub(super) opening: Arc<Opening>,
    /// What becomes of contributions to waves.
    pub(super) transformation: Box<dyn Transformation>,
    /// What becomes of packets; if nothing, they are passed on as they are.
    pub(super) down: Option<Box<dyn Transformation>>,
    /// At a member: whether it has a filter of its own for what it sends.
    pub(super) filters_own: bool,
    /// On a stream without waves: whether this node has a filter for records.
    pub(super) sifts: bool,

    /// What records lack that its filter wants.
    pub(super) missing_fields: MissingFields,

    /// What has passed.
    pub(super) traffic: Traffic,

    /// What goes down.
    pub(super) log: Log,
    /// At a member: packets it has not taken.
    pub(super) inbox: VecDeque<WaitingPacket>,
    /// At a member: how many packets behind these are not for it.
    pub(super) not_for_it: u64,
    /// At a member: the number behind the last one it has taken, or was told not to expect.
    pub(super) consumed: u64,
    /// What the parent was last told of [`Received`](crate::Message::Received).
    pub(super) reported: u64,
    /// At a member: bytes of what it has taken from there on.
    pub(super) unreported_bytes: usize,
    /// Packets before this one are to be reported as soon as all of them are taken.
    pub(super) received_asked: u64,

    /// What comes up from the children.
    pub(super) gathering: Gathering,
    /// What went up.
    pub(super) kept: Kept,
    /// At a member: the wave of its next packet. Elsewhere: the wave that the parent expects to be combined next.
    pub(super) sent: WaveNumber,
    /// Waves before this one are whole at the front-end.
    pub(super) whole: WaveNumber,
    /// Whether it is known here what the front-end has taken.
    pub(super) knows_acknowledged: bool,
    /// Children that spoke of waves far ahead while that was not known. They are asked again.
    pub(super) doubted: BTreeSet<LinkId>,
    /// Whether the parent waits for this node.
    pub(super) is_participating: bool,
    /// Whether someone below has asked for quick acknowledgement, and got none since.
    pub(super) wants_acknowledgement: bool,
    /// What there is instead of waves, if the stream has none.
    pub(super) records: Option<Records>,
    /// How long waves are waited for, if there is a limit.
    pub(super) patience: Option<Patience>,
    /// The last parts that were combined, and who is in them.
    union: (Vec<Arc<RankSet>>, Arc<RankSet>),

    /// At the front-end.
    pub(super) ledger: Option<Ledger>,
    /// At the front-end, if a filter has a state that is lost with its node: the agents that may have some.
    pub(super) holders: Option<BTreeSet<NodeId>>,
    /// At the front-end: acknowledge each wave.
    pub(super) is_eager: bool,
    /// At the front-end: the first wave that was not taken, and bytes taken since the last acknowledgement.
    pub(super) taken: WaveNumber,
    pub(super) taken_bytes: usize,
    /// At a member: how it stands in the stream.
    pub(super) standing: Standing,
    /// At a member: whether a process before it may have contributed to the waves it contributes to.
    pub(super) predecessor: Predecessor,
    /// At a member: what it had for waves that were over, and was dropped.
    pub(super) overdue: u64,
    /// At a member: the set of itself alone.
    pub(super) own: Option<Arc<RankSet>>,
}

impl NodeStream {
    pub(super) fn new(opening: Arc<Opening>, transformation: Box<dyn Transformation>) -> NodeStream {
        NodeStream {
            opening,
            transformation,
            down: None,
            filters_own: false,
            sifts: false,
            missing_fields: MissingFields::default(),
            traffic: Traffic::default(),
            log: Log::default(),
            inbox: VecDeque::new(),
            not_for_it: 0,
            consumed: 0,
            reported: 0,
            unreported_bytes: 0,
            received_asked: 0,
            gathering: Gathering::default(),
            kept: Kept::default(),
            sent: WaveNumber(0),
            whole: WaveNumber(0),
            knows_acknowledged: false,
            doubted: BTreeSet::new(),
            is_participating: false,
            wants_acknowledgement: false,
            records: None,
            patience: None,
            union: (Vec::new(), Arc::default()),
            ledger: None,
            holders: None,
            is_eager: false,
            taken: WaveNumber(0),
            taken_bytes: 0,
            standing: Standing::Regular,
            predecessor: Predecessor::None,
            overdue: 0,
            own: None,
        }
    }

    /// Who is in these parts. The same parts in one wave after another share one set.
    pub(super) fn union_of(&mut self, parts: &[Run]) -> Arc<RankSet> {
        let (known, union) = &self.union;
        let is_same = known.len() == parts.len()
            && known.iter().zip(parts).all(|(known, part)| Arc::ptr_eq(known, &part.members));
        if is_same {
            return Arc::clone(union);
        }
        let union = match parts {
            [one] => Arc::clone(&one.members),
            _ => Arc::new(parts.iter().fold(RankSet::new(), |all, part| all.union(&part.members))),
        };
        self.union = (parts.iter().map(|part| Arc::clone(&part.members)).collect(), Arc::clone(&union));
        union
    }
}

impl NodeStream {
    /// At a member: whether what it contributes next has to go by itself; given what it has heard of its succession.
    pub(super) fn goes_alone(&mut self, own: Option<&Succession>) -> bool {
        if let (Predecessor::Unknown, Some(own)) = (self.predecessor, own) {
            let free = own.free.iter().find(|(stream, _)| *stream == self.opening.stream);
            // Streams that were opened since were never another's.
            self.predecessor = free.map_or(Predecessor::None, |(_, wave)| Predecessor::Until(*wave));
        }
        match self.predecessor {
            Predecessor::Unknown => true,
            Predecessor::Until(wave) if self.sent < wave => true,
            Predecessor::Until(_) | Predecessor::None => {
                self.predecessor = Predecessor::None;
                false
            }
        }
    }

    /// The parent is told that everything before this packet was taken.
    pub(super) fn report(&mut self, until: u64) {
        (self.reported, self.unreported_bytes) = (until, 0);
    }

    /// Bytes of packets that someone at or below this node has not taken.
    pub(super) fn untaken_bytes(&self) -> usize {
        self.log.bytes() + self.inbox.iter().map(|waiting| waiting.packet.size()).sum::<usize>()
    }

    /// The first wave that is still waited for here.
    pub(super) fn awaited(&self) -> WaveNumber {
        self.ledger.as_ref().map_or(self.gathering.out(), Ledger::next)
    }
}

impl std::fmt::Debug for NodeStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeStream")
            .field("opening", &self.opening)
            .field("gathering", &self.gathering)
            .field("kept", &self.kept.bytes())
            .field("log", &self.log.len())
            .finish_non_exhaustive()
    }
}
