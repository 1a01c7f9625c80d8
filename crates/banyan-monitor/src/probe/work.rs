//! What a probe does for one version of a query.

use banyan_tree::StreamId;

use super::tally::add;
use super::tap::Tap;
use crate::message::{Add, Entry, MANY};

/// Entries of ended processes that are kept one by one, for each version. Those beyond are summed.
const MOST_ENTRIES: usize = 4096;

#[derive(Debug)]
pub(super) struct Work {
    pub(super) query: u32,
    pub(super) version: u32,
    pub(super) stream: StreamId,
    sensors: String,
    pub(super) tap: Tap,
    /// It takes nothing more, and goes when all of it was sent.
    pub(super) is_ending: bool,
    /// What became of events of processes that have ended, or of all if it is ending.
    pub(super) over: Vec<Entry>,
    sum: Option<Entry>,
}

impl Work {
    pub(super) fn new(add: Add) -> Work {
        let Add { query, version, stream, sensors } = add;
        let stream = StreamId(stream);
        Work { query, version, stream, sensors, tap: Tap::default(), is_ending: false, over: Vec::new(), sum: None }
    }

    pub(super) fn wants(&self, sensor: &str) -> bool {
        let matches = match self.sensors.strip_suffix('*') {
            Some(beginning) => sensor.starts_with(beginning),
            None => sensor == self.sensors,
        };
        !self.is_ending && matches
    }

    /// Keeps what became of events that are over.
    pub(super) fn settle(&mut self, entry: Entry) {
        if self.over.len() < MOST_ENTRIES {
            self.over.push(Entry { query: self.query, version: self.version, ..entry });
            return;
        }
        let (query, version) = (self.query, self.version);
        let nothing = || Entry { process: MANY, sensor: MANY, query, version, is_over: true, ..Entry::default() };
        add(self.sum.get_or_insert_with(nothing), &entry);
    }

    pub(super) fn settled(&self) -> impl Iterator<Item = &Entry> {
        self.over.iter().chain(&self.sum)
    }
}
