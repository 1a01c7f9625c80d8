//! Memory for what is copied out of rings. A hub takes one payload after the other from many spokes: an allocation for each
//! would be most of what reading costs, so many lie in one piece, which is given back when the last of them is. A spoke
//! takes one and sleeps: it is best served with the memory that it gave back last, which is still in the cache.

use bytes::{BufMut, Bytes, BytesMut};

use crate::frame::FRAME_ALIGN;

/// Bytes of a piece, for a few dozen frames as programs begin with. All of it is held while one payload in it is.
const PIECE: usize = 4096;

/// See the module.
#[derive(Debug)]
pub(super) enum Arena {
    /// For many.
    Pieces(BytesMut),
    /// For one.
    Single,
}

impl Arena {
    /// A payload of so many bytes, made of words, where it can be viewed in place.
    pub(super) fn take(&mut self, length: usize, words: impl Iterator<Item = u32>) -> Bytes {
        if length == 0 {
            return Bytes::new();
        }
        let Arena::Pieces(piece) = self else { return single(length, words) };
        let room = length.next_multiple_of(FRAME_ALIGN);
        if piece.capacity() < room {
            // What nobody holds any more is used again.
            piece.reserve(PIECE.max(room));
        }
        words.for_each(|word| piece.put_slice(&word.to_ne_bytes()));
        piece.resize(room, 0);
        let mut payload = piece.split();
        payload.truncate(length);
        payload.freeze()
    }
}

/// Memory of its own, exactly as long: otherwise there would be a second allocation for what is left over.
fn single(length: usize, words: impl Iterator<Item = u32>) -> Bytes {
    let mut bytes = Vec::with_capacity(length);
    for word in words.map(u32::to_ne_bytes) {
        match length - bytes.len() {
            rest @ ..4 => bytes.extend_from_slice(&word[..rest]),
            _ => bytes.extend_from_slice(&word),
        }
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_what_was_put_in_and_aligned() {
        for mut arena in [Arena::Pieces(BytesMut::new()), Arena::Single] {
            let mut held = Vec::new();
            for length in (0..3000usize).step_by(7) {
                let words = (0..length.div_ceil(4)).map(|at| at as u32 ^ length as u32);
                let payload = arena.take(length, words.clone());
                let bytes: Vec<u8> = words.flat_map(u32::to_ne_bytes).take(length).collect();
                assert_eq!(payload, bytes);
                assert!(length == 0 || payload.as_ptr().addr().is_multiple_of(8));
                if length % 3 == 0 {
                    held.push((payload, bytes));
                }
            }
            assert!(held.into_iter().all(|(payload, bytes)| payload == bytes), "what is held is not overwritten");
        }
    }

    #[test]
    fn what_nobody_holds_is_used_again() {
        let mut arena = Arena::Pieces(BytesMut::new());
        let places: std::collections::BTreeSet<usize> =
            (0..10_000).map(|_| arena.take(64, [0; 16].into_iter()).as_ptr().addr() / PIECE).collect();
        assert!(places.len() <= 4, "{} pieces for payloads that were dropped at once", places.len());
    }
}
