//! What can go wrong for those who use a network.

use banyan_boot::{ExitState, JoinError, LaunchError, RankSet, SessionError, cause};
use banyan_ndr::{DecodeError, EncodeError, FormatId};
use banyan_reduce::AlignmentError;

use crate::format_book::FormatRefused;
use crate::ids::{NodeId, StreamId, WaveNumber};
use crate::transformation::TransformationError;
use banyan_topology::TopologyError;

/// The last words of a process, if there are any.
fn last(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(" (its last words: {words:?})") }
}

/// Nodes, and the verb behind them.
fn are(nodes: &[NodeId]) -> String {
    let names: Vec<String> = nodes.iter().map(NodeId::to_string).collect();
    format!("{} {}", names.join(", "), if nodes.len() == 1 { "is" } else { "are" })
}

/// Why a caller does not get what it asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The processes could not be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// There is no such tree.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// Shape and processes do not fit together.
    #[error("{0}")]
    Shape(String),
    /// Some members never became part of the tree.
    #[error(
        "members {missing} did not join the network within {seconds} s; does their program call BackEnd::join, and does \
         it still run?"
    )]
    NotJoined {
        /// Who.
        missing: RankSet,
        /// The time they had.
        seconds: f64,
    },
    /// A member ended before it was part of the tree.
    #[error("member {rank} on {host} {state} before it joined the network{}; does its program call BackEnd::join?", last(.words))]
    EndedEarly {
        /// The member.
        rank: u32,
        /// Its host.
        host: String,
        /// How it ended.
        state: ExitState,
        /// The last line that it wrote to its standard error, if any.
        words: String,
    },
    /// The agent of a member has closed its link before it was part of the tree.
    #[error("member {rank} on {host} was not let into the network: {cause}")]
    SentAway {
        /// The member.
        rank: u32,
        /// Its host.
        host: String,
        /// Why.
        cause: String,
    },
    /// This process is no member.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// The agent does not invite this process as agents do.
    #[error("the agent did not invite this process into its network: {0}")]
    Invitation(String),
    /// Only members that are lost can be replaced.
    #[error(
        "member {rank} of {size} is there, may come back, or there is none; invite another process once Report::Lost has \
         named it"
    )]
    NotLost {
        /// The member.
        rank: u32,
        /// How many members the network was made with.
        size: u32,
    },
    /// The session has a problem.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The network is over: the front-end has closed it, or has gone.
    #[error("the network has ended")]
    Ended,
    /// Nobody is left to talk to, and nobody is expected.
    #[error(
        "all members ({members}) are lost, so nothing can be sent to them and nothing will come; Report::Lost names each of \
         them, and Network::invitation lets another process take a place"
    )]
    NobodyLeft {
        /// Who was there.
        members: RankSet,
    },
    /// Another process is this member now.
    #[error(
        "this process was given up as member {rank}, and another has taken its place; it has no part in the network"
    )]
    Succeeded {
        /// The member.
        rank: u32,
    },
    /// The deadline has passed.
    #[error("nothing came before the deadline")]
    TimedOut,
    /// Some are too far behind for more to be sent before the deadline.
    #[error("more cannot be sent before the deadline: {} too far behind (members {members})", are(.nodes))]
    Behind {
        /// Who has not taken what was sent, or has someone below that has not: children of the front-end, and nodes that have lost
        /// their parent. Agents have the numbers of [`Session::layout`](banyan_boot::Session::layout), from 1 on.
        nodes: Vec<NodeId>,
        /// The members at and below those that are children of the front-end.
        members: RankSet,
    },
    /// The front-end is too far behind for a member to send more before the deadline.
    #[error(
        "more cannot be sent before the deadline: the front-end has not taken {records} records ({bytes} bytes) that this member \
         has sent on {stream}"
    )]
    FrontEndBehind {
        /// The stream.
        stream: StreamId,
        /// Records of this member, or its waves, that are on their way.
        records: u64,
        /// Their bytes.
        bytes: usize,
    },
    /// There is no such stream, or this process has no part in it.
    #[error("{0} is not open here, or this process is not one of its members")]
    NoStream(StreamId),
    /// There are no times on this stream.
    #[error("waves of {0} are not intervals; open it with .synchronised(\"interval FIELD LENGTH\".parse()?)")]
    NoIntervals(StreamId),
    /// A record is longer than a network carries.
    #[error("{bytes} bytes are more than the {limit} that a network carries at once; send them in parts")]
    TooLong {
        /// Bytes of the record, or of all records of a scatter.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// A scatter needs a record for each member.
    #[error("the stream has {members} members, and {parts} records are to be scattered; give one for each, by rank")]
    Parts {
        /// Members of the stream.
        members: u64,
        /// Records that were given.
        parts: u32,
    },
    /// A record was to be sent to others than members of a stream.
    #[error("members {others} are not in {stream}; Stream::members has those that are")]
    NotMembers {
        /// The stream.
        stream: StreamId,
        /// Who is not a member of it.
        others: RankSet,
    },
    /// The stream cannot be opened.
    #[error("the stream cannot be opened: {0}")]
    Open(String),
    /// Contributions to a wave could not be combined.
    #[error("{wave} of {stream} could not be combined: {cause}")]
    Uncombined {
        /// The stream.
        stream: StreamId,
        /// The wave; it counts as received.
        wave: WaveNumber,
        /// Why.
        cause: String,
    },
    /// A filter could make nothing of a record on its way down.
    #[error("{stream}: a record with tag {tag} did not pass its filters on the way down: {cause}")]
    Unfiltered {
        /// The stream.
        stream: StreamId,
        /// The record's tag.
        tag: u32,
        /// Why.
        cause: String,
    },
    /// A record cannot be sent.
    #[error("the record cannot be encoded: {0}")]
    Encode(#[from] EncodeError),
    /// A body that was to be sent is not a record of its format.
    #[error("the body is not a record of its format, so it was not sent: {0}")]
    Body(#[source] DecodeError),
    /// What came is not the record that was expected.
    #[error("what came is not the record that was expected: {0}")]
    Decode(#[from] DecodeError),
    /// Nobody has described a format.
    #[error("a record came whose format {0} nobody has described; use one release for the whole network")]
    UnknownFormat(FormatId),
    /// A record belongs to no interval of its stream.
    #[error(transparent)]
    Alignment(#[from] AlignmentError),
    /// Records of this format cannot be sent: there are too many formats, or it is too long.
    #[error(transparent)]
    Format(#[from] FormatRefused),
    /// A member wants to send records of more formats than one member may.
    #[error(
        "member {rank} would send records of more than {most} formats, or of formats described in more than 16 MiB, the most for one member; send records of fewer formats"
    )]
    Formats {
        /// The member.
        rank: u32,
        /// How many formats it may send.
        most: usize,
    },
    /// The system refused.
    #[error("the system refused: {}", cause(.0))]
    System(#[from] std::io::Error),
}

#[cold]
pub(crate) fn unfiltered(stream: StreamId, tag: u32, error: TransformationError) -> TreeError {
    TreeError::Unfiltered { stream, tag, cause: error.0 }
}
