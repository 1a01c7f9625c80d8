//! Which units of a pool are free. Pure arithmetic; that no unit is given out twice is what the memory above relies on.

use std::collections::BTreeMap;
use std::ops::Range;

/// The free units of a pool, as runs that do not touch each other.
#[derive(Debug)]
pub(super) struct Units {
    /// Ends of free runs by where they begin.
    free: BTreeMap<usize, usize>,
}

impl Units {
    /// All of these are free.
    pub(super) fn new(all: Range<usize>) -> Units {
        Units { free: BTreeMap::from([(all.start, all.end)]) }
    }

    /// Takes the first units of which so many are free side by side: what was used once is used again first.
    pub(super) fn take(&mut self, count: usize) -> Option<Range<usize>> {
        let (start, end) =
            self.free.iter().map(|(start, end)| (*start, *end)).find(|(start, end)| end - start >= count)?;
        self.free.remove(&start);
        if start + count < end {
            self.free.insert(start + count, end);
        }
        Some(start..start + count)
    }

    /// Gives units back that were taken together.
    pub(super) fn give_back(&mut self, units: Range<usize>) {
        let Range { mut start, mut end } = units;
        let before = self.free.range(..start).next_back().map(|(at, its_end)| (*at, *its_end));
        let after = self.free.range(start..).next().map(|(at, its_end)| (*at, *its_end));
        let overlaps = before.is_some_and(|(_, its_end)| its_end > start) || after.is_some_and(|(at, _)| at < end);
        assert!(!overlaps, "units are given back once");
        if let Some((at, _)) = before.filter(|(_, its_end)| *its_end == start) {
            start = at;
        }
        if let Some((at, its_end)) = after.filter(|(at, _)| *at == end) {
            self.free.remove(&at);
            end = its_end;
        }
        self.free.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbours_become_one_run_again() {
        let mut units = Units::new(1..10);
        let taken: Vec<_> = (0..3).filter_map(|_| units.take(3)).collect();
        assert_eq!(taken, [1..4, 4..7, 7..10]);
        assert_eq!(units.take(1), None);
        for at in [0, 2, 1] {
            units.give_back(taken[at].clone());
        }
        assert_eq!(units.take(9), Some(1..10));
    }

    #[test]
    #[should_panic(expected = "given back once")]
    fn units_that_are_free_are_not_given_back() {
        let mut units = Units::new(0..10);
        let taken = units.take(4).unwrap();
        units.give_back(taken.clone());
        units.give_back(taken);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 256 }, ..ProptestConfig::default() })]

        #[test]
        fn no_unit_is_given_out_twice_and_none_is_forgotten(choices in prop::collection::vec((any::<bool>(), 1usize..9), 1..100)) {
            let all = 1..40;
            let mut units = Units::new(all.clone());
            let mut taken: Vec<Range<usize>> = Vec::new();
            for (gives_back, number) in choices {
                if gives_back && !taken.is_empty() {
                    units.give_back(taken.swap_remove(number % taken.len()));
                } else if let Some(new) = units.take(number) {
                    prop_assert_eq!(new.len(), number);
                    prop_assert!(all.start <= new.start && new.end <= all.end);
                    prop_assert!(taken.iter().all(|old| old.end <= new.start || new.end <= old.start));
                    taken.push(new);
                }
            }
            taken.into_iter().for_each(|old| units.give_back(old));
            prop_assert_eq!(units.take(all.len()), Some(all));
        }
    }
}
