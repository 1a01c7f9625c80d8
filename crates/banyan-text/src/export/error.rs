//! What can go wrong with exports and imports.

use crate::TextError;
use banyan_ndr::{DecodeError, FormatId};

/// Why a record was not exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The destination failed.
    #[error("cannot write: {0}")]
    Io(#[from] std::io::Error),
    /// The body is no record of its format.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The record has no text form.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A table has rows of one format.
    #[error("the table has rows of format {table}, the record has {record}; export each format by itself")]
    OtherFormat {
        /// What the table was made for.
        table: FormatId,
        /// What came.
        record: FormatId,
    },
    /// Two columns would have the same name.
    #[error("{format}: two columns would be called {column}")]
    SameColumn {
        /// The format.
        format: String,
        /// The name.
        column: String,
    },
    /// A field that the columns of Arrow cannot hold.
    #[error("{field}: {reason}")]
    NoColumn {
        /// The field.
        field: String,
        /// Why not.
        reason: String,
    },
    /// The Arrow library refused.
    #[cfg(feature = "arrow")]
    #[error(transparent)]
    Arrow(#[from] arrow_schema::ArrowError),
}

/// Why a record was not imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The source failed.
    #[error("cannot read: {0}")]
    Io(#[from] std::io::Error),
    /// A line is no record of the format.
    #[error("{}", on_line(*.line, .source))]
    Line {
        /// Counted from 1.
        line: u64,
        /// What is wrong with it. Lines in there are counted within the record.
        source: TextError,
    },
    /// A row of a table is no record of the format.
    #[error("{}", in_row(*.line, .source))]
    Row {
        /// Where the row begins, counted from 1.
        line: u64,
        /// What is wrong with it. Lines and columns in there are those of the JSON that the cells were made into.
        source: TextError,
    },
    /// It is not CSV.
    #[error("not CSV: {0}")]
    Csv(String),
    /// Not even a header.
    #[error("there is no header; the first line of CSV names its columns")]
    NoHeader,
    /// The header names a column more than once.
    #[error("the header names the column {column} twice")]
    ColumnTwice {
        /// Its name.
        column: String,
    },
    /// The header names columns that the format does not have.
    #[error("format {format} has no column {}; it has {}", .unknown.join(", "), .known.join(", "))]
    UnknownColumns {
        /// The format.
        format: String,
        /// The columns in the header that it does not have.
        unknown: Vec<String>,
        /// The columns it has.
        known: Vec<String>,
    },
    /// The format has no columns.
    #[error(transparent)]
    Columns(#[from] ExportError),
}

/// The place in the file, once, and what is wrong there.
fn on_line(line: u64, source: &TextError) -> String {
    match source {
        TextError::Syntax { column, reason, .. } => format!("line {line}, column {column}: {reason}"),
        TextError::Value { path, column, reason, .. } => format!("line {line}, column {column}: {path}: {reason}"),
        other => format!("line {line}: {other}"),
    }
}

/// As [`on_line`], where only the line is the file's own.
fn in_row(line: u64, source: &TextError) -> String {
    match source {
        TextError::Syntax { reason, .. } => format!("line {line}: {reason}"),
        TextError::Value { path, reason, .. } => format!("line {line}: {path}: {reason}"),
        other => format!("line {line}: {other}"),
    }
}
