//! A member's own data on its way out: cut into frames when there is room for them, never copied, except short parts of a
//! scatter, of which many go in one frame.

use std::collections::VecDeque;

use banyan_link::{Frame, Kind};
use bytes::Bytes;

use crate::{
    collective::{
        Number, PIPELINE,
        bundle::{BUNDLE, BUNDLED_AT_MOST, Bundle, OVERHEAD},
        reduction_piece,
    },
    message::{BROADCAST, CHUNK, CONTINUED, MORE, REDUCE, SCATTER},
};

/// Messages to send, one after the other.
#[derive(Debug)]
pub(super) struct Sending {
    kind: Kind,
    /// Stream of the message that is being sent, and what is left of it. Most members have one message or none, and need
    /// no memory for more.
    current: Option<(u32, Bytes)>,
    /// Those that follow.
    later: VecDeque<(u32, Bytes)>,
    /// Longest payload.
    piece: usize,
    /// A part of the first message has gone.
    is_begun: bool,
    /// Frames that may be sent before [`advance`](Self::advance) allows more; without bound if none.
    allowed: Option<usize>,
}

impl Sending {
    /// Nothing.
    pub(super) fn none() -> Self {
        Self::new(BROADCAST, [])
    }

    /// Messages with their streams.
    pub(super) fn new(kind: Kind, messages: impl IntoIterator<Item = (u32, Bytes)>) -> Self {
        let mut messages = messages.into_iter();
        let (current, later) = (messages.next(), messages.collect());
        Self { kind, current, later, piece: CHUNK, is_begun: false, allowed: None }
    }

    /// A contribution to a reduction, which is never far ahead of the result.
    pub(super) fn reduction(rank: u32, bytes: Bytes, members: u32) -> Self {
        Self { piece: reduction_piece(members), allowed: Some(PIPELINE), ..Self::new(REDUCE, [(rank, bytes)]) }
    }

    /// Most bytes that one receiver gets of it: those of the longest message.
    pub(super) fn longest(&self) -> usize {
        self.current.iter().chain(&self.later).map(|(_, bytes)| bytes.len()).max().unwrap_or(0)
    }

    pub(super) fn is_done(&self) -> bool {
        self.current.is_none()
    }

    /// A piece of the result has come.
    pub(super) fn advance(&mut self) {
        if let Some(allowed) = &mut self.allowed {
            *allowed += 1;
        }
    }

    /// The next frame, if it may be sent now and its payload is at most `room` bytes long.
    pub(super) fn next(&mut self, number: Number, room: usize) -> Option<Frame> {
        if self.has_several() && room >= BUNDLE {
            return self.several(number);
        }
        let (stream, rest) = self.current.as_mut()?;
        let length = rest.len().min(self.piece);
        if length > room || self.allowed == Some(0) {
            return None;
        }
        if let Some(allowed) = &mut self.allowed {
            *allowed -= 1;
        }
        let payload = rest.split_to(length);
        let continued = if self.is_begun { CONTINUED } else { 0 };
        let flags = continued | if rest.is_empty() { 0 } else { MORE };
        self.is_begun = !rest.is_empty();
        let frame = Frame { flags, ..Frame::new(self.kind, *stream, number.sequence(), payload) };
        if rest.is_empty() {
            self.current = self.later.pop_front();
        }
        Some(frame)
    }

    /// Whether the next messages go in one frame.
    fn has_several(&self) -> bool {
        let next = self.current.as_ref().zip(self.later.front());
        self.kind == SCATTER && !self.is_begun && next.is_some_and(|(one, other)| is_short(one) && is_short(other))
    }

    /// As many messages as one frame holds.
    fn several(&mut self, number: Number) -> Option<Frame> {
        let mut bundle = Bundle::default();
        let first = self.current.as_ref().map_or(0, |(_, bytes)| bytes.len());
        bundle.reserve((1 + self.later.len()) * (first + OVERHEAD));
        while let Some((rank, bytes)) = self.current.take_if(|one| is_short(one) && bundle.has_room(one.1.len())) {
            bundle.add(rank, &bytes);
            self.current = self.later.pop_front();
        }
        bundle.take(self.kind, number)
    }
}

fn is_short((_, bytes): &(u32, Bytes)) -> bool {
    bytes.len() <= BUNDLED_AT_MOST
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{GATHER, TOGETHER};

    fn lengths(sending: &mut Sending) -> Vec<(u32, usize, u8)> {
        let frames = std::iter::from_fn(|| sending.next(Number(0), CHUNK));
        frames.map(|frame| (frame.stream, frame.payload.len(), frame.flags)).collect()
    }

    #[test]
    fn all_frames_of_a_message_but_the_last_are_chunks_with_more_to_follow() {
        let mut sending = Sending::new(GATHER, [(1, vec![0; 2 * CHUNK].into()), (2, Bytes::new())]);
        assert_eq!(lengths(&mut sending), [(1, CHUNK, MORE), (1, CHUNK, CONTINUED), (2, 0, 0)]);
        assert!(sending.is_done());
    }

    #[test]
    fn short_parts_of_a_scatter_go_together_and_long_ones_by_themselves() {
        let lengths_of = [10, BUNDLED_AT_MOST, 0, BUNDLED_AT_MOST + 1, 5, CHUNK + 1, 7, 7];
        let mut sending = Sending::new(SCATTER, (1..).zip(lengths_of.map(|length| vec![0; length].into())));
        let frames = lengths(&mut sending);
        let kinds: Vec<(u32, u8)> = frames.iter().map(|(rank, _, flags)| (*rank, *flags)).collect();
        assert_eq!(kinds, [(1, TOGETHER), (4, 0), (5, 0), (6, MORE), (6, CONTINUED), (7, TOGETHER)]);
        assert!(sending.is_done());
    }

    #[test]
    fn bundles_are_as_long_as_frames_may_be() {
        let count = 3 * BUNDLE / 128;
        let mut sending = Sending::new(SCATTER, (1..).zip(vec![Bytes::from_static(&[0; 128]); count]));
        let frames = lengths(&mut sending);
        assert_eq!(frames.len(), 4);
        assert!(frames.iter().all(|(_, length, flags)| *length <= BUNDLE && *flags == TOGETHER));
    }

    #[test]
    fn nothing_is_sent_without_room() {
        let mut sending = Sending::new(GATHER, [(1, vec![0; 10].into())]);
        assert_eq!(sending.next(Number(0), 9), None);
        assert!(sending.next(Number(0), 10).is_some());
    }

    #[test]
    fn a_reduction_waits_for_the_result_to_follow() {
        let piece = reduction_piece(1000);
        let mut sending = Sending::reduction(0, vec![0; piece * (PIPELINE + 2)].into(), 1000);
        assert_eq!(lengths(&mut sending).len(), PIPELINE);
        sending.advance();
        assert_eq!(lengths(&mut sending), [(0, piece, CONTINUED | MORE)]);
        sending.advance();
        assert_eq!(lengths(&mut sending), [(0, piece, CONTINUED)]);
    }
}
