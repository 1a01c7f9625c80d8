//! The ways from senders' formats to receivers' formats that a decoder has found: one look-up for every record.
//!
//! With a thousand formats what a look-up costs is the memory it touches. So each of the receiver's formats has a table
//! of its own with small slots, at most a quarter full, in which a look-up finds what it looks for in the first slot as a rule: to go on to
//! the next is a branch that no processor foresees.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::FormatId;

/// The formats of sender and receiver, the latter by its [receiving id](crate::Format::receiving_id).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) source: FormatId,
    pub(crate) target: FormatId,
}

/// How records of one format become records of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// They are the same.
    Same,
    /// By the decoder's route of this number.
    Through(u32),
}

/// The ways found so far.
#[derive(Debug)]
pub(crate) struct Ways {
    /// One for each of the receiver's formats.
    tables: Vec<(FormatId, Table)>,
    /// Positions in `tables`.
    targets: HashMap<FormatId, usize, foldhash::fast::RandomState>,
    /// The table used last.
    recent: usize,
    /// Ids come from outside. Who does not know this number cannot choose formats that meet in a table.
    seed: u64,
}

impl Default for Ways {
    fn default() -> Self {
        Ways { tables: Vec::new(), targets: HashMap::default(), recent: 0, seed: RandomState::new().hash_one(0) }
    }
}

impl Ways {
    /// The way that was found for this pair.
    #[inline]
    pub(crate) fn find(&mut self, pair: Pair) -> Option<Way> {
        if self.tables.get(self.recent).is_none_or(|(target, _)| *target != pair.target) {
            self.recent = *self.targets.get(&pair.target)?;
        }
        self.tables[self.recent].1.find(pair.source, self.seed)
    }

    /// Remembers a way.
    pub(crate) fn insert(&mut self, pair: Pair, way: Way) {
        let table = *self.targets.entry(pair.target).or_insert_with(|| {
            self.tables.push((pair.target, Table::default()));
            self.tables.len() - 1
        });
        self.tables[table].1.insert(pair.source, way, self.seed);
    }
}

/// Ways by the sender's format: open addressing, at most a quarter full.
#[derive(Debug, Default)]
struct Table {
    /// A power of two, or none at all.
    slots: Vec<Option<(FormatId, Way)>>,
    used: usize,
}

impl Table {
    #[inline]
    fn find(&self, source: FormatId, seed: u64) -> Option<Way> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = source.mixed(seed) & mask;
        while let Some((other, way)) = &self.slots[at] {
            if *other == source {
                return Some(*way);
            }
            at = (at + 1) & mask;
        }
        None
    }

    fn insert(&mut self, source: FormatId, way: Way, seed: u64) {
        if 4 * (self.used + 1) > self.slots.len() {
            let larger = vec![None; (2 * self.slots.len()).max(8)];
            let old = std::mem::replace(&mut self.slots, larger);
            old.into_iter().flatten().for_each(|(source, way)| self.put(source, way, seed));
        }
        self.put(source, way, seed);
        self.used += 1;
    }

    fn put(&mut self, source: FormatId, way: Way, seed: u64) {
        let mask = self.slots.len() - 1;
        let mut at = source.mixed(seed) & mask;
        while self.slots[at].is_some() {
            at = (at + 1) & mask;
        }
        self.slots[at] = Some((source, way));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> FormatId {
        FormatId::from_bytes(number.to_be_bytes())
    }

    #[test]
    fn every_way_is_found_and_no_other() {
        let mut ways = Ways::default();
        let pair = |source: u128, target: u128| Pair { source: id(source), target: id(target) };
        for target in 0..3 {
            for source in 0..500 {
                assert_eq!(ways.find(pair(source, target)), None);
                ways.insert(pair(source, target), Way::Through((source * 10 + target) as u32));
            }
        }
        for target in 0..3 {
            for source in 0..500 {
                let way = Way::Through((source * 10 + target) as u32);
                assert_eq!(ways.find(pair(source, target)), Some(way));
            }
            assert_eq!(ways.find(pair(500, target)), None);
        }
        assert_eq!(ways.find(pair(0, 3)), None);
    }
}
