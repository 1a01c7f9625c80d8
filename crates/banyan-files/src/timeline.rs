//! Finding records by time, whether or not times only grow.
//!
//! Blocks know their earliest and latest time. The latest time *so far* only grows from block to block, and so does the
//! earliest time *from here on*; both are searched by halving. Between the two places found, blocks that do not overlap
//! the range are left out one by one. Where times only grow, that is none.

use std::ops::{Bound, RangeBounds};

use super::reader::Reader;
use super::records::{BlockWalk, RecordRef};
use super::time::Time;

/// The blocks that have times.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    block: usize,
    times: (Time, Time),
    latest_so_far: Time,
    earliest_from_here: Time,
}

impl Timeline {
    fn new(reader: &Reader) -> Timeline {
        let timed =
            reader.blocks.iter().enumerate().filter_map(|(block, b)| b.header.times.map(|times| (block, times)));
        let mut entries: Vec<Entry> = timed
            .map(|(block, times)| Entry { block, times, latest_so_far: times.1, earliest_from_here: times.0 })
            .collect();
        for i in 1..entries.len() {
            entries[i].latest_so_far = entries[i].latest_so_far.max(entries[i - 1].latest_so_far);
        }
        for i in (1..entries.len()).rev() {
            entries[i - 1].earliest_from_here = entries[i - 1].earliest_from_here.min(entries[i].earliest_from_here);
        }
        Timeline { entries }
    }
}

impl Reader {
    /// The records whose time lies in the range, in the order of their numbers. Lost records and those without time
    /// are left out.
    pub fn seek_time(&self, range: impl RangeBounds<Time>) -> InTime<'_> {
        let entries = &self.timeline.get_or_init(|| Timeline::new(self)).entries;
        let range = (range.start_bound().cloned(), range.end_bound().cloned());
        let from = entries.partition_point(|entry| before(entry.latest_so_far, range.0));
        let to = entries.partition_point(|entry| !behind(entry.earliest_from_here, range.1));
        InTime { reader: self, ahead: entries.get(from..to).unwrap_or_default(), range, current: None }
    }
}

fn before(time: Time, start: Bound<Time>) -> bool {
    match start {
        Bound::Included(start) => time < start,
        Bound::Excluded(start) => time <= start,
        Bound::Unbounded => false,
    }
}

fn behind(time: Time, end: Bound<Time>) -> bool {
    match end {
        Bound::Included(end) => time > end,
        Bound::Excluded(end) => time >= end,
        Bound::Unbounded => false,
    }
}

/// The records of a range of time; made by [`Reader::seek_time`].
#[derive(Debug, Clone)]
pub struct InTime<'a> {
    reader: &'a Reader,
    ahead: &'a [Entry],
    range: (Bound<Time>, Bound<Time>),
    current: Option<BlockWalk<'a>>,
}

impl<'a> Iterator for InTime<'a> {
    type Item = RecordRef<'a>;

    fn next(&mut self) -> Option<RecordRef<'a>> {
        let range = self.range;
        loop {
            let hit = |record: &RecordRef<'_>| record.time.is_some_and(|time| range.contains(&time));
            if let Some(record) = self.current.as_mut().and_then(|walk| walk.find(hit)) {
                return Some(record);
            }
            let (entry, ahead) = self.ahead.split_first()?;
            self.ahead = ahead;
            let (earliest, latest) = entry.times;
            self.current = (!before(latest, range.0) && !behind(earliest, range.1))
                .then(|| BlockWalk::new(self.reader, &self.reader.blocks[entry.block], 0))
                .flatten();
        }
    }
}
