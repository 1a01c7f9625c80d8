//! Sets of member ranks, to say which members are where: `0-3,7,9-12`.
//!
//! A set is kept as sorted runs, none touching the next, so that "all but two of 100,000" costs three runs. Its text
//! and its bytes depend on its ranks only, not on how they came in. [`RankSet::decode`] takes memory in proportion to
//! the bytes it is given; a few bytes may still stand for billions of ranks, so whoever walks a received set bounds
//! the walk by what it knows of the session ([`RankSet::last`], [`RankSet::len`]).

mod codec;
mod text;

use std::ops::RangeInclusive;

/// Ranks of members, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RankSet {
    /// Sorted; between two runs at least one rank is missing.
    runs: Vec<Run>,
}

/// Ranks from `first` to `last`, which is not below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Run {
    first: u32,
    last: u32,
}

impl Run {
    fn len(self) -> u64 {
        u64::from(self.last) - u64::from(self.first) + 1
    }

    /// True if at least one rank is missing between this run and one that starts at `rank`.
    fn ends_apart_from(self, rank: u32) -> bool {
        self.last.checked_add(1).is_some_and(|next| next < rank)
    }
}

/// Why there is no set of ranks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RankSetError {
    /// A text holds something else than ranks and ranges.
    #[error("ranks, column {column}: {text:?} is no rank or range of ranks; write for example 0-3,7")]
    Text {
        /// The character, from one.
        column: usize,
        /// What stands there, or its beginning.
        text: String,
    },
    /// Bytes end within a set.
    #[error("ranks: the bytes end within run {run} of {runs}; the sender's message was cut")]
    Cut {
        /// The run, from zero.
        run: u64,
        /// How many were announced.
        runs: u64,
    },
    /// Bytes that are no set, or not written the one way a set is written.
    #[error("ranks: the bytes at offset {0} are no set of ranks; the sender is of another version, or broken")]
    Malformed(usize),
}

impl RankSet {
    /// A set without ranks.
    pub const fn new() -> RankSet {
        RankSet { runs: Vec::new() }
    }

    /// Adds one rank.
    pub fn insert(&mut self, rank: u32) {
        self.insert_range(rank..=rank);
    }

    /// Adds all ranks of a range; none if the range is empty.
    pub fn insert_range(&mut self, ranks: RangeInclusive<u32>) {
        if ranks.is_empty() {
            return;
        }
        let (mut first, mut last) = ranks.into_inner();
        // The runs that overlap or touch the new one become part of it.
        let start = self.runs.partition_point(|run| run.ends_apart_from(first));
        let touched = |run: &Run| !Run { first, last }.ends_apart_from(run.first);
        let end = start + self.runs[start..].partition_point(touched);
        if let [merged_first, ..] = self.runs[start..end] {
            first = first.min(merged_first.first);
            last = last.max(self.runs[end - 1].last);
        }
        self.runs.splice(start..end, [Run { first, last }]);
    }

    /// True if the set has this rank.
    pub fn contains(&self, rank: u32) -> bool {
        let at = self.runs.partition_point(|run| run.last < rank);
        self.runs.get(at).is_some_and(|run| run.first <= rank)
    }

    /// How many ranks there are: up to 2^32, one more than a `u32` holds.
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|run| run.len()).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The smallest rank.
    pub fn first(&self) -> Option<u32> {
        self.runs.first().map(|run| run.first)
    }

    /// The largest rank.
    pub fn last(&self) -> Option<u32> {
        self.runs.last().map(|run| run.last)
    }

    /// The ranks, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.runs.iter().flat_map(|run| run.first..=run.last)
    }

    /// The ranks as ranges, ascending; at least one rank is missing between two of them.
    pub fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u32>> {
        self.runs.iter().map(|run| run.first..=run.last)
    }

    /// The ranks of both sets, in time proportional to their runs.
    pub fn union(&self, other: &RankSet) -> RankSet {
        let mut union = RankSet { runs: Vec::with_capacity(self.runs.len() + other.runs.len()) };
        let (mut left, mut right) = (self.runs.iter().peekable(), other.runs.iter().peekable());
        loop {
            let next = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a.first <= b.first => left.next(),
                (Some(_), None) => left.next(),
                _ => right.next(),
            };
            match next {
                Some(run) => union.append(*run),
                None => return union,
            }
        }
    }

    /// Adds a run that starts no earlier than the last one.
    fn append(&mut self, run: Run) {
        match self.runs.last_mut() {
            Some(last) if !last.ends_apart_from(run.first) => last.last = last.last.max(run.last),
            _ => self.runs.push(run),
        }
    }
}

impl Extend<u32> for RankSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, ranks: I) {
        ranks.into_iter().for_each(|rank| self.insert(rank));
    }
}

impl FromIterator<u32> for RankSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> RankSet {
        let mut ranks: Vec<u32> = ranks.into_iter().collect();
        // Sorted, each rank is appended: ranks in no order do not shift the runs behind them again and again.
        ranks.sort_unstable();
        let mut set = RankSet::new();
        ranks.into_iter().for_each(|rank| set.append(Run { first: rank, last: rank }));
        set
    }
}

// Stands in until the sets of the other branch come.
impl RankSet {
    pub fn is_subset(&self, other: &RankSet) -> bool {
        self.runs.iter().all(|run| {
            let at = other.runs.partition_point(|o| o.last < run.first);
            other.runs.get(at).is_some_and(|o| o.first <= run.first && run.last <= o.last)
        })
    }
    pub fn is_disjoint(&self, other: &RankSet) -> bool {
        self.runs.iter().all(|run| {
            let at = other.runs.partition_point(|o| o.last < run.first);
            other.runs.get(at).is_none_or(|o| o.first > run.last)
        })
    }
    pub fn difference(&self, other: &RankSet) -> RankSet {
        self.iter().filter(|rank| !other.contains(*rank)).collect()
    }
    pub fn intersection(&self, other: &RankSet) -> RankSet {
        self.iter().filter(|rank| other.contains(*rank)).collect()
    }
}
