//! Records gathered for the next block.

use std::io::IoSlice;

use super::layout::{ALIGN, aligned};
use super::table::{RUN, Run, TABLE_HEADER};
use super::time::{Time, TimeKind};

/// More runs than this end a block: finding a record within a block walks its runs.
const MOST_RUNS: usize = 1024;
/// More records than this end a block.
const MOST_RECORDS: u32 = 1 << 20;

/// The table and the bodies of a block in the making.
#[derive(Debug, Default)]
pub(super) struct Batch {
    runs: Vec<Run>,
    times: Vec<u64>,
    bodies: Vec<u8>,
    records: u32,
    span: Option<(Time, Time)>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.records == 0
    }

    pub(super) fn records(&self) -> u32 {
        self.records
    }

    /// The earliest and the latest time.
    pub(super) fn span(&self) -> Option<(Time, Time)> {
        self.span
    }

    /// Whether the block should be written before more records come.
    pub(super) fn is_full(&self, block_bytes: usize) -> bool {
        let bytes = self.bodies.len() + self.runs.len() * RUN + self.times.len() * 8;
        bytes >= block_bytes || self.runs.len() >= MOST_RUNS || self.records >= MOST_RECORDS
    }

    /// Adds a record, with a copy of its body.
    pub(super) fn push(&mut self, format: u64, time: Option<Time>, len: usize, parts: &[IoSlice<'_>]) {
        self.note(format, time, len);
        for part in parts {
            self.bodies.extend_from_slice(part);
        }
        self.bodies.resize(self.bodies.len().next_multiple_of(ALIGN), 0);
    }

    /// Adds a record to the table alone; its body is written from where it lies.
    pub(super) fn note(&mut self, format: u64, time: Option<Time>, len: usize) {
        let (kind, bits) = time.map_or((TimeKind::None, 0), Time::encode);
        if let Some(time) = time {
            self.times.push(bits);
            self.span = Some(self.span.map_or((time, time), |(min, max)| (min.min(time), max.max(time))));
        }
        self.records += 1;
        match self.runs.last_mut() {
            Some(run) if run.body == len && run.format == format && run.time == kind => run.count += 1,
            _ => self.runs.push(Run { body: len, format, count: 1, time: kind }),
        }
    }

    /// The part of the payload that precedes the bodies.
    pub(super) fn table(&self) -> Vec<u8> {
        let bytes = TABLE_HEADER + self.runs.len() * RUN + self.times.len() * 8;
        let bytes = aligned(bytes).expect("a batch is bounded");
        let mut table = Vec::with_capacity(bytes);
        table.extend_from_slice(&(self.runs.len() as u32).to_le_bytes());
        table.extend_from_slice(&(self.times.len() as u32).to_le_bytes());
        table.extend(self.runs.iter().flat_map(|run| run.encode()));
        table.extend(self.times.iter().flat_map(|time| time.to_le_bytes()));
        table.resize(bytes, 0);
        table
    }

    /// The bodies gathered.
    pub(super) fn bodies(&self) -> &[u8] {
        &self.bodies
    }

    /// Empties it; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.times.clear();
        self.bodies.clear();
        self.records = 0;
        self.span = None;
    }
}
