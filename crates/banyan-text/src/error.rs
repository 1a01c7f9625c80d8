//! What can go wrong between records and text.

/// Why a record could not be written as text, or a text not be read as a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The text is not well-formed.
    #[error("line {line}, column {column}: {reason}")]
    Syntax {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// A well-formed text that does not fit the format.
    #[error("{path} (line {line}, column {column}): {reason}")]
    Value {
        /// The field.
        path: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes; where the misfit was noticed, which may be the value's end.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// Fields that the text lacks, and that have neither a default nor null.
    #[error("missing: {}{}", .fields.join(", "), and_more(*.more))]
    Missing {
        /// By path.
        fields: Vec<String>,
        /// How many there are besides.
        more: usize,
    },
    /// Members that the format does not have.
    #[error("unknown: {}{}; the format has no such fields", .members.join(", "), and_more(*.more))]
    Unknown {
        /// By path.
        members: Vec<String>,
        /// How many there are besides.
        more: usize,
    },
    /// A value that does not fit its place in the format, so that it cannot be written.
    #[error("{path}: {reason}")]
    Unwritable {
        /// The field.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The writer failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

/// Line and column of a byte of a text, both from 1.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
    (line, column)
}
