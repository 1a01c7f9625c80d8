//! Merges rows of numbers into boxes: products of one set of numbers for each column.
//!
//! Column by column from the last to the first: rows that agree in all columns before it, and in what was merged
//! behind it, become one. What is merged behind a column is kept once and known by its index, so that agreeing costs
//! one comparison. The boxes are disjoint and together hold exactly the rows.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::number::{Number, Run, runs};

/// The set of one column and what follows it: the end of a box.
#[derive(PartialEq, Eq, Hash)]
struct Suffix {
    runs: Vec<Run>,
    /// The columns behind, as an index of a suffix; [`END`] behind the last column.
    rest: u32,
}

const END: u32 = u32::MAX;

/// A row, merged from some column on.
#[derive(Clone, Copy)]
struct Merged {
    /// One of the rows it stands for: the first.
    row: u32,
    /// What it was merged into.
    suffix: u32,
}

/// The boxes of one family.
pub(super) struct Boxes {
    suffixes: Suffixes,
    merged: Vec<Merged>,
}

impl Boxes {
    /// Merges rows of `dimensions` numbers each. No two rows are equal.
    pub(super) fn merge(mut numbers: Vec<Number>, dimensions: usize) -> Boxes {
        sort_rows(&mut numbers, dimensions);
        let row = |merged: &Merged| &numbers[merged.row as usize * dimensions..][..dimensions];
        let mut suffixes = Suffixes::default();
        let rows = (numbers.len() / dimensions) as u32;
        let mut merged: Vec<Merged> = (0..rows).map(|row| Merged { row, suffix: END }).collect();
        for column in (0..dimensions).rev() {
            let mut next = Vec::new();
            for block in merged.chunk_by(|a, b| row(a)[..column] == row(b)[..column]) {
                merge_block(block, |merged| row(merged)[column], &mut suffixes, &mut next);
            }
            merged = next;
        }
        Boxes { suffixes, merged }
    }

    /// The boxes, each as the sets of its columns.
    pub(super) fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = &[Run]>> {
        self.merged.iter().map(|merged| self.suffixes.sides(merged.suffix))
    }
}

/// Merges rows that agree before a column, by what follows the column. The result is in the order of its first rows.
fn merge_block(
    block: &[Merged],
    number: impl Fn(&Merged) -> Number,
    suffixes: &mut Suffixes,
    result: &mut Vec<Merged>,
) {
    let start = result.len();
    let mut by_suffix = block.to_vec();
    // Rows are sorted: among those that agree before the column, a later row has no smaller number in it.
    by_suffix.sort_unstable_by_key(|merged| (merged.suffix, merged.row));
    for group in by_suffix.chunk_by(|a, b| a.suffix == b.suffix) {
        let runs = runs(group.iter().map(&number));
        let suffix = suffixes.intern(Suffix { runs, rest: group[0].suffix });
        result.push(Merged { row: group[0].row, suffix });
    }
    result[start..].sort_unstable_by_key(|merged| merged.row);
}

/// Suffixes, each once.
#[derive(Default)]
struct Suffixes {
    all: Vec<Suffix>,
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Suffixes {
    fn intern(&mut self, suffix: Suffix) -> u32 {
        let Suffixes { all, table, hasher } = self;
        let hash = hasher.hash_one(&suffix);
        if let Some(index) = table.find(hash, |index| all[*index as usize] == suffix) {
            return *index;
        }
        let index = all.len() as u32;
        all.push(suffix);
        table.insert_unique(hash, index, |index| hasher.hash_one(&all[*index as usize]));
        index
    }

    /// The sets of all columns from a suffix on.
    fn sides(&self, first: u32) -> impl Iterator<Item = &[Run]> {
        let get = |index: u32| self.all.get(index as usize);
        std::iter::successors(get(first), move |suffix| get(suffix.rest)).map(|suffix| suffix.runs.as_slice())
    }
}

/// Sorts rows that lie behind each other.
fn sort_rows(numbers: &mut Vec<Number>, dimensions: usize) {
    match dimensions {
        1 => numbers.sort_unstable(),
        2 => numbers.as_chunks_mut::<2>().0.sort_unstable(),
        3 => numbers.as_chunks_mut::<3>().0.sort_unstable(),
        4 => numbers.as_chunks_mut::<4>().0.sort_unstable(),
        _ => {
            let mut rows: Vec<&[Number]> = numbers.chunks_exact(dimensions).collect();
            rows.sort_unstable();
            *numbers = rows.concat();
        }
    }
}
