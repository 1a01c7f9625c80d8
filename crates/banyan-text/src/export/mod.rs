//! Records as rows of other systems' files: JSON lines, CSV, and (feature `arrow`) Arrow IPC; and back from the first two.
//!
//! Exports take a format and a body, so they work on records from files, streams and messages alike. Everything goes
//! through [`DynRecord`](banyan_ndr::DynRecord), which checks the body. Imports give back [`DynRecord`](banyan_ndr::DynRecord)s of
//! a given format.
//!
//! | | many formats in one output | nested, lists, variants | sharing and cycles | reads back the same |
//! | --- | --- | --- | --- | --- |
//! | JSON lines | yes | yes | yes | yes |
//! | CSV | no | as JSON in a cell | as JSON, one cell a record | but for absent and empty texts |
//! | Arrow IPC | no | yes | refused | not read |

#[cfg(feature = "arrow")]
mod arrow;
mod columns;
mod csv;
mod error;
mod json_lines;

#[cfg(feature = "arrow")]
pub use arrow::ArrowWriter;
pub use csv::{CsvReader, CsvWriter};
pub use error::{ExportError, ImportError};
pub use json_lines::{JsonLines, write_json_line};
