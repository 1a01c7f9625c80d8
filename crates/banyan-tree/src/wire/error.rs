//! Why a frame is no message. The link it came on is of no use any more: what was to be remembered is unknown.

use banyan_boot::RankSetError;
use banyan_reduce::BadBodies;

/// Why a frame is not a message of the tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    /// A kind that nobody knows.
    #[error("a frame of kind {0} is not a message of the tree; the sender is of another version, or broken")]
    Kind(u8),
    /// A flag, number or format in the header that the message does not have, or one that is missing.
    #[error("{message}: the header's {part} is wrong; the sender is of another version, or broken")]
    Header {
        /// The message.
        message: &'static str,
        /// What is wrong.
        part: &'static str,
    },
    /// The payload ends within something.
    #[error("{message}: the payload ends within {part}, at offset {at}; the sender's message was cut")]
    Cut {
        /// The message.
        message: &'static str,
        /// What is not whole.
        part: &'static str,
        /// Where.
        at: usize,
    },
    /// The payload goes on behind the message.
    #[error("{message}: {bytes} bytes follow behind its end; the sender is of another version, or broken")]
    Rest {
        /// The message.
        message: &'static str,
        /// How many.
        bytes: usize,
    },
    /// Something in the payload has a value that it cannot have.
    #[error("{message}: {part} is {value}, which cannot be; the sender is broken")]
    Value {
        /// The message.
        message: &'static str,
        /// What.
        part: &'static str,
        /// The value.
        value: u64,
    },
    /// Something in the payload is not what it should be.
    #[error("{message}: {part} at offset {at} cannot be read; the sender is broken")]
    Malformed {
        /// The message.
        message: &'static str,
        /// What.
        part: &'static str,
        /// Where.
        at: usize,
    },
    /// A number that stands for no set of members here.
    #[error("{message}: member set {number} was never sent, or too long ago; the sender is broken")]
    UnknownSet {
        /// The message.
        message: &'static str,
        /// The number.
        number: u32,
    },
    /// A set of members that cannot be read.
    #[error("a set of members cannot be read")]
    Set(#[from] RankSetError),
    /// Bodies and their lengths do not agree.
    #[error("a run cannot be read")]
    Bodies(#[from] BadBodies),
    /// A message came between the parts of another.
    #[error("{message}: another part of it was to come, but {other} came; the sender is broken")]
    Interrupted {
        /// The message of which a part is missing.
        message: &'static str,
        /// What came.
        other: &'static str,
    },
    /// Bodies that no message announced.
    #[error("bodies came that no message has announced; the sender is broken")]
    Unannounced,
    /// The pieces of a message add up to too much.
    #[error("{message}: it is longer than {limit} bytes; send less at a time")]
    TooLong {
        /// The message.
        message: &'static str,
        /// What is allowed.
        limit: usize,
    },
}
