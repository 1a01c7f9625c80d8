//! Which records of a member the bodies of a run are of, where filters on the way made none or several of some.
//!
//! Records keep the numbers that their member gave them, whatever filters make of them: so the front-end knows each by its
//! number, takes each once, and misses none of which nothing was made.

use std::ops::Range;
use std::sync::Arc;

/// Of each body of a run, which of the run's records it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Yields {
    /// Records of the run.
    records: u32,
    /// For each body the record, counted from the first of the run. They ascend.
    sources: Arc<[u32]>,
}

impl Yields {
    /// Of so many records, by the record of each body. None if these do not ascend, go beyond the last record, or are none.
    pub fn new(records: u32, sources: Arc<[u32]>) -> Option<Yields> {
        let is_within = sources.last().is_some_and(|last| *last < records);
        (is_within && sources.is_sorted()).then_some(Yields { records, sources })
    }

    /// Records of the run.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// For each body the record that it was made of, counted from the first of the run.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// The bodies of some records.
    pub(crate) fn bodies_of(&self, records: Range<u32>) -> Range<u32> {
        // There are as many as bodies, which are counted by a `u32`.
        let before = |record| self.sources.partition_point(|source| *source < record) as u32;
        before(records.start)..before(records.end)
    }

    /// How many records have a body.
    pub(crate) fn yielding(&self) -> u32 {
        let is_other = |pair: &&[u32]| matches!(pair, [before, after] if before != after);
        1 + self.sources.windows(2).filter(is_other).count() as u32
    }

    /// The same of some of the records; none if these have no bodies.
    pub(crate) fn cut(&self, records: Range<u32>) -> Option<Yields> {
        let bodies = self.bodies_of(records.clone());
        let sources = &self.sources[bodies.start as usize..bodies.end as usize];
        Yields::new(records.end - records.start, sources.iter().map(|source| source - records.start).collect())
    }
}
