//! Sets of ranks as bytes: runs and strides, or one bit a rank, whichever is shorter (the former if both are).
//!
//! Numbers are of variable length: seven bits a byte, the lowest first, the high bit on all bytes but the last. A set
//! begins with a number: in its lowest bit 0 for runs and strides, 1 for bits, above it how many pieces or bytes follow.
//!
//! | piece | first number | then |
//! | --- | --- | --- |
//! | a run behind the smallest gap | its ranks less one, above the bit `1` | |
//! | another run | its ranks less one, above the bits `00` | the gap |
//! | a stride | its ranks less one, above the bits `10` | the gap, its step less two |
//!
//! The gap counts the ranks missing before the piece, less the smallest number there can be (none before the first
//! piece, one between two), and less one more where a run says that it is not the smallest. Bits follow the number
//! of the first rank: the lowest bit of the first byte stands for that rank, and the last byte is not 0.
//!
//! A set is written in one way, and no other is read: equal sets have equal bytes. All of a million but two are ten
//! bytes, every second of a million is six, a random half of them 125 kB.

use super::fold::Folder;
use super::progression::Progression;
use super::{RankSet, RankSetError};

/// Bytes of the longest number: 34 bits, of which 32 are a rank, fit into five times seven.
const MAX_NUMBER_BYTES: usize = 5;

/// Set in the first number of a set of bits.
const BITS: u64 = 1;

impl RankSet {
    /// Appends the set to `bytes`.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        match self.bits() {
            Some(bits) => bits.encode(self, bytes),
            None => self.encode_pieces(|number| push(bytes, number)),
        }
    }

    /// Reads a set from the beginning of `bytes`, and says how many bytes it took.
    pub fn decode(bytes: &[u8]) -> Result<(RankSet, usize), RankSetError> {
        let mut reader = RankDecoder { bytes, at: 0 };
        let head = reader.number()?;
        let set = if head & BITS == 0 { reader.pieces(head >> 1)? } else { reader.bits(head >> 1)? };
        // Written in the shorter way.
        if set.bits().is_some() != (head & BITS != 0) {
            return Err(RankSetError::Malformed(0));
        }
        Ok((set, reader.at))
    }

    /// The set as bits, if these are shorter than runs and strides.
    fn bits(&self) -> Option<Bits> {
        let (first, last) = (self.first()?, self.last()?);
        let bits = Bits { first, bytes: (u64::from(last) - u64::from(first)) / 8 + 1 };
        // Each piece takes a byte: most sets are decided without counting.
        if bits.encoded_len() <= self.pieces.len() as u64 {
            return Some(bits);
        }
        let mut length = 0;
        self.encode_pieces(|number| length += length_of(number));
        (bits.encoded_len() < length).then_some(bits)
    }

    /// Gives the numbers of the set as runs and strides.
    fn encode_pieces(&self, mut number: impl FnMut(u64)) {
        number((self.pieces.len() as u64) << 1);
        let mut next = 0;
        for piece in &self.pieces {
            let (gap, more) = (u64::from(piece.first) - next, piece.len() - 1);
            match (piece.is_run(), gap) {
                (true, 0) => number(more << 1 | 1),
                (true, _) => {
                    number(more << 2);
                    number(gap - 1);
                }
                (false, _) => {
                    number(more << 2 | 2);
                    number(gap);
                    number(u64::from(piece.step) - 2);
                }
            }
            next = u64::from(piece.last) + 2;
        }
    }
}

/// Where bits begin, and how many bytes of them there are.
#[derive(Clone, Copy)]
struct Bits {
    first: u32,
    bytes: u64,
}

impl Bits {
    fn head(self) -> u64 {
        self.bytes << 1 | BITS
    }

    fn encoded_len(self) -> u64 {
        length_of(self.head()) + length_of(self.first.into()) + self.bytes
    }

    fn encode(self, set: &RankSet, bytes: &mut Vec<u8>) {
        push(bytes, self.head());
        push(bytes, self.first.into());
        let start = bytes.len();
        bytes.resize(start + self.bytes as usize, 0);
        for rank in set.iter() {
            let bit = (rank - self.first) as usize;
            bytes[start + bit / 8] |= 1 << (bit % 8);
        }
    }
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Bytes that a number takes.
fn length_of(number: u64) -> u64 {
    u64::from((u64::BITS - number.leading_zeros()).div_ceil(7).max(1))
}

struct RankDecoder<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl RankDecoder<'_> {
    /// Reads a number of at most [`MAX_NUMBER_BYTES`] bytes that is not written longer than it must be.
    fn number(&mut self) -> Result<u64, RankSetError> {
        let start = self.at;
        let mut number = 0;
        for index in 0..MAX_NUMBER_BYTES {
            let byte = self.bytes.get(self.at).ok_or(RankSetError::Cut(self.at))?;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                let is_shortest = *byte != 0 || index == 0;
                return if is_shortest { Ok(number) } else { Err(RankSetError::Malformed(start)) };
            }
        }
        Err(RankSetError::Malformed(start))
    }

    /// Reads so many runs and strides.
    fn pieces(&mut self, count: u64) -> Result<RankSet, RankSetError> {
        // Memory is taken for pieces that can be there, a byte each, not for pieces that are announced.
        let possible = self.bytes.len() - self.at;
        let mut pieces = Vec::with_capacity(possible.min(usize::try_from(count).unwrap_or(possible)));
        let mut folder = Folder::with_capacity(pieces.capacity());
        let mut next = 0;
        for _ in 0..count {
            let start = self.at;
            let piece = self.piece(next)?.ok_or(RankSetError::Malformed(start))?;
            folder.push(piece);
            pieces.push(piece);
            next = u64::from(piece.last) + 2;
        }
        // What folds otherwise was not written by us.
        if folder.finish() == pieces { Ok(RankSet { pieces }) } else { Err(RankSetError::Malformed(0)) }
    }

    /// Reads a piece behind the ranks below `next`; `None` if its ranks are none.
    fn piece(&mut self, next: u64) -> Result<Option<Progression>, RankSetError> {
        let head = self.number()?;
        let (more, gap, step) = match head & 3 {
            1 | 3 => (head >> 1, 0, 1),
            0 => (head >> 2, self.number()? + 1, 1),
            _ => (head >> 2, self.number()?, self.number()? + 2),
        };
        let first = next + gap;
        // Neither factor has more than 36 bits; a product that does not fit is no rank either.
        let last = more.checked_mul(step).and_then(|reach| first.checked_add(reach));
        let last = last.and_then(|last| u32::try_from(last).ok());
        Ok(match (u32::try_from(first), last, u32::try_from(step)) {
            (Ok(first), Some(last), Ok(step)) => Some(Progression { first, last, step }),
            _ => None,
        })
    }

    /// Reads so many bytes of bits.
    fn bits(&mut self, count: u64) -> Result<RankSet, RankSetError> {
        let head = self.at;
        let first = u32::try_from(self.number()?).map_err(|_| RankSetError::Malformed(head))?;
        let start = self.at;
        let end = usize::try_from(count).ok().and_then(|count| start.checked_add(count));
        let bits = end.and_then(|end| self.bytes.get(start..end)).ok_or(RankSetError::Cut(self.bytes.len()))?;
        self.at += bits.len();
        let is_tight = bits.first().is_some_and(|byte| byte & 1 != 0) && bits.last() != Some(&0);
        if !is_tight {
            return Err(RankSetError::Malformed(start));
        }
        let mut folder = Folder::default();
        for (index, byte) in bits.iter().enumerate() {
            let mut left = *byte;
            while left != 0 {
                let low = left.trailing_zeros();
                let length = (left >> low).trailing_ones();
                let rank = u64::from(first) + index as u64 * 8 + u64::from(low);
                let last = u32::try_from(rank + u64::from(length) - 1);
                let last = last.map_err(|_| RankSetError::Malformed(start + index))?;
                folder.push(Progression::run(rank as u32, last));
                // A run to the highest bit leaves nothing.
                left = left.checked_shr(low + length).map_or(0, |rest| rest.unbounded_shl(low + length));
            }
        }
        Ok(RankSet { pieces: folder.finish() })
    }
}
