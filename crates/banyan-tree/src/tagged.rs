//! Records that a member sends with a tag, which the front-end reads beside the record ([`Wave::tag`](crate::Wave::tag)).

use banyan_link::Deadline;
use banyan_ndr::{DynRecord, EncodeError, Format, Record};

use crate::back_end::BackEnd;
use crate::error::TreeError;
use crate::ids::{StreamId, WaveNumber};
use crate::pending::{Body, Pending, ToSend, Typed};

/// A record with a tag.
struct Tagged<T>(u32, T);

impl<T: ToSend> ToSend for Tagged<T> {
    fn tag(&self) -> u32 {
        self.0
    }

    fn format(&self) -> &Format {
        self.1.format()
    }

    fn add_to(&self, pending: &mut Pending) -> Result<(), TreeError> {
        self.1.add_to(pending)
    }

    fn write_to(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.1.write_to(bytes)
    }
}

impl BackEnd {
    /// As [`send`](Self::send), with a tag that says what the record is; without one it is 0. The front-end reads it with
    /// [`Wave::tag`](crate::Wave::tag): a wave has the tag that its lowest rank gave its record. Records that follow each other
    /// travel together only if they have the same tag, so a tag is not for a number that always changes.
    ///
    /// ```no_run
    /// # #[derive(banyan_ndr::Record)]
    /// # struct Progress { done: u64 }
    /// # fn tell(back_end: &mut banyan_tree::BackEnd, stream: banyan_tree::StreamId) -> Result<(), banyan_tree::TreeError> {
    /// const PROGRESS: u32 = 3;
    /// back_end.send_tagged(stream, PROGRESS, &Progress { done: 10 })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_tagged<R: Record>(&mut self, stream: StreamId, tag: u32, record: &R) -> Result<WaveNumber, TreeError> {
        self.send_tagged_timeout(stream, tag, record, Deadline::NEVER)
    }

    /// As [`send_tagged`](Self::send_tagged), but waits no longer than the limit, as [`send_timeout`](Self::send_timeout) does.
    ///
    /// # Errors
    /// As [`send_timeout`](Self::send_timeout).
    pub fn send_tagged_timeout<R: Record>(
        &mut self,
        stream: StreamId,
        tag: u32,
        record: &R,
        limit: impl Into<Deadline>,
    ) -> Result<WaveNumber, TreeError> {
        self.send_any(stream, &Tagged(tag, Typed(record)), limit.into())
    }

    /// As [`send_tagged`](Self::send_tagged), a record without a compiled type.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_dyn_tagged(&mut self, stream: StreamId, tag: u32, record: &DynRecord) -> Result<WaveNumber, TreeError> {
        self.send_dyn_tagged_timeout(stream, tag, record, Deadline::NEVER)
    }

    /// As [`send_dyn_tagged`](Self::send_dyn_tagged), but waits no longer than the limit, as
    /// [`send_timeout`](Self::send_timeout) does.
    ///
    /// # Errors
    /// As [`send_timeout`](Self::send_timeout).
    pub fn send_dyn_tagged_timeout(
        &mut self,
        stream: StreamId,
        tag: u32,
        record: &DynRecord,
        limit: impl Into<Deadline>,
    ) -> Result<WaveNumber, TreeError> {
        let body = record.to_body()?;
        self.send_any(stream, &Tagged(tag, Body(&record.format, &body)), limit.into())
    }
}
