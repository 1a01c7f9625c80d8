//! What can go wrong with a record. Names come from anyone and messages go to terminals, so control characters in them
//! are escaped.

use std::borrow::Cow;

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
    #[error("{}: {count} bytes at {target} lie outside the body of {body} bytes", visible(path))]
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
    #[error("{}: references overlap; the record is larger than the {body} bytes it was sent in", visible(path))]
    Overlap {
        /// The field at which that was noticed.
        path: String,
        /// Bytes of the body.
        body: usize,
    },
    /// The bytes must be borrowed, but do not lie at a multiple of the alignment.
    #[error(
        "{}: cannot be borrowed from bytes that are not aligned to {align}; receive into a Buffer, or decode to an owned type",
        visible(path)
    )]
    Misaligned {
        /// The field.
        path: String,
        /// The alignment needed.
        align: usize,
    },
    /// Bytes that are no value of the type.
    #[error("{}: {} is no {wanted}", visible(path), visible(found))]
    Invalid {
        /// The field.
        path: String,
        /// What is there.
        found: String,
        /// What should be there.
        wanted: &'static str,
    },
    /// A number that the receiver's field cannot hold.
    #[error("{}: {} does not fit {}", visible(path), visible(value), visible(wanted))]
    OutOfRange {
        /// The field.
        path: String,
        /// The number.
        value: String,
        /// The receiver's type.
        wanted: String,
    },
    /// A null pointer or absent value where the receiver must have one.
    #[error("{}: absent, but the receiver needs a value (declare a default to go on)", visible(path))]
    Absent {
        /// The field.
        path: String,
    },
    /// The sender lacks fields that have no default.
    #[error("{}: the sender has no field {}{}; declare a default to go on without", visible(format), visible(&.fields.join(", ")), and_more(*.more))]
    Missing {
        /// The receiver's format.
        format: String,
        /// The missing fields, by path.
        fields: Vec<String>,
        /// How many more there are.
        more: usize,
    },
    /// Fields of both formats cannot be converted into each other.
    #[error("{}: cannot convert {}{}", visible(format), visible(&.fields.iter().map(|(field, why)| format!("{field} ({why})")).collect::<Vec<_>>().join(", ")), and_more(*.more))]
    NotConvertible {
        /// The receiver's format.
        format: String,
        /// Those fields, by path, and why.
        fields: Vec<(String, String)>,
        /// How many more there are.
        more: usize,
    },
    /// A limit is exceeded.
    #[error("{}: {found} is more than the limit of {limit} (raise Limits::{name} to allow it)", visible(path))]
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
    #[error("{}: {}", visible(path), visible(reason))]
    Path {
        /// The path, as far as it was followed or as it was given.
        path: String,
        /// Why it leads nowhere.
        reason: String,
    },
    /// A rule for evolving old records failed.
    #[error("{}: {}", visible(path), visible(reason))]
    Rule {
        /// The field it computes.
        path: String,
        /// What went wrong.
        reason: String,
    },
}

/// What follows a list that does not name all.
fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

/// A text with its control characters escaped, and those that turn the direction of writing. Quotes and the like stay:
/// messages have their own.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let is_visible = |character: char| {
        !character.is_control()
            && !matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.chars().all(is_visible) {
        return text.into();
    }
    let escaped = |character: char| match is_visible(character) {
        true => character.to_string(),
        false => character.escape_debug().to_string(),
    };
    text.chars().map(escaped).collect()
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
