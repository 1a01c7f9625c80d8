//! Memory for small payloads that come one after the other. An allocation for each would be most of what they cost: where a
//! process takes many in a row, and where it was asleep and all that the allocator looks at has left the caches. So many
//! lie in one piece, which is used again when nobody holds any of them.

use bytes::{BufMut, Bytes, BytesMut};

use crate::frame::FRAME_ALIGN;

/// See the module.
#[derive(Debug)]
pub struct Arena {
    piece: BytesMut,
    /// Bytes of a piece. All of it is held while one payload in it is.
    size: usize,
}

impl Arena {
    /// Bytes of a piece for who takes many payloads before it gives the first one back.
    pub const MANY: usize = 4096;
    /// The same for who takes one and gives it back.
    pub const FEW: usize = 512;

    /// Memory in pieces of so many bytes; longer payloads have memory of their own. There is none until it is needed.
    pub fn new(size: usize) -> Arena {
        Arena { piece: BytesMut::new(), size }
    }

    /// A payload of these parts, where it can be viewed in place.
    pub fn join(&mut self, parts: &[&[u8]]) -> Bytes {
        let length = parts.iter().map(|part| part.len()).sum();
        self.take(length, |piece| parts.iter().for_each(|part| piece.put_slice(part)))
    }

    /// The same of words, of which the last may be longer than what is left of the payload.
    pub(crate) fn gather(&mut self, length: usize, words: impl Iterator<Item = u32>) -> Bytes {
        self.take(length, |piece| words.for_each(|word| piece.put_slice(&word.to_ne_bytes())))
    }

    fn take(&mut self, length: usize, fill: impl FnOnce(&mut BytesMut)) -> Bytes {
        if length == 0 {
            return Bytes::new();
        }
        let room = length.next_multiple_of(FRAME_ALIGN);
        if room > self.size {
            // By itself: a piece as long as the longest payload would stay for good.
            let mut payload = BytesMut::with_capacity(room);
            fill(&mut payload);
            payload.truncate(length);
            return payload.freeze();
        }
        if self.piece.capacity() < room {
            // What nobody holds any more is used again.
            self.piece.reserve(self.size);
        }
        fill(&mut self.piece);
        self.piece.resize(room, 0);
        let mut payload = self.piece.split();
        payload.truncate(length);
        payload.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_what_was_put_in_and_aligned() {
        let mut arena = Arena::new(Arena::FEW);
        let mut held = Vec::new();
        for length in (0..3000usize).step_by(7) {
            let words = (0..length.div_ceil(4)).map(|at| at as u32 ^ length as u32);
            let bytes: Vec<u8> = words.clone().flat_map(u32::to_ne_bytes).take(length).collect();
            let (front, back) = bytes.split_at(length / 3);
            for payload in [arena.gather(length, words.clone()), arena.join(&[front, back])] {
                assert_eq!(payload, bytes);
                assert!(length == 0 || payload.as_ptr().addr().is_multiple_of(FRAME_ALIGN));
                if length % 3 == 0 {
                    held.push((payload, bytes.clone()));
                }
            }
        }
        assert!(held.into_iter().all(|(payload, bytes)| payload == bytes), "what is held is not overwritten");
    }

    #[test]
    fn long_payloads_leave_pieces_as_they_are() {
        let mut arena = Arena::new(Arena::FEW);
        let small = arena.join(&[&[1; 16]]);
        let long = arena.join(&[&[2; 100_000]]);
        assert_eq!(arena.join(&[&[3; 16]]).as_ptr().addr(), small.as_ptr().addr() + 16);
        assert_eq!((small.len(), long), (16, Bytes::from(vec![2; 100_000])));
    }

    #[test]
    fn what_nobody_holds_is_used_again() {
        for size in [Arena::FEW, Arena::MANY] {
            let mut arena = Arena::new(size);
            let places: std::collections::BTreeSet<usize> =
                (0..10_000).map(|_| arena.join(&[&[0; 64]]).as_ptr().addr() / Arena::MANY).collect();
            assert!(places.len() <= 4, "{} places for payloads that were dropped at once", places.len());
        }
    }
}
