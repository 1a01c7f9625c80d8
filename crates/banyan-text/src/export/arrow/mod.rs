//! Records of one format as an Arrow IPC file, column by column.
//!
//! | in the format | in Arrow |
//! | --- | --- |
//! | integer to 64 bits, float, bool | the same |
//! | integer of 128 bits, char, enumeration, string, C string | `Utf8` |
//! | bytes | `Binary` |
//! | record | `Struct` |
//! | variant | `Struct` of `case` (its name) and a nullable member for each case that carries something |
//! | optional, pointer | what it leads to, nullable |
//! | array, list | `List`, nested for several dimensions |
//!
//! Units and descriptions become metadata of the fields. Shared pointers and definitions that contain themselves have
//! no columns and are refused.

mod array;
mod schema;

use std::io::Write;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::FileWriter;
use arrow_schema::Schema;

use super::error::ExportError;
use banyan_ndr::{DynRecord, Format, Limits};

/// Most rows to a batch. There are fewer where their values take much memory.
const BATCH: usize = 1024;
const BATCH_BYTES: usize = 64 << 20;

/// Writes records of one format as an Arrow IPC file.
pub struct ArrowWriter<W: Write> {
    out: FileWriter<W>,
    format: Format,
    limits: Limits,
    schema: Arc<Schema>,
    rows: Vec<DynRecord>,
    row_bytes: usize,
}

impl<W: Write> ArrowWriter<W> {
    /// Writes the schema.
    pub fn new(out: W, format: &Format, limits: Limits) -> Result<ArrowWriter<W>, ExportError> {
        let schema = Arc::new(schema::schema(format)?);
        let out = FileWriter::try_new(out, &schema)?;
        Ok(ArrowWriter { out, format: format.clone(), limits, schema, rows: Vec::new(), row_bytes: 0 })
    }

    /// Writes a record of the format as a row.
    pub fn write(&mut self, format: &Format, body: &[u8]) -> Result<(), ExportError> {
        if *format != self.format {
            return Err(ExportError::OtherFormat { table: self.format.id(), record: format.id() });
        }
        let (row, bytes) = DynRecord::measured(format, body, &self.limits)?;
        self.rows.push(row);
        self.row_bytes += bytes;
        if self.rows.len() >= BATCH || self.row_bytes >= BATCH_BYTES { self.write_batch() } else { Ok(()) }
    }

    fn write_batch(&mut self) -> Result<(), ExportError> {
        let columns = array::columns(&self.format, &self.rows)?;
        // Said aloud for formats without fields, whose rows no column counts.
        let rows = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &rows)?;
        self.rows.clear();
        self.row_bytes = 0;
        Ok(self.out.write(&batch)?)
    }

    /// Writes what is left, and gives the destination back.
    pub fn finish(mut self) -> Result<W, ExportError> {
        if !self.rows.is_empty() {
            self.write_batch()?;
        }
        self.out.finish()?;
        Ok(self.out.into_inner()?)
    }
}
