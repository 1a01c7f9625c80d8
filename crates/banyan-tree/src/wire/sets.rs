//! The sets of members that both ends of a link know by number.
//!
//! The sender puts a set in and tells the receiver, who puts it in too: both hold the same sets under the same numbers,
//! and forget the oldest when a new one does not fit.

use std::collections::VecDeque;
use std::sync::Arc;

use banyan_boot::RankSet;

/// Sets that are known at a time. Streams have a handful each: everyone, everyone below, and who is missing just now.
const SETS: usize = 256;

/// Bytes that all known sets may have taken on the link, but for the last one, which is always kept: enough for 256 sets
/// that are as irregular as sets of a hundred thousand ranks can be.
const SET_BYTES: usize = 4 << 20;

/// Sets by number.
#[derive(Debug, Default)]
pub(super) struct MemberSets {
    sets: VecDeque<KnownSet>,
    /// The number of the oldest. Numbers begin at 0 again after the largest.
    first: u32,
    /// Of all of them.
    bytes: usize,
}

#[derive(Debug)]
struct KnownSet {
    set: Arc<RankSet>,
    /// What it took on the link.
    bytes: usize,
}

impl MemberSets {
    /// The number that the next new set gets.
    pub(super) fn next(&self) -> u32 {
        self.number(self.sets.len())
    }

    /// The set of a number.
    pub(super) fn get(&self, number: u32) -> Option<&Arc<RankSet>> {
        self.sets.get(number.wrapping_sub(self.first) as usize).map(|known| &known.set)
    }

    /// The number of a set, if it is known: by where it is in memory or else by its ranks.
    pub(super) fn find(&mut self, set: &Arc<RankSet>) -> Option<u32> {
        if let Some(at) = self.sets.iter().rposition(|known| Arc::ptr_eq(&known.set, set)) {
            return Some(self.number(at));
        }
        let at = self.sets.iter().rposition(|known| known.set == *set)?;
        // Found sooner the next time.
        self.sets[at].set = Arc::clone(set);
        Some(self.number(at))
    }

    /// Notes a new set that takes so many bytes on the link, as [`next`](Self::next).
    pub(super) fn add(&mut self, set: Arc<RankSet>, bytes: usize) {
        while self.sets.len() >= SETS || self.bytes + bytes > SET_BYTES {
            let Some(oldest) = self.sets.pop_front() else { break };
            self.bytes -= oldest.bytes;
            self.first = self.first.wrapping_add(1);
        }
        self.bytes += bytes;
        self.sets.push_back(KnownSet { set, bytes });
    }

    fn number(&self, at: usize) -> u32 {
        // There are no more than `SETS`.
        self.first.wrapping_add(at as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(first: u32) -> Arc<RankSet> {
        Arc::new((first..first + 9).collect())
    }

    #[test]
    fn the_oldest_of_too_many_sets_is_forgotten_and_numbers_go_on() {
        let mut sets = MemberSets { first: u32::MAX - 10, ..MemberSets::default() };
        for at in 0..1000u32 {
            let number = (u32::MAX - 10).wrapping_add(at);
            assert_eq!(sets.next(), number);
            sets.add(set(at), 4);
            assert_eq!(sets.get(number), Some(&set(at)));
        }
        assert_eq!(sets.sets.len(), SETS);
        assert_eq!(sets.find(&set(1000 - 257)), None);
        assert_eq!(sets.find(&set(1000 - 256)), Some(sets.first));
        assert_eq!(sets.get(sets.first.wrapping_sub(1)), None);
        assert_eq!(sets.get(sets.next()), None);
    }

    #[test]
    fn sets_that_take_many_bytes_are_forgotten_sooner_but_for_the_last() {
        let mut sets = MemberSets::default();
        sets.add(set(1), SET_BYTES / 2);
        sets.add(set(2), SET_BYTES / 2);
        assert_eq!(sets.sets.len(), 2);
        sets.add(set(3), 1);
        assert_eq!((sets.get(0), sets.get(1), sets.get(2)), (None, Some(&set(2)), Some(&set(3))));
        sets.add(set(4), 2 * SET_BYTES);
        assert_eq!((sets.get(2), sets.get(3)), (None, Some(&set(4))));
        sets.add(set(5), 1);
        assert_eq!((sets.get(3), sets.get(4), sets.bytes), (None, Some(&set(5)), 1));
    }

    #[test]
    fn a_set_is_found_by_its_memory_and_by_its_ranks() {
        let mut sets = MemberSets::default();
        let (one, same) = (set(1), set(1));
        sets.add(Arc::clone(&one), 4);
        sets.add(set(2), 4);
        assert_eq!(sets.find(&one), Some(0));
        assert_eq!(sets.find(&same), Some(0));
        assert!(Arc::ptr_eq(sets.get(0).unwrap(), &same));
    }
}
