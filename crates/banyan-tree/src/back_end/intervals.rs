//! Streams of intervals at a member: its records are put together by interval before they go.

use std::time::Instant;

use banyan_link::Deadline;
use banyan_ndr::Format;
use banyan_reduce::{Aligned, Alignment, Bodies, shared};
use bytes::Bytes;

use super::BackEnd;
use crate::error::TreeError;
use crate::ids::{StreamId, WaveNumber};
use crate::node::SendError;
use crate::pending::{ToSend, check_length};

impl BackEnd {
    /// The interval of a stream that has begun is over: what this member has sent of it goes, and later records belong to
    /// later intervals.
    ///
    /// # Errors
    /// When the records cannot be put together, or the network has ended.
    pub fn finish_interval(&mut self, stream: StreamId) -> Result<(), TreeError> {
        self.finish_interval_by(stream, None)
    }

    /// This member has no records of a stream before this time: intervals that are over by then do not wait for it. What it has
    /// sent of them goes, and later records belong to later intervals. For streams of intervals
    /// ([`Synchronisation::Interval`](crate::Synchronisation)) on which nothing is sent for a while.
    ///
    /// # Errors
    /// When waves of the stream are no intervals, the time lies before the first or far ahead, the records cannot be put
    /// together, or the network has ended.
    pub fn pass_until(&mut self, stream: StreamId, time: f64) -> Result<(), TreeError> {
        self.ensure_member()?;
        let (_, next) = (self.aligns(stream)?, self.driver.node().next_wave(stream).unwrap_or_default());
        let Some(alignment) = self.aligned.get_mut(&stream) else { return Err(TreeError::NoIntervals(stream)) };
        alignment.reach(next.0);
        let (complete, until) = alignment.pass(time)?;
        if let Some(complete) = complete {
            let tag = self.interval_tags.remove(&stream).unwrap_or_default();
            self.contribute_interval(stream, complete, tag, None)?;
        }
        while let Err(error) = self.driver.node_mut().pass_over(stream, WaveNumber(until)) {
            match error {
                SendError::Full => self.wait(None)?,
                SendError::Succeeded => return Err(TreeError::Succeeded { rank: self.rank() }),
                _ => return Err(TreeError::NoStream(stream)),
            }
        }
        self.set_going()?;
        if self.is_over { Err(self.end()) } else { Ok(()) }
    }

    /// Sends what this member has for one interval: a partial result of the stream's filter, such as
    /// [`Reduction::partial`](banyan_reduce::Reduction::partial) makes. For members that put their records together by
    /// themselves. Intervals come in order; those between two that are sent do not wait for this member.
    ///
    /// If there is no room for the interval before this one until the limit, nothing is sent. What is sent may be held back, and
    /// goes when there is room.
    ///
    /// # Errors
    /// When waves of the stream are no intervals, or the network has ended; [`TreeError::FrontEndBehind`] when there is no room
    /// before the limit; [`TreeError::Format`] when the format cannot be sent.
    pub fn send_partial(
        &mut self,
        stream: StreamId,
        interval: u64,
        format: &Format,
        body: &[u8],
        limit: impl Into<Deadline>,
    ) -> Result<(), TreeError> {
        let deadline = limit.into().instant();
        self.ensure_intervals(stream)?;
        check_length(body.len())?;
        self.contribute_complete(stream, deadline)?;
        self.driver.formats().learn(format)?;
        let bodies = Bodies::one(format.id(), Bytes::copy_from_slice(body));
        self.complete.insert(stream, (WaveNumber(interval), bodies));
        self.offer_complete(stream)?;
        self.set_going()?;
        if self.is_over { Err(self.end()) } else { Ok(()) }
    }

    /// This member has nothing for the intervals before this one: they do not wait for it. As
    /// [`pass_until`](Self::pass_until), by number, for members that send [partial results](Self::send_partial).
    ///
    /// # Errors
    /// As [`send_partial`](Self::send_partial).
    pub fn pass_intervals(
        &mut self,
        stream: StreamId,
        interval: u64,
        limit: impl Into<Deadline>,
    ) -> Result<(), TreeError> {
        let deadline = limit.into().instant();
        self.ensure_intervals(stream)?;
        self.contribute_complete(stream, deadline)?;
        let mut has_looked = false;
        while let Err(error) = self.driver.node_mut().pass_over(stream, WaveNumber(interval)) {
            match error {
                SendError::Full => self.wait_for_room(stream, deadline, &mut has_looked)?,
                SendError::Succeeded => return Err(TreeError::Succeeded { rank: self.rank() }),
                _ => return Err(TreeError::NoStream(stream)),
            }
        }
        self.set_going()?;
        if self.is_over { Err(self.end()) } else { Ok(()) }
    }

    fn ensure_intervals(&mut self, stream: StreamId) -> Result<(), TreeError> {
        self.ensure_member()?;
        if self.aligns(stream)? { Ok(()) } else { Err(TreeError::NoIntervals(stream)) }
    }

    pub(super) fn finish_interval_by(&mut self, stream: StreamId, deadline: Option<Instant>) -> Result<(), TreeError> {
        self.ensure_member()?;
        self.contribute_complete(stream, deadline)?;
        let finished = self.aligned.get_mut(&stream).map(Alignment::finish).transpose()?;
        let tag = self.interval_tags.remove(&stream).unwrap_or_default();
        finished.flatten().map_or(Ok(()), |aligned| self.contribute_interval(stream, aligned, tag, deadline))
    }

    /// Whether waves of a stream are intervals of a field.
    pub(super) fn aligns(&mut self, stream: StreamId) -> Result<bool, TreeError> {
        if self.aligned.contains_key(&stream) {
            return Ok(true);
        }
        if self.pending.contains_key(&stream) {
            return Ok(false);
        }
        let opening = self.driver.node().streams().find(|opening| opening.stream == stream);
        let Some(opening) = opening else { return Err(TreeError::NoStream(stream)) };
        let alignment = self.combiners.alignment(opening, self.invited.rank);
        let alignment = alignment.map_err(|error| TreeError::Open(error.to_string()))?;
        let aligns = alignment.is_some();
        self.aligned.extend(alignment.map(|alignment| (stream, alignment)));
        Ok(aligns)
    }

    /// Puts a record to the others of its interval.
    pub(super) fn align(
        &mut self,
        stream: StreamId,
        record: &impl ToSend,
        deadline: Option<Instant>,
    ) -> Result<WaveNumber, TreeError> {
        let mut body = Vec::new();
        record.write_to(&mut body)?;
        self.contribute_complete(stream, deadline)?;
        let Some(alignment) = self.aligned.get_mut(&stream) else { return Err(TreeError::NoStream(stream)) };
        alignment.reach(self.driver.node().next_wave(stream).unwrap_or_default().0);
        let complete = alignment.take(record.format(), &body)?;
        let wave = WaveNumber(alignment.current());
        let before = *self.interval_tags.get_or_insert_with(stream, || record.tag());
        if let Some(complete) = complete {
            self.interval_tags.insert(stream, record.tag());
            match self.contribute_interval(stream, complete, before, deadline) {
                Err(TreeError::FrontEndBehind { .. }) => {}
                contributed => contributed?,
            }
        }
        self.set_going()?;
        if self.is_over { Err(self.end()) } else { Ok(wave) }
    }

    fn contribute_interval(
        &mut self,
        stream: StreamId,
        aligned: Aligned,
        tag: u32,
        deadline: Option<Instant>,
    ) -> Result<(), TreeError> {
        self.contribute_complete(stream, deadline)?;
        let Aligned { wave, format, body } = aligned;
        self.driver.formats().learn(&format)?;
        self.complete.insert(stream, (WaveNumber(wave), Bodies::one(format.id(), shared(body)).tagged(tag)));
        self.contribute_complete(stream, deadline)
    }

    /// Hands the interval of a stream that is complete to the node, if there is one; waits until there is room.
    pub(super) fn contribute_complete(&mut self, stream: StreamId, deadline: Option<Instant>) -> Result<(), TreeError> {
        let mut has_looked = false;
        while !self.offer_complete(stream)? {
            self.wait_for_room(stream, deadline, &mut has_looked)?;
        }
        Ok(())
    }

    /// Hands the interval of a stream that is complete to the node; false if there is no room for it.
    pub(super) fn offer_complete(&mut self, stream: StreamId) -> Result<bool, TreeError> {
        let Some((wave, bodies)) = self.complete.remove(&stream) else { return Ok(true) };
        match self.driver.node_mut().contribute_at(stream, wave, bodies.clone()) {
            Err(SendError::Full) => {
                self.complete.insert(stream, (wave, bodies));
                Ok(false)
            }
            Err(SendError::NoStream(_)) => {
                self.aligned.remove(&stream);
                Err(TreeError::NoStream(stream))
            }
            Err(SendError::Succeeded) => Err(TreeError::Succeeded { rank: self.rank() }),
            // A wave that is over waits for nobody; the node has counted it.
            Ok(()) | Err(_) => Ok(true),
        }
    }
}
