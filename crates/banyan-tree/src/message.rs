//! What nodes tell each other. Links keep the order of what is sent on them, and lose nothing until they end.

use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_ndr::FormatId;
use banyan_reduce::Bodies;
use bytes::Bytes;

use crate::clocks::{ClockAnswer, ClockId, NodeClock};
use crate::ids::{Epoch, Level, NodeId, StreamId, WaveNumber};
use crate::node::Figures;
use crate::run::Run;
use crate::stream_options::{Direction, StreamOptions};

/// A message between a node and its parent.
#[derive(Debug, Clone)]
pub enum Message {
    /// Upwards, first on a link: take me as your child.
    Attach(Attach),
    /// Downwards: you are my child; the ancestry is yours.
    Welcome(Ancestry),
    /// Downwards: not here; try these instead.
    Refuse(Vec<Candidate>),
    /// Downwards: your ancestry has changed.
    Ancestry(Ancestry),
    /// Downwards: another process is this member now. It comes before everything that the front-end said after.
    Succeeded(Arc<Succession>),

    /// Upwards: a node is below me now.
    Placed {
        /// The node first, then all below it, each after its parent.
        places: Vec<NodeInfo>,
        /// What it has of the streams.
        resumes: Vec<Resume>,
        /// Whether the first of them has never had a parent: what was sent before is over for it.
        is_new: bool,
    },
    /// Upwards: this node is not below me any more.
    Gone(Gone),

    /// Upwards: the processes of these members have ended, wherever they were in the tree.
    Ended {
        /// The agent that started them, or its guard.
        node: NodeId,
        /// The members.
        members: Arc<RankSet>,
    },

    /// Upwards: contributions to waves.
    Run(Run),
    /// Upwards: wait for me from this wave on; of earlier waves I send nothing that could be combined.
    Participate {
        /// The stream.
        stream: StreamId,
        /// The wave.
        next: WaveNumber,
    },
    /// Upwards: do not wait for me.
    Withdraw(StreamId),
    /// Downwards: I have only now heard of this stream; send again what the front-end has not taken.
    Again(StreamId),
    /// Upwards: my window is full; acknowledge each wave.
    WantAcknowledgement(StreamId),
    /// Downwards: answer with [`Received`](Message::Received) when you have taken the packets that have come.
    WantReceipt(StreamId),
    /// Downwards: the front-end has taken all waves before this one.
    Acknowledge {
        /// The stream.
        stream: StreamId,
        /// The first wave it has not taken.
        until: WaveNumber,
    },

    /// Downwards: waves before this one are whole, or have begun without you, though the front-end may not have taken them:
    /// whoever has not contributed to them begins here.
    Begin {
        /// The stream.
        stream: StreamId,
        /// The wave to begin with.
        next: WaveNumber,
    },

    /// Downwards: I have taken so many bytes of records that do not wait for others.
    Taken {
        /// The stream.
        stream: StreamId,
        /// Bytes since I last said so.
        bytes: u64,
    },

    /// Downwards: the front-end's program has taken the records of these members before these numbers.
    Confirm {
        /// The stream, which has no waves and loses nothing.
        stream: StreamId,
        /// For each member the first record that was not taken.
        until: Vec<(u32, WaveNumber)>,
    },

    /// Downwards: a packet of a stream.
    Packet {
        /// The stream.
        stream: StreamId,
        /// Its number there.
        sequence: u64,
        /// What it is.
        packet: Packet,
    },
    /// Downwards: this stream is open. When all were listed, a packet of the control stream is
    /// [`Skipped`](Message::Skipped) to.
    Listed(Arc<Opening>),
    /// Upwards: all members below me have taken the packets before this one.
    Received {
        /// The stream.
        stream: StreamId,
        /// The first packet that someone has not taken.
        until: u64,
    },
    /// Downwards: every node is to say what it has done; the number of the question.
    Count(u32),
    /// Upwards: what a node has done.
    Counted {
        /// The number of the question.
        question: u32,
        /// The node.
        node: NodeId,
        /// Its answer.
        figures: Box<Figures>,
    },
    /// Upwards: what time is it? The drivers at both ends speak of it; no [`Node`](crate::Node) takes it.
    ClockAsked {
        /// The number of the question, from 1.
        question: u32,
        /// The clock that the child reads.
        clock: ClockId,
    },
    /// Downwards: the time, and the front-end's clock. As before, for the driver.
    ClockTold(Box<ClockAnswer>),
    /// Downwards: every node is to say what it knows of clocks; the number of the question.
    CountClocks(u32),
    /// Upwards: what a node knows of clocks.
    ClockCounted {
        /// The number of the question.
        question: u32,
        /// The node.
        node: NodeId,
        /// Its answer.
        clock: Box<NodeClock>,
    },
    /// Upwards: at this agent a filter of a stream failed.
    Uncombined {
        /// The agent.
        node: NodeId,
        /// The stream.
        stream: StreamId,
        /// Which of its filters.
        direction: Direction,
        /// The first wave, or packet.
        wave: WaveNumber,
        /// Why.
        cause: Arc<str>,
    },
    /// Upwards, before the run that brings such records: records of these members lack a field that the stream's filter wants.
    FieldMissing {
        /// The stream.
        stream: StreamId,
        /// The field, and what it is wanted for.
        field: Arc<str>,
        /// Whose records.
        members: Arc<RankSet>,
    },
    /// Upwards: this agent has closed the link of a child that broke the rules.
    Violated {
        /// The agent.
        node: NodeId,
        /// The child.
        child: NodeId,
        /// What it did.
        cause: Arc<str>,
    },
    /// Downwards: those of these members who have not contributed to this wave, which others have, are not waited for any more.
    Overdue {
        /// The stream.
        stream: StreamId,
        /// The wave.
        wave: WaveNumber,
        /// Who is missing at the front-end: some of them may have contributed, and wait below for the others.
        members: Arc<RankSet>,
    },
    /// Downwards: others have contributed to this wave, which waits; look whether members that have not are stopped.
    Examine {
        /// The stream.
        stream: StreamId,
        /// The wave.
        wave: WaveNumber,
    },
    /// Upwards: send me the packets from this one on.
    Resend {
        /// The stream.
        stream: StreamId,
        /// The first packet.
        from: u64,
    },
    /// Downwards: packets between these are for nobody below you, as far as I have heard who that is.
    Gap {
        /// The stream.
        stream: StreamId,
        /// The first of them.
        from: u64,
        /// The first behind them.
        until: u64,
    },
    /// Downwards: in what I leave out from now on I know of so many [`Placed`](Message::Placed) that you have sent on this link.
    JoinsHeard(u32),
    /// Downwards: packets before this one are no longer to be had. Of the control stream: the streams that were listed are
    /// those that came of them.
    Skipped {
        /// The stream.
        stream: StreamId,
        /// The first packet that is there.
        until: u64,
    },
}

/// A node that asks to be taken as a child.
#[derive(Debug, Clone)]
pub struct Attach {
    /// Itself; whoever takes it is its parent.
    pub place: NodeInfo,
    /// Whether everyone refused already: take it although you are full.
    pub is_urgent: bool,
    /// Whether it is a member that has never had a parent: what was sent before is over for it.
    pub is_new: bool,
    /// Who is below it, each after its parent.
    pub below: Vec<NodeInfo>,
    /// What it has of the streams it knows.
    pub resumes: Vec<Resume>,
}

/// Where a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeInfo {
    /// The node.
    pub node: NodeId,
    /// Its parent.
    pub parent: NodeId,
    /// How often it has looked for one.
    pub epoch: Epoch,
    /// Its level.
    pub level: Level,
    /// Its rank, if it is a member.
    pub rank: Option<u32>,
}

/// How far a node and all below it have got with what comes down a stream.
///
/// In place of a number there may be [`NOW`](Resume::NOW).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume {
    /// The stream.
    pub stream: StreamId,
    /// The packet that the node needs next.
    pub next: u64,
    /// The first packet that someone at or below it has not taken.
    pub received: u64,
}

impl Resume {
    /// The packet that is next wherever this is heard: of a member that has just come, and needs none before.
    pub const NOW: u64 = u64::MAX >> 1;

    /// A member that has just come.
    pub(crate) fn now(stream: StreamId) -> Resume {
        Resume { stream, next: Resume::NOW, received: Resume::NOW }
    }
}

/// A node that has lost its parent, or its life.
#[derive(Debug, Clone)]
pub struct Gone {
    /// The node.
    pub node: NodeId,
    /// The epoch in which it was there.
    pub epoch: Epoch,
    /// Whether it is known to have ended, or was given up, so that nobody needs to wait for it to come back.
    pub is_certain: bool,
    /// How far those below it had got at least.
    pub resumes: Vec<Resume>,
}

/// Another process has taken a member's place: those before it are not that member any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Succession {
    /// The member.
    pub member: NodeId,
    /// Which of its processes it is now: 0 was the first.
    pub life: u32,
    /// For each of its streams that was open then, the first wave that no process before it can contribute to.
    pub free: Vec<(StreamId, WaveNumber)>,
}

/// A node that may become someone's parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The node.
    pub node: NodeId,
    /// Its level.
    pub level: Level,
}

/// The ancestors of a node, nearest first, each with some of its other children.
pub type Ancestry = Arc<[Ancestor]>;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestor {
    /// The ancestor.
    pub itself: Candidate,
    /// Some of its children that could be parents.
    pub children: Vec<Candidate>,
}

/// What comes down a stream.
#[derive(Debug, Clone)]
pub enum Packet {
    /// On the control stream: there is a new stream.
    Open(Arc<Opening>),
    /// On the control stream: this stream has ended.
    Close(StreamId),
    /// On the control stream: the network has ended.
    Over,
    /// On any other: a record for its members.
    Record {
        /// The caller's tag.
        tag: u32,
        /// The record's format.
        format: FormatId,
        /// Its body.
        body: Bytes,
        /// Whether a node above has made it, of what the front-end sent.
        is_partial: bool,
    },
    /// On any other: in place of a record that a node above could make nothing of.
    Failed {
        /// The caller's tag.
        tag: u32,
        /// Why.
        cause: Arc<str>,
    },
    /// On any other: a record for some of its members, of which a node gets those below it.
    Chosen(Arc<Chosen>),
    /// On any other: a record for each of its members, of which a node gets those for the members below it.
    Scatter(Arc<Scatter>),
}

/// A record for some members of a stream.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// Whom it is for; of these, those below the node that has it.
    pub members: Arc<RankSet>,
    /// A [`Packet::Record`], or [`Packet::Failed`].
    pub content: Packet,
}

/// A record for each of some members.
#[derive(Debug, Clone)]
pub struct Scatter {
    /// The caller's tag.
    pub tag: u32,
    /// Whose records these are.
    pub members: Arc<RankSet>,
    /// One for each of them, in the order of ranks.
    pub bodies: Bodies,
    /// Whether a node above has made them, of what the front-end sent.
    pub is_partial: bool,
}

impl Packet {
    /// What those get whom it is for.
    pub fn content(&self) -> &Packet {
        match self {
            Packet::Chosen(chosen) => &chosen.content,
            packet => packet,
        }
    }

    /// Bytes it keeps in memory, about.
    pub fn size(&self) -> usize {
        match self {
            Packet::Record { body, .. } => body.len() + size_of::<Packet>(),
            Packet::Scatter(scatter) => scatter.bodies.size() + size_of::<Packet>() + size_of::<Scatter>(),
            Packet::Failed { cause, .. } => cause.len() + size_of::<Packet>(),
            Packet::Chosen(chosen) => chosen.content.size() + size_of::<Chosen>(),
            Packet::Open(_) | Packet::Close(_) | Packet::Over => size_of::<Packet>(),
        }
    }
}

/// A stream, as everyone is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Its number.
    pub stream: StreamId,
    /// Its members.
    pub members: Arc<RankSet>,
    /// What nodes do with its records, in the words of whoever makes transformations, and whom its waves wait for.
    pub options: StreamOptions,
}
