//! Several messages in one frame, which has the flag [`TOGETHER`]: parts of a scatter, a gather or an `all_gather`, each
//! of them whole.
//!
//! One frame for each member at every hop was most of what these collectives cost. Whoever has several short messages
//! for one link bundles them; a node that passes a bundle on cuts it where its children's ranks begin and end, and
//! copies nothing.
//!
//! In a frame: for each message its rank and its length (4 bytes each, little-endian), then its bytes, padded with zeros
//! to a multiple of 8, so that each can be viewed in place. The frame's `stream` is the rank of the first.

use banyan_link::{Frame, Kind};
use bytes::{BufMut, Bytes, BytesMut};

use super::{Number, stands_alone};
use crate::message::{CHUNK, GATHER, SCATTER, SHARE, TOGETHER};

/// Most bytes of one bundle: what a link to a member carries in one frame.
pub(super) const BUNDLE: usize = CHUNK;

/// Messages, and bundles of them, that are longer than this are not copied into a bundle: a frame of their own costs
/// less.
pub(super) const BUNDLED_AT_MOST: usize = 8 * 1024;

/// Bytes before each message.
const HEAD: usize = 8;

/// Most bytes that a message takes beside its own.
pub(super) const OVERHEAD: usize = HEAD + ALIGN - 1;

/// Each message begins and ends at a multiple of this.
const ALIGN: usize = 8;

/// What claims to be a bundle and cannot be cut into messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

/// Whether a frame is a bundle.
pub(super) fn is_bundle(frame: &Frame) -> bool {
    frame.flags & TOGETHER != 0
}

/// Messages on their way into one frame.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    bytes: BytesMut,
    /// Rank of the first message.
    first: u32,
}

impl Bundle {
    /// Whether a frame can be a part of a bundle.
    pub(super) fn takes(frame: &Frame) -> bool {
        stands_alone(frame) && frame.payload.len() <= BUNDLED_AT_MOST
    }

    /// Whether there is room for a message of so many bytes.
    pub(super) fn has_room(&self, length: usize) -> bool {
        self.bytes.len() + size_of_entry(length) <= BUNDLE
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Makes room for so many bytes, so that they are not moved while they are collected.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes.min(BUNDLE));
    }

    /// Adds a message.
    pub(super) fn add(&mut self, rank: u32, message: &[u8]) {
        if self.is_empty() {
            self.first = rank;
        }
        self.bytes.put_u32_le(rank);
        self.bytes.put_u32_le(message.len() as u32);
        self.bytes.put_slice(message);
        self.bytes.put_bytes(0, padding(message.len()));
    }

    /// Adds what [fits](Self::takes): a message, or all messages of a bundle.
    pub(super) fn add_frame(&mut self, frame: &Frame) {
        match is_bundle(frame) {
            true if self.is_empty() => {
                self.first = frame.stream;
                self.bytes.put_slice(&frame.payload);
            }
            true => self.bytes.put_slice(&frame.payload),
            false => self.add(frame.stream, &frame.payload),
        }
    }

    /// The frame with all messages, if there are any; the bundle is empty then.
    pub(super) fn take(&mut self, kind: Kind, number: Number) -> Option<Frame> {
        // All of its memory goes along: what is left of it would be kept alive by nothing in it.
        let bytes = std::mem::take(&mut self.bytes).freeze();
        (!bytes.is_empty()).then(|| frame(kind, self.first, number.sequence(), bytes))
    }

    /// Bytes that are held.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.bytes.len()
    }
}

/// A frame with a bundle, or with a slice of one.
pub(super) fn frame(kind: Kind, first: u32, sequence: u32, payload: Bytes) -> Frame {
    Frame { flags: TOGETHER, ..Frame::new(kind, first, sequence, payload) }
}

/// One message of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BundleMessage {
    pub(super) rank: u32,
    /// Where it begins in the bundle, head included, and where the next one does.
    pub(super) begin: usize,
    pub(super) end: usize,
    length: usize,
}

impl BundleMessage {
    /// Its bytes, without copying.
    pub(super) fn bytes(&self, bundle: &Bytes) -> Bytes {
        let begin = self.begin + HEAD;
        bundle.slice(begin..begin + self.length)
    }
}

/// The messages of a bundle, in their order. Nothing in it is believed.
pub(super) fn messages(frame: &Frame) -> impl Iterator<Item = Result<BundleMessage, Damaged>> {
    let is_possible = matches!(frame.kind, SCATTER | GATHER | SHARE) && stands_alone(frame);
    let (payload, mut begin) = (&frame.payload[..], 0);
    let mut is_over = false;
    std::iter::from_fn(move || {
        if is_over || begin == payload.len() {
            return None;
        }
        let message = is_possible.then(|| message_at(payload, begin)).flatten();
        match &message {
            Some(message) => begin = message.end,
            None => is_over = true,
        }
        Some(message.ok_or(Damaged))
    })
}

fn message_at(payload: &[u8], begin: usize) -> Option<BundleMessage> {
    let (head, rest) = payload.get(begin..)?.split_first_chunk::<HEAD>()?;
    let [a, b, c, d, length @ ..] = *head;
    let length = u32::from_le_bytes(length) as usize;
    let padded = length.checked_next_multiple_of(ALIGN).filter(|padded| *padded <= rest.len())?;
    Some(BundleMessage { rank: u32::from_le_bytes([a, b, c, d]), begin, end: begin + HEAD + padded, length })
}

fn padding(length: usize) -> usize {
    length.next_multiple_of(ALIGN) - length
}

fn size_of_entry(length: usize) -> usize {
    HEAD + length.next_multiple_of(ALIGN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::{BROADCAST, MORE};

    fn bundled(messages: &[(u32, Vec<u8>)]) -> Frame {
        let mut bundle = Bundle::default();
        messages.iter().for_each(|(rank, bytes)| bundle.add(*rank, bytes));
        bundle.take(GATHER, Number(3)).unwrap()
    }

    fn cut(frame: &Frame) -> Result<Vec<(u32, Vec<u8>)>, Damaged> {
        messages(frame).map(|message| message.map(|m| (m.rank, m.bytes(&frame.payload).to_vec()))).collect()
    }

    fn some_messages() -> impl Strategy<Value = Vec<(u32, Vec<u8>)>> {
        prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u8>(), 0..40)), 1..20)
    }

    proptest! {
        #[test]
        fn messages_are_what_was_bundled_and_aligned(sent in some_messages()) {
            let frame = bundled(&sent);
            prop_assert_eq!((frame.stream, frame.sequence), (sent[0].0, 3));
            prop_assert!(messages(&frame).all(|message| message.unwrap().begin.is_multiple_of(ALIGN)));
            prop_assert_eq!(cut(&frame), Ok(sent));
        }

        #[test]
        fn a_bundle_that_was_cut_between_messages_is_two(sent in some_messages(), at in any::<prop::sample::Index>()) {
            let whole = bundled(&sent);
            let at = at.index(sent.len());
            let BundleMessage { begin, rank, .. } = messages(&whole).nth(at).unwrap().unwrap();
            let mut joined = Bundle::default();
            if at > 0 {
                joined.add_frame(&frame(GATHER, whole.stream, 3, whole.payload.slice(..begin)));
            }
            joined.add_frame(&frame(GATHER, rank, 3, whole.payload.slice(begin..)));
            prop_assert_eq!(joined.take(GATHER, Number(3)), Some(whole));
            prop_assert!(joined.is_empty());
        }

        #[test]
        fn damaged_bundles_do_no_harm(payload in prop::collection::vec(any::<u8>(), 0..200)) {
            let frame = frame(GATHER, 0, 0, payload.into());
            let cut = messages(&frame).take_while(Result::is_ok).count();
            prop_assert!(cut <= frame.payload.len() / HEAD);
        }
    }

    #[test]
    fn only_whole_messages_that_go_to_or_from_each_are_bundled() {
        let sent = bundled(&[(1, vec![7; 9])]);
        assert_eq!(cut(&Frame { kind: BROADCAST, ..sent.clone() }), Err(Damaged));
        assert_eq!(cut(&Frame { flags: TOGETHER | MORE, ..sent.clone() }), Err(Damaged));
        let longer = [&sent.payload[..], &[0; 4]].concat();
        assert_eq!(cut(&frame(GATHER, 1, 3, longer.into())), Err(Damaged), "half a head");
        assert_eq!(cut(&frame(GATHER, 1, 3, sent.payload.slice(..16))), Err(Damaged), "without its padding");
    }
}
