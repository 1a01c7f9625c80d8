//! Reads records as values of Rust types, whatever format they came in.

use banyan_ndr::typed::Read;
use banyan_ndr::{Buffer, Decoder, FormatId, Record};

use crate::error::TreeError;
use crate::format_book::FormatBook;

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
