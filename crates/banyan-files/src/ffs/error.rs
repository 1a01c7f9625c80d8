//! What can go wrong with a foreign file, and where.

use super::ForeignId;
use banyan_ndr::{DecodeError, FormatError};

/// Damage in an FFS file or stream.
#[derive(Debug, thiserror::Error)]
#[error("FFS data at byte {offset}: {kind}")]
pub struct Error {
    /// Where the block begins that is damaged, counted from the start of the file.
    pub offset: u64,
    /// What is wrong with it.
    pub kind: ErrorKind,
}

/// Kinds of damage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It begins like nothing FFS writes.
    #[error("this is not an FFS file: it begins neither with 43 56 ff a9 nor with a format description")]
    NotFfs,
    /// It ends in the middle of something.
    #[error("the file ends in the middle of {0}")]
    Truncated(&'static str),
    /// A block of no known kind. What follows cannot be found.
    #[error("{0} is not a known kind of block; the rest of the file cannot be read")]
    Block(u8),
    /// A limit is exceeded.
    #[error("{what}: {found} is more than the limit of {limit} (Limits::{name})")]
    Limit {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        found: u64,
        /// How large it may be.
        limit: u64,
        /// The field of [`Limits`](banyan_ndr::Limits).
        name: &'static str,
    },
    /// A format description that makes no sense.
    #[error("format description: {0}")]
    Description(String),
    /// A format description that asks for what Banyan's formats do not have.
    #[error("format description: {0}")]
    Format(#[from] FormatError),
    /// A record whose description has not come.
    #[error("a record of format {0}, whose description is not in the file before it")]
    UnknownFormat(ForeignId),
    /// A record that contradicts its description.
    #[error("record: {0}")]
    Record(#[from] DecodeError),
    /// An index block that makes no sense. The records can be read without it.
    #[error("index: {0}")]
    Index(&'static str),
}

impl ErrorKind {
    pub(super) fn at(self, offset: u64) -> Error {
        Error { offset, kind: self }
    }
}
