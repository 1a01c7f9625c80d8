//! A record as a member has received it.

use std::sync::Arc;

use banyan_ndr::typed::Read;
use banyan_ndr::{DynRecord, FormatId, Record};
use bytes::Bytes;

use crate::error::TreeError;
use crate::ids::StreamId;
use crate::record_reader::SharedReader;

/// A record that the front-end has sent to a stream's members.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Incoming {
    /// The stream: what is sent there goes to the same front-end's end of it.
    pub stream: StreamId,
    /// The front-end's tag.
    pub tag: u32,
    /// The record's format.
    pub format: FormatId,
    /// Its body.
    pub body: Bytes,
    pub(crate) reader: Arc<SharedReader>,
}

impl Incoming {
    /// The value in the record, within the usual [`Limits`](banyan_ndr::Limits): for recursive values that are deeper than these
    /// allow, decode [`body`](Self::body) with a decoder of your own.
    ///
    /// # Errors
    /// When it is not such a record.
    pub fn read<R>(&self) -> Result<R, TreeError>
    where
        R: Record + for<'a> Read<'a>,
    {
        self.reader.read(self.format, &self.body)
    }

    /// The record without a compiled type, within the usual [`Limits`](banyan_ndr::Limits).
    ///
    /// # Errors
    /// When the bytes are no record of their format.
    pub fn read_dyn(&self) -> Result<DynRecord, TreeError> {
        self.reader.read_dyn(self.format, &self.body)
    }
}
