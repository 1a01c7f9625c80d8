//! Messages that are longer than a frame: cut into pieces, and put together again.

use std::borrow::Cow;

use banyan_link::Frame;
use banyan_ndr::Buffer;
use banyan_reduce::shared;
use bytes::Bytes;

use super::MORE;
use super::error::WireError;
use super::layout::Layout;

/// Appends the frame with this payload, or as many frames as it takes. Copies nothing.
pub(super) fn cut(frame: Frame, mut payload: Bytes, max_payload: usize, out: &mut Vec<Frame>) {
    while payload.len() > max_payload {
        let piece = payload.split_to(max_payload);
        out.push(Frame { flags: frame.flags | MORE, payload: piece, ..frame });
    }
    out.push(Frame { payload, ..frame });
}

/// The pieces that have come so far.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    begun: Option<Begun>,
}

#[derive(Debug)]
struct Begun {
    /// The header of all pieces.
    first: Frame,
    /// Grows with what arrives, not with what is announced; aligned, so that records can be viewed in it.
    payload: Buffer,
}

impl Pieces {
    /// Takes a frame, and gives the whole one when there is one: itself, if it was not cut. The limit is that of the
    /// payload.
    pub(super) fn put<'a>(
        &mut self,
        frame: &'a Frame,
        layout: &Layout,
        limit: usize,
    ) -> Result<Option<Cow<'a, Frame>>, WireError> {
        let has_more = frame.flags & MORE != 0;
        let (first, mut payload) = match self.begun.take() {
            None if !has_more && frame.payload.len() <= limit => return Ok(Some(Cow::Borrowed(frame))),
            None => (Frame { payload: Bytes::new(), ..*frame }, Buffer::new()),
            Some(begun) => (begun.first, begun.payload),
        };
        if !is_continued(&first, frame) {
            let message = Layout::of(first.kind)?.name;
            return Err(WireError::Interrupted { message, other: layout.name });
        }
        if frame.payload.len() > limit.saturating_sub(payload.len()) {
            return Err(WireError::TooLong { message: layout.name, limit });
        }
        payload.extend_from_slice(&frame.payload);
        if has_more {
            self.begun = Some(Begun { first, payload });
            return Ok(None);
        }
        let payload = shared(payload);
        Ok(Some(Cow::Owned(Frame { flags: first.flags & !MORE, payload, ..first })))
    }
}

/// Whether a frame is the next piece of what began with another.
fn is_continued(first: &Frame, next: &Frame) -> bool {
    let header = |frame: &Frame| (frame.kind, frame.flags | MORE, frame.stream, frame.sequence, frame.format);
    header(first) == header(next)
}
