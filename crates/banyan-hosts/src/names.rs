//! Names in the order in which they were inserted, each once, found by their text.
//!
//! All names lie behind each other in one string, found through a hash table of their places: a set of a million names
//! is three allocations.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::error::Problem;
use super::limits::{MAX_HOSTS, MAX_TEXT_BYTES};

const _: () = assert!(MAX_TEXT_BYTES <= u32::MAX as usize);

#[derive(Clone, Default)]
pub(super) struct Names {
    text: String,
    /// Where each name ends. It starts where the one before ends.
    ends: Vec<u32>,
    /// The names that are in the set. One that is not here was removed, and still takes its place in `ends`.
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Names {
    /// How many names there are, without those removed.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Makes room, once, for names to come.
    pub(super) fn reserve(&mut self, names: usize) {
        let Names { text, ends, table, hasher } = self;
        table.reserve(names, |place| hasher.hash_one(name_at(text, ends, *place)));
        ends.reserve(names);
    }

    /// The name at a place, were no name ever removed.
    pub(super) fn get(&self, place: usize) -> Option<&str> {
        (place < self.ends.len()).then(|| name_at(&self.text, &self.ends, place as u32))
    }

    pub(super) fn place_of(&self, name: &str) -> Option<usize> {
        let same = |place: &u32| name_at(&self.text, &self.ends, *place) == name;
        self.table.find(self.hasher.hash_one(name), same).map(|place| *place as usize)
    }

    /// Appends a name that is not there yet.
    pub(super) fn insert(&mut self, name: &str) -> Result<(), Problem> {
        let Names { text, ends, table, hasher } = self;
        let hash = hasher.hash_one(name);
        if table.find(hash, |place| name_at(text, ends, *place) == name).is_some() {
            return Ok(());
        }
        if table.len() >= MAX_HOSTS {
            return Err(Problem::TooManyHosts);
        }
        // Names removed count too: they still take their bytes.
        if text.len() + name.len() > MAX_TEXT_BYTES {
            return Err(Problem::TooMuchText);
        }
        text.push_str(name);
        ends.push(text.len() as u32);
        let place = (ends.len() - 1) as u32;
        table.insert_unique(hash, place, |place| hasher.hash_one(name_at(text, ends, *place)));
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) {
        let Names { text, ends, table, hasher } = self;
        if let Ok(entry) = table.find_entry(hasher.hash_one(name), |place| name_at(text, ends, *place) == name) {
            entry.remove();
        }
    }

    /// The names that are in the set, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let any_removed = self.table.len() < self.ends.len();
        let places = 0..self.ends.len() as u32;
        let names = places.map(|place| (place, name_at(&self.text, &self.ends, place)));
        let is_there = move |(place, name): &(u32, &str)| !any_removed || self.place_of(name) == Some(*place as usize);
        names.filter(is_there).map(|(_, name)| name)
    }

    /// The same names where `keep` says so, and none removed.
    pub(super) fn filtered(&self, keep: impl Fn(&str) -> bool) -> Names {
        let mut kept = Names::default();
        for name in self.iter().filter(|name| keep(name)) {
            kept.insert(name).expect("a part of a set keeps the bounds of the set");
        }
        kept
    }

    /// Forgets the places of removed names.
    pub(super) fn without_gaps(self) -> Names {
        if self.table.len() == self.ends.len() { self } else { self.filtered(|_| true) }
    }
}

fn name_at<'a>(text: &'a str, ends: &[u32], place: u32) -> &'a str {
    let place = place as usize;
    let start = if place == 0 { 0 } else { ends[place - 1] };
    &text[start as usize..ends[place] as usize]
}
