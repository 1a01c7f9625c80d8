//! Why a link is lost.

use std::io;

use banyan_ndr::{DecodeError, EncodeError, FormatId};

use crate::protocol::OtherProtocol;

/// Why a link ended without a goodbye. Every later frame is lost with it; what arrived before was delivered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The system refused.
    #[error("{doing} failed: {message}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What kind of failure it is.
        kind: io::ErrorKind,
        /// The system's words.
        message: String,
    },
    /// The peer's end was closed, or the peer died, without a goodbye.
    #[error("the peer is gone: the connection ended without a goodbye{}", if *.in_frame { ", in the middle of a frame" } else { "" })]
    Ended {
        /// Whether a part of a frame had arrived.
        in_frame: bool,
    },
    /// Nothing came for too long: the peer is stopped, its host is down or the way to it is cut.
    #[error("nothing was heard from the peer for {} ms", .0.as_millis())]
    Silent(std::time::Duration),
    /// The link did not open.
    #[error("the link did not open: {0}")]
    Opening(#[from] OpeningError),
    /// The peer broke the protocol.
    #[error("the peer was cut off: {0}")]
    Protocol(#[from] ProtocolError),
    /// The caller sent a payload that is longer than the two sides agreed on.
    #[error(
        "a payload of {length} bytes is longer than {limit} (LinkOptions::max_payload); send it in pieces, or agree on more"
    )]
    TooLong {
        /// Its bytes.
        length: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// More frames are queued than the peer takes, and the caller does not stop.
    #[error("{queued} bytes are queued for a peer that does not take them; the bound is {bound}")]
    Overfull {
        /// Bytes queued.
        queued: usize,
        /// Bytes allowed.
        bound: usize,
    },
}

impl LinkError {
    /// The other side's protocol, if that is what the link was lost for.
    pub fn other_protocol(&self) -> Option<OtherProtocol> {
        match self {
            LinkError::Opening(OpeningError::Version(other)) | LinkError::Protocol(ProtocolError::Version(other)) => {
                Some(*other)
            }
            _ => None,
        }
    }

    pub(crate) fn system(doing: &'static str, error: impl Into<io::Error>) -> LinkError {
        let error: io::Error = error.into();
        LinkError::System { doing, kind: error.kind(), message: error.to_string() }
    }
}

/// Why a link did not open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpeningError {
    /// What listens there is no Banyan process.
    #[error("what answered is not a banyan process (its first bytes are not ours)")]
    NotBanyan,
    /// The peer speaks another protocol.
    #[error(transparent)]
    Version(#[from] OtherProtocol),
    /// The peer could not prove that it knows the secret, or refused ours.
    #[error("the peer does not know the secret of this session")]
    Secret,
    /// The peer closed the connection during the opening.
    #[error(
        "the peer closed the connection during the opening: it does not know this session, peer or secret, or this peer is connected already"
    )]
    Refused,
    /// The system or the cryptography failed.
    #[error("the handshake cannot be made: {0}")]
    Cryptography(String),
    /// It took too long.
    #[error("the opening did not end within {} ms", .0.as_millis())]
    TooSlow(std::time::Duration),
}

/// How a peer broke the protocol.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// Bits that must be zero are not.
    #[error("a frame of kind {kind} has reserved bits set")]
    Reserved {
        /// The frame's kind.
        kind: u8,
    },
    /// A kind that this version of the link does not know.
    #[error("{0} is not a kind of frame that a link of this version knows")]
    UnknownKind(u8),
    /// The first frame is no hello, or a later one is.
    #[error("a frame of kind {0} came where {expected} should", expected = if *.0 == 1 { "no second hello" } else { "the hello" })]
    Hello(u8),
    /// The peer speaks another protocol.
    #[error(transparent)]
    Version(#[from] OtherProtocol),
    /// Peers take payloads of different lengths.
    #[error("the peer takes payloads of {theirs} bytes, this side sends up to {ours}; give both the same options")]
    MaxPayload {
        /// This side's.
        ours: u32,
        /// The peer's.
        theirs: u32,
    },
    /// A window too small to work with.
    #[error("the peer grants a window of {0} bytes, less than every link must")]
    Window(u64),
    /// A payload longer than allowed.
    #[error("a payload of {length} bytes was announced; the limit is {limit}")]
    TooLong {
        /// Bytes announced.
        length: u32,
        /// Bytes allowed.
        limit: u32,
    },
    /// A frame of the link itself that is not as long as its kind is.
    #[error("a frame of kind {kind} has {length} bytes")]
    Length {
        /// The frame's kind.
        kind: u8,
        /// Its length.
        length: u32,
    },
    /// More data than was granted.
    #[error("{received} bytes of data came, {granted} were granted")]
    Overrun {
        /// Bytes received since the link opened.
        received: u64,
        /// Bytes granted since the link opened.
        granted: u64,
    },
    /// A grant smaller than one before.
    #[error("the credit went back from {before} to {now}")]
    Credit {
        /// The grant before.
        before: u64,
        /// The grant now.
        now: u64,
    },
    /// A format that is no valid description, or not the one its id names.
    #[error("a format cannot be learnt: {0}")]
    Format(#[from] DecodeError),
    /// A description that does not have the id it was sent with.
    #[error("a format was sent as {claimed}, but its id is {actual}")]
    FormatId {
        /// The id in the header.
        claimed: String,
        /// The id of the description.
        actual: FormatId,
    },
    /// More descriptions than allowed.
    #[error(
        "the peer sends more than {0} formats, or descriptions of more than 1 KiB for each of these (4 MiB at least)"
    )]
    TooManyFormats(usize),
    /// A piece of a description that is not the last, and not as long as all of these are.
    #[error("a piece of a format's description has {length} bytes; all but the last have {expected}")]
    DescriptionPiece {
        /// Bytes of the piece.
        length: usize,
        /// Bytes of the longest payload, which it should have.
        expected: usize,
    },
    /// A description began before the last piece of another one came.
    #[error("a description of format {other} began before that of {unfinished} was complete")]
    Interleaved {
        /// The format of which pieces are missing.
        unfinished: String,
        /// The one that came instead.
        other: String,
    },
    /// A description in pieces that is longer than descriptions may be.
    #[error("a format's description has {length} bytes at least; the limit is {limit}")]
    LongDescription {
        /// Bytes with those of the last piece that came.
        length: usize,
        /// Bytes allowed: [`LONGEST_DESCRIPTION`](crate::LONGEST_DESCRIPTION).
        limit: usize,
    },
    /// A record of a format that was not described before.
    #[error("a record of format {0} came before its description")]
    UnknownFormat(FormatId),
    /// The peer is no longer the one that opened the link.
    #[error("the peer is of incarnation {now} and was of {before}: it was started anew")]
    Incarnation {
        /// The one that said hello.
        before: u64,
        /// The one that is there now.
        now: u64,
    },
    /// A pool of memory that was not to be offered, or is none.
    #[error("the peer's pool of memory cannot be used: {0}")]
    Pool(&'static str),
    /// A payload that is said to lie where none can.
    #[error("a payload of {length} bytes is said to lie at {at} of the peer's pool, where none can")]
    PoolSpan {
        /// Where it is said to lie.
        at: u64,
        /// Bytes of it.
        length: u32,
    },
    /// A payload that its sender did not keep until it was taken: it was done with the link.
    #[error("a payload in the peer's pool was overwritten before it was taken")]
    Overwritten,
    /// Other payloads were taken from the pool than were there.
    #[error("the peer says that it took {taken} payloads from the pool; {sent} were sent")]
    Taken {
        /// How many it says it has taken since the link opened.
        taken: u64,
        /// How many it was told of.
        sent: u64,
    },
    /// A message that was changed, repeated or left out on its way.
    #[error("an encrypted message is not authentic")]
    Forged,
}

/// Why a record could not be sent. The link is as it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The record cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The record is longer than a frame may be.
    #[error("a record of {length} bytes does not fit a frame of at most {limit} (LinkOptions::max_payload)")]
    TooLong {
        /// Bytes of the record.
        length: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// The description of the record's format is longer than any link carries.
    #[error(
        "the description of a format has {length} bytes; a link carries at most {limit}; use fewer or shorter names"
    )]
    LongDescription {
        /// Bytes of the description.
        length: usize,
        /// Bytes allowed: [`LONGEST_DESCRIPTION`](crate::LONGEST_DESCRIPTION).
        limit: usize,
    },
    /// More formats than the peer will learn, or longer descriptions.
    #[error(
        "more than {0} formats on one link (LinkOptions::formats), or descriptions of more than 1 KiB for each of these (4 MiB at least)"
    )]
    TooManyFormats(usize),
    /// A frame of a format that the link it came from has not learnt.
    #[error("the format {0} is unknown on the link that the frame came from")]
    UnknownFormat(FormatId),
}
