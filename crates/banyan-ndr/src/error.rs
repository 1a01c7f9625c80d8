//! What can go wrong with a record.

use crate::wire::{BadReference, HeaderError};
use crate::{FormatError, FormatId};

/// Why a record could not be sent.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer is too small.
    #[error("the record takes {needed} bytes, the buffer has {available}")]
    TooSmall {
        /// Bytes needed, header included.
        needed: usize,
        /// Bytes there.
        available: usize,
    },
    /// A length field does not hold the length of its array.
    #[error("{field} has {actual} items, but its length fields say {declared}")]
    Length {
        /// The array.
        field: String,
        /// What the length fields say.
        declared: u128,
        /// How long it is.
        actual: usize,
    },
    /// A value cannot stand where it should.
    #[error("{path}: {reason}")]
    Value {
        /// Where.
        path: String,
        /// Why not.
        reason: String,
    },
    /// The body is longer than its references can span.
    #[error("a body of {0} bytes is too long for references of this width")]
    TooLong(usize),
}

/// Why received bytes are no record of the kind wanted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The format was never learnt.
    #[error("format {0} is unknown here; its description must arrive before its records")]
    UnknownFormat(FormatId),
    /// A description is invalid.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The message has no header.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// More formats than allowed.
    #[error("more than {0} formats (Limits::formats)")]
    TooManyFormats(usize),
    /// The body is shorter or longer than its format says.
    #[error("the body has {found} bytes, its format says {wanted}")]
    Size {
        /// Bytes there.
        found: usize,
        /// Bytes the format asks for (at least, when it has references).
        wanted: usize,
    },
    /// Something lies outside the body.
    #[error("{path}: {count} bytes at {target} lie outside the body of {body} bytes")]
    OutOfBounds {
        /// The field.
        path: String,
        /// Where it leads to.
        target: u64,
        /// How many bytes should be there.
        count: u64,
        /// Bytes of the body.
        body: usize,
    },
    /// Parts of the body are referred to so often that the record would be larger than what was sent.
    #[error("{path}: references overlap; the record is larger than the {body} bytes it was sent in")]
    Overlap {
        /// The field at which that was noticed.
        path: String,
        /// Bytes of the body.
        body: usize,
    },
    /// The bytes must be borrowed, but do not lie at a multiple of the alignment.
    #[error(
        "{path}: cannot be borrowed from bytes that are not aligned to {align}; receive into a Buffer, or decode to an owned type"
    )]
    Misaligned {
        /// The field.
        path: String,
        /// The alignment needed.
        align: usize,
    },
    /// Bytes that are no value of the type.
    #[error("{path}: {found} is no {wanted}")]
    Invalid {
        /// The field.
        path: String,
        /// What is there.
        found: String,
        /// What should be there.
        wanted: &'static str,
    },
    /// A number that the receiver's field cannot hold.
    #[error("{path}: {value} does not fit {wanted}")]
    OutOfRange {
        /// The field.
        path: String,
        /// The number.
        value: String,
        /// The receiver's type.
        wanted: String,
    },
    /// A null pointer or absent value where the receiver must have one.
    #[error("{path}: absent, but the receiver needs a value (declare a default to go on)")]
    Absent {
        /// The field.
        path: String,
    },
    /// The sender lacks fields that have no default.
    #[error("{format}: the sender has no field {}; declare a default to go on without", .fields.join(", "))]
    Missing {
        /// The receiver's format.
        format: String,
        /// All the missing fields, by path.
        fields: Vec<String>,
    },
    /// Fields of both formats cannot be converted into each other.
    #[error("{format}: cannot convert {}", .fields.iter().map(|(field, why)| format!("{field} ({why})")).collect::<Vec<_>>().join(", "))]
    NotConvertible {
        /// The receiver's format.
        format: String,
        /// All those fields, by path, and why.
        fields: Vec<(String, String)>,
    },
    /// A limit is exceeded.
    #[error("{path}: {found} is more than the limit of {limit} (raise Limits::{name} to allow it)")]
    Limit {
        /// Where.
        path: String,
        /// How much.
        found: u64,
        /// How much is allowed.
        limit: u64,
        /// The field of [`Limits`](crate::Limits).
        name: &'static str,
    },
    /// A path leads nowhere in this record.
    #[error("{path}: {reason}")]
    Path {
        /// The path, as far as it was followed or as it was given.
        path: String,
        /// Why it leads nowhere.
        reason: String,
    },
    /// A rule for evolving old records failed.
    #[error("{path}: {reason}")]
    Rule {
        /// The field it computes.
        path: String,
        /// What went wrong.
        reason: String,
    },
}

impl DecodeError {
    /// A reference that leads out of a body of `body` bytes.
    pub(crate) fn bad_reference(bad: BadReference, path: impl Into<String>, body: usize) -> DecodeError {
        DecodeError::OutOfBounds { path: path.into(), target: bad.stored, count: 1, body }
    }

    /// Puts the name of the containing field before the path.
    #[must_use]
    pub fn within(mut self, field: &str) -> DecodeError {
        match &mut self {
            DecodeError::OutOfBounds { path, .. }
            | DecodeError::Overlap { path, .. }
            | DecodeError::Misaligned { path, .. }
            | DecodeError::Invalid { path, .. }
            | DecodeError::OutOfRange { path, .. }
            | DecodeError::Absent { path }
            | DecodeError::Limit { path, .. }
            | DecodeError::Path { path, .. }
            | DecodeError::Rule { path, .. } => {
                let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
                *path = format!("{field}{dot}{path}");
            }
            _ => {}
        }
        self
    }
}
