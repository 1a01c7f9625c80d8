//! Sets of member ranks, to say which members are where: `0-3,7,9-12`, `0-998/2`.
//!
//! A set is kept as sorted runs and strides: "all but two of 100,000" costs three runs, every second of a million one
//! stride. Its text and its bytes depend on its ranks only, not on how they came in; its bytes are the fewest of runs
//! and strides, or one bit a rank. [`RankSet::decode`] takes memory in proportion to the bytes it is given; a few bytes
//! may still stand for billions of ranks, so whoever walks a received set, or unites it with others, bounds that by what
//! it knows of the session ([`RankSet::last`], [`RankSet::len`]).

#![forbid(unsafe_code)]

mod algebra;
mod codec;
mod fold;
mod progression;
mod text;

use std::ops::RangeInclusive;

use fold::Folder;
use progression::Progression;

/// Ranks of members, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RankSet {
    /// As [`Folder`] makes them: sorted, one behind the other.
    pieces: Vec<Progression>,
}

/// Why there is no set of ranks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RankSetError {
    /// A text holds something else than ranks, ranges and strides.
    #[error("ranks, column {column}: {text:?} is not a rank or range of ranks; write for example 0-3,7 or 0-98/2")]
    Text {
        /// The character, from one.
        column: usize,
        /// What stands there, or its beginning.
        text: String,
    },
    /// Strides of a text interleave for longer than it is worth to work out.
    #[error(
        "ranks, column {column}: more than {max} ranks at a step lie within other ranges; name each rank once",
        max = text::MAX_INTERLEAVED
    )]
    Interleaved {
        /// The character where such a stride begins, from one.
        column: usize,
    },
    /// Bytes end within a set.
    #[error("ranks: the bytes end within a set, at offset {0}; the sender's message was cut")]
    Cut(usize),
    /// Bytes that are no set, or not written the one way a set is written.
    #[error("ranks: the bytes at offset {0} are not a set of ranks; the sender is of another version, or broken")]
    Malformed(usize),
}

impl RankSet {
    /// A set without ranks.
    pub const fn new() -> RankSet {
        RankSet { pieces: Vec::new() }
    }

    /// Adds one rank: fast if it is above all others, else in time proportional to the runs.
    pub fn insert(&mut self, rank: u32) {
        self.insert_range(rank..=rank);
    }

    /// Adds all ranks of a range; none if the range is empty.
    pub fn insert_range(&mut self, ranks: RangeInclusive<u32>) {
        if ranks.is_empty() {
            return;
        }
        let new = Progression::run(*ranks.start(), *ranks.end());
        let is_behind = |tail: &Progression| new.first > tail.last || (tail.is_run() && new.first >= tail.first);
        if self.pieces.last().is_none_or(is_behind) {
            let mut folder = Folder::resume(std::mem::take(&mut self.pieces));
            folder.push(new);
            self.pieces = folder.finish();
        } else {
            *self = self.union(&RankSet { pieces: vec![new] });
        }
    }

    /// True if the set has this rank.
    pub fn contains(&self, rank: u32) -> bool {
        let at = self.pieces.partition_point(|piece| piece.last < rank);
        self.pieces.get(at).is_some_and(|piece| piece.contains(rank))
    }

    /// How many ranks there are: up to 2^32, one more than a `u32` holds.
    pub fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The rank, if there is just one.
    pub fn only(&self) -> Option<u32> {
        match self.pieces[..] {
            [Progression { first, last, .. }] if first == last => Some(first),
            _ => None,
        }
    }

    /// The smallest rank.
    pub fn first(&self) -> Option<u32> {
        self.pieces.first().map(|piece| piece.first)
    }

    /// The largest rank.
    pub fn last(&self) -> Option<u32> {
        self.pieces.last().map(|piece| piece.last)
    }

    /// The ranks, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.pieces.iter().flat_map(|piece| piece.iter())
    }

    /// The ranks as ranges, ascending; at least one rank is missing between two of them.
    pub fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u32>> {
        // A run is one range, each rank of a stride another.
        self.pieces.iter().flat_map(|piece| {
            let reach = if piece.is_run() { piece.last - piece.first } else { 0 };
            let starts = (piece.first..=piece.last - reach).step_by(piece.step as usize);
            starts.map(move |first| first..=first + reach)
        })
    }
}

impl Extend<u32> for RankSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, ranks: I) {
        *self = self.union(&ranks.into_iter().collect());
    }
}

impl FromIterator<u32> for RankSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> RankSet {
        let mut ranks: Vec<u32> = ranks.into_iter().collect();
        ranks.sort_unstable();
        let mut folder = Folder::default();
        ranks.into_iter().for_each(|rank| folder.push(Progression::run(rank, rank)));
        RankSet { pieces: folder.finish() }
    }
}
