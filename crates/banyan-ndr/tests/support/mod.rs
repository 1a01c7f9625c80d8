//! Random formats and values, and the plainest possible reader, writer and converter of bodies to compare with.
//!
//! Everything random is made from [`Choices`], a string of bytes that proptest can shrink.

pub(crate) mod body;
pub(crate) mod coerce;
pub(crate) mod effort;
pub(crate) mod model;
pub(crate) mod random;

/// Decisions, taken from bytes; 0 when they are used up.
pub(crate) struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices { bytes: bytes.iter() }
    }

    /// A byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    /// One of several.
    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// True once in `n`.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// As many random bytes as asked for, little-endian.
    pub(crate) fn bits(&mut self, bytes: usize) -> u128 {
        (0..bytes).fold(0, |bits, _| bits << 8 | u128::from(self.byte()))
    }
}
