//! Reads records as values of Rust types, whatever format they came in.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use banyan_ndr::typed::Read;
use banyan_ndr::{Buffer, Decoder, DynRecord, Format, FormatId, Limits, Record};

use crate::error::TreeError;
use crate::format_book::FormatBook;

/// Reads for all who hold records that one process has received.
pub(crate) struct SharedReader {
    reader: Mutex<RecordReader>,
    formats: FormatBook,
}

impl SharedReader {
    pub(crate) fn new(formats: FormatBook) -> SharedReader {
        SharedReader { reader: Mutex::default(), formats }
    }

    /// The value in a body.
    pub(crate) fn read<R>(&self, format: FormatId, body: &[u8]) -> Result<R, TreeError>
    where
        R: Record + for<'a> Read<'a>,
    {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.read(format, body, &self.formats)
    }

    /// The record in a body, without a compiled type.
    pub(crate) fn read_dyn(&self, format: FormatId, body: &[u8]) -> Result<DynRecord, TreeError> {
        let description = self.format(format).ok_or(TreeError::UnknownFormat(format))?;
        Ok(DynRecord::from_body(&description, body, &Limits::default())?)
    }

    /// The format of an id, if it is known.
    pub(crate) fn format(&self, id: FormatId) -> Option<Format> {
        self.formats.get(id)
    }
}

impl fmt::Debug for SharedReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedReader").finish_non_exhaustive()
    }
}

/// See the module. One for each user: what it has learnt of a pair of formats is used again.
#[derive(Debug, Default)]
pub(crate) struct RecordReader {
    decoder: Decoder,
    last: Option<FormatId>,
}

impl RecordReader {
    /// The value in a body.
    pub(crate) fn read<R>(&mut self, format: FormatId, body: &[u8], formats: &FormatBook) -> Result<R, TreeError>
    where
        R: Record + for<'a> Read<'a>,
    {
        if self.last != Some(format) {
            if self.decoder.format(format).is_none() {
                let description = formats.get(format).ok_or(TreeError::UnknownFormat(format))?;
                self.decoder.learn(&description)?;
            }
            self.last = Some(format);
        }
        // Bodies of a run lie one behind the other, wherever that is; records are read from aligned memory.
        if body.as_ptr().align_offset(banyan_link::FRAME_ALIGN) == 0 {
            Ok(self.decoder.decode(format, body)?)
        } else {
            Ok(self.decoder.decode(format, &Buffer::from_slice(body))?)
        }
    }
}
