//! The number of a collective: every member counts its own from 0, so equal numbers mean the same collective.
//!
//! Frames carry the low 32 bits. Members are never far apart ([`PACE`](super::PACE)), so whoever receives them knows
//! the rest, and a session may go through more than 2^32 collectives.

use std::fmt;

/// Number of a collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(pub(super) u64);

impl Number {
    /// What stands in a frame.
    pub(super) fn sequence(self) -> u32 {
        self.0 as u32
    }

    /// The number nearest to this one that stands in a frame as `sequence`; none if it would be before the first.
    pub(super) fn nearest(self, sequence: u32) -> Option<Self> {
        let distance = sequence.wrapping_sub(self.sequence()).cast_signed();
        self.0.checked_add_signed(distance.into()).map(Self)
    }

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_low_bits_give_the_number_back_on_both_sides_of_a_wrap() {
        let base = Number((7 << 32) - 3);
        for distance in -40..40 {
            let number = Number(base.0.wrapping_add_signed(distance));
            assert_eq!(base.nearest(number.sequence()), Some(number));
        }
    }

    #[test]
    fn there_is_no_number_before_the_first() {
        assert_eq!(Number(2).nearest(u32::MAX), None);
        assert_eq!(Number(2).nearest(0), Some(Number(0)));
    }
}
