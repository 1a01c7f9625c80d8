//! Ranks at equal distances, the piece that sets are made of: a run is one of distance 1.

/// Ranks from `first` to `last`, each `step` above the one before.
///
/// `step` is at least 1 and divides `last - first`, which is not negative. A single rank has step 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Progression {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) step: u32,
}

impl Progression {
    pub(super) fn run(first: u32, last: u32) -> Progression {
        Progression { first, last, step: 1 }
    }

    /// The ranks from `first` up to `last`, which need not be one of them; `None` if there is none.
    pub(super) fn up_to(first: u32, last: u32, step: u32) -> Option<Progression> {
        let over = last.checked_sub(first)? % step;
        let last = last - over;
        Some(Progression { first, last, step: if first == last { 1 } else { step } })
    }

    /// How many ranks: up to 2^32, one more than a `u32` holds.
    pub(super) fn len(self) -> u64 {
        u64::from((self.last - self.first) / self.step) + 1
    }

    pub(super) fn is_run(self) -> bool {
        self.step == 1
    }

    pub(super) fn contains(self, rank: u32) -> bool {
        (self.first..=self.last).contains(&rank) && (rank - self.first).is_multiple_of(self.step)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = u32> {
        (self.first..=self.last).step_by(self.step as usize)
    }

    /// Those below `rank`.
    pub(super) fn below(self, rank: u32) -> Option<Progression> {
        Progression::up_to(self.first, self.last.min(rank.checked_sub(1)?), self.step)
    }

    /// Those above `rank`.
    pub(super) fn above(self, rank: u32) -> Option<Progression> {
        if rank < self.first {
            return Some(self);
        }
        // At least one more, so that the next rank is within the last.
        let left = self.last.checked_sub(rank).filter(|left| *left > 0)?;
        let first = self.last - (left - 1) / self.step * self.step;
        Progression::up_to(first, self.last, self.step)
    }

    /// Those that both have: again at equal distances, the least common multiple of the two.
    pub(super) fn meet(self, other: Progression) -> Option<Progression> {
        let last = self.last.min(other.last);
        let (one, two) = (u64::from(self.step), u64::from(other.step));
        let divisor = gcd(one, two);
        let apart = i64::from(other.first) - i64::from(self.first);
        if apart.rem_euclid(divisor as i64) != 0 {
            return None;
        }
        // self.first + one * k is in the other's residue class for one k below two / divisor.
        let modulus = two / divisor;
        let wanted = (apart / divisor as i64).rem_euclid(modulus as i64) as u64;
        let k = wanted * inverse(one / divisor % modulus, modulus) % modulus;
        let step = one * modulus;
        let common = u64::from(self.first) + one * k;
        let start = u64::from(self.first.max(other.first));
        let first = common + start.saturating_sub(common).div_ceil(step) * step;
        let first = u32::try_from(first).ok()?;
        // A distance beyond all ranks leaves one of them at most.
        Progression::up_to(first, last, u32::try_from(step).unwrap_or(u32::MAX))
    }
}

fn gcd(one: u64, two: u64) -> u64 {
    if two == 0 { one } else { gcd(two, one % two) }
}

/// The number that gives 1 when multiplied with `value`, which has no divisor in common with `modulus`.
fn inverse(value: u64, modulus: u64) -> u64 {
    let (mut rest, mut next) = (modulus as i64, value as i64);
    let (mut factor, mut next_factor) = (0_i64, 1_i64);
    while next != 0 {
        let quotient = rest / next;
        (rest, next) = (next, rest - quotient * next);
        (factor, next_factor) = (next_factor, factor - quotient * next_factor);
    }
    factor.rem_euclid(modulus as i64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn progression() -> impl Strategy<Value = Progression> {
        let end = u32::MAX - 60;
        (prop_oneof![3 => 0..40_u32, 1 => end..=u32::MAX], 1..9_u32, 0..60_u32).prop_map(|(first, step, more)| {
            Progression::up_to(first, first.saturating_add(more), step).expect("the first is one of them")
        })
    }

    fn ranks(some: Option<Progression>) -> Vec<u32> {
        some.into_iter().flat_map(Progression::iter).collect()
    }

    proptest! {
        #[test]
        fn a_meeting_holds_what_both_hold(one in progression(), other in progression()) {
            let both: Vec<u32> = one.iter().filter(|rank| other.contains(*rank)).collect();
            prop_assert_eq!(ranks(one.meet(other)), both.clone());
            prop_assert_eq!(ranks(other.meet(one)), both);
        }

        #[test]
        fn a_cut_leaves_the_ranks_of_each_side(one in progression(), at in prop_oneof![0..120_u32, u32::MAX - 70..=u32::MAX]) {
            prop_assert_eq!(ranks(one.below(at)), one.iter().filter(|rank| *rank < at).collect::<Vec<_>>());
            prop_assert_eq!(ranks(one.above(at)), one.iter().filter(|rank| *rank > at).collect::<Vec<_>>());
        }
    }

    #[test]
    fn distances_beyond_all_ranks_meet_once() {
        let one = Progression::up_to(3, u32::MAX, 4_294_967_000 / 2).unwrap();
        let other = Progression::up_to(3, u32::MAX, 4_294_967_000 / 2 - 1).unwrap();
        assert_eq!(one.meet(other), Some(Progression::run(3, 3)));
        assert_eq!(one.meet(Progression::run(0, u32::MAX)), Some(one));
    }
}
