//! The payload of a block of records: runs of records of one format and length, their times, their bodies.
//!
//! A table is checked as a whole once ([`Table::check`]); walking it afterwards ([`Cursor`]) takes no memory.
//!
//! A [`Batch`] gathers the records for the next block.

use std::io::IoSlice;

use banyan_ndr::Limits;

use super::catalog::Catalog;
use super::layout::{ALIGN, BlockHeader, aligned, u32_at, u64_at};
use super::time::{Time, TimeKind};

/// Bytes before the runs: how many runs, how many times.
pub(super) const TABLE_HEADER: usize = 8;
/// Bytes of a run.
pub(super) const RUN: usize = 24;

/// Records of the same format and length, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Bytes of each body.
    pub(super) body: usize,
    /// Where in the file the format is described.
    pub(super) format: u64,
    /// How many records.
    pub(super) count: u32,
    /// How their times are stored.
    pub(super) time: TimeKind,
}

impl Run {
    pub(super) fn encode(self) -> [u8; RUN] {
        let mut bytes = [0; RUN];
        bytes[..8].copy_from_slice(&(self.body as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.format.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.count.to_le_bytes());
        bytes[20] = self.time as u8;
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Run> {
        Some(Run {
            body: usize::try_from(u64_at(bytes, 0)).ok()?,
            format: u64_at(bytes, 8),
            count: u32_at(bytes, 16),
            time: TimeKind::from_code(bytes[20])?,
        })
    }

    /// Distance of the bodies.
    fn stride(&self) -> Option<usize> {
        aligned(self.body)
    }
}

/// The payload of a block of records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'a> {
    runs: &'a [u8],
    times: &'a [u8],
    bodies: &'a [u8],
    /// Where in the payload the bodies begin.
    bodies_at: usize,
}

/// What [`Table::check`] finds in a block whose checksums are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checked {
    /// Every record can be read.
    Whole,
    /// Some formats are unknown: one of them, and how many records that costs in all.
    FormatLost { format: u64, records: u64 },
    /// No record can be relied on.
    Inconsistent,
}

impl<'a> Table<'a> {
    /// Splits the payload into its parts, in constant time.
    pub(super) fn open(payload: &'a [u8]) -> Option<Table<'a>> {
        let head = payload.get(..TABLE_HEADER)?;
        let runs = usize::try_from(u32_at(head, 0)).ok()?.checked_mul(RUN)?;
        let times = usize::try_from(u32_at(head, 4)).ok()?.checked_mul(8)?;
        let times_at = TABLE_HEADER.checked_add(runs)?;
        let bodies_at = aligned(times_at.checked_add(times)?)?;
        Some(Table {
            runs: payload.get(TABLE_HEADER..times_at)?,
            times: payload.get(times_at..times_at + times)?,
            bodies: payload.get(bodies_at..)?,
            bodies_at,
        })
    }

    /// Checks all that walking relies on.
    pub(super) fn check(&self, header: &BlockHeader, catalog: &Catalog, limits: &Limits) -> Checked {
        let Some(missing) = self.check_runs(header, catalog, limits) else { return Checked::Inconsistent };
        let times_right = self.cursor().all(|record| match (record.time, header.times) {
            (Some(time), Some((min, max))) => min <= time && time <= max,
            (time, _) => time.is_none(),
        });
        match missing {
            _ if !times_right => Checked::Inconsistent,
            Some((format, records)) => Checked::FormatLost { format, records },
            None => Checked::Whole,
        }
    }

    /// Runs, times and bodies must fill the payload exactly. Returns a missing format and the records of all of them.
    fn check_runs(&self, header: &BlockHeader, catalog: &Catalog, limits: &Limits) -> Option<Option<(u64, u64)>> {
        let (mut records, mut times, mut bodies) = (0_u64, 0_usize, 0_usize);
        let mut missing: Option<(u64, u64)> = None;
        for bytes in self.runs.chunks_exact(RUN) {
            let run = Run::parse(bytes)?;
            let count = usize::try_from(run.count).ok()?;
            if count == 0 || run.body > limits.body_bytes {
                return None;
            }
            match catalog.format(run.format) {
                Some(format) if !format.fits(run.body) => return None,
                Some(_) => {}
                None => missing = Some((run.format, missing.map_or(0, |(_, lost)| lost) + u64::from(run.count))),
            }
            records = records.checked_add(u64::from(run.count))?;
            bodies = run.stride()?.checked_mul(count)?.checked_add(bodies)?;
            if run.time != TimeKind::None {
                times = times.checked_add(count)?;
            }
        }
        let filled = records == u64::from(header.records)
            && times.checked_mul(8) == Some(self.times.len())
            && bodies == self.bodies.len()
            && self.times_are_numbers();
        filled.then_some(missing)
    }

    fn times_are_numbers(&self) -> bool {
        let kinds = self.runs.chunks_exact(RUN).filter_map(Run::parse).filter(|run| run.time != TimeKind::None);
        let kinds = kinds.flat_map(|run| std::iter::repeat_n(run.time, run.count as usize));
        kinds.zip(self.times.chunks_exact(8)).all(|(kind, bits)| Time::decode(kind, u64_at(bits, 0)).is_some())
    }

    /// Walks the records.
    pub(super) fn cursor(self) -> Cursor<'a> {
        Cursor { table: self, position: Position::default() }
    }
}

/// A record as its block tells it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableRecord<'a> {
    /// Where in the file its format is described.
    pub(super) format: u64,
    pub(super) body: &'a [u8],
    pub(super) time: Option<Time>,
    /// Where in the payload the body lies.
    pub(super) body_at: usize,
}

/// A walk over the records of a table. Ends early, but never reads out of bounds, in a table that was not checked.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    table: Table<'a>,
    position: Position,
}

impl Cursor<'_> {
    /// Leaves out `count` records, whole runs at once.
    pub(super) fn skip_records(&mut self, count: u64) -> Option<()> {
        self.position.skip(&self.table, count)
    }
}

impl<'a> Iterator for Cursor<'a> {
    type Item = TableRecord<'a>;

    fn next(&mut self) -> Option<TableRecord<'a>> {
        self.position.next(&self.table)
    }
}

/// Where in a table a walk is, without the table.
#[derive(Debug, Clone, Default)]
pub(super) struct Position {
    run: Option<Run>,
    /// Where the next run stands.
    run_at: usize,
    /// Records left in the run.
    left: u32,
    time_at: usize,
    body_at: usize,
}

impl Position {
    /// The next record.
    pub(super) fn next<'a>(&mut self, table: &Table<'a>) -> Option<TableRecord<'a>> {
        let run = self.enter_run(table)?;
        let body = table.bodies.get(self.body_at..)?.get(..run.body)?;
        let time = match run.time {
            TimeKind::None => None,
            kind => Time::decode(kind, u64_at(table.times.get(self.time_at..)?.get(..8)?, 0))?,
        };
        let body_at = table.bodies_at + self.body_at;
        self.skip(table, 1)?;
        Some(TableRecord { format: run.format, body, time, body_at })
    }

    fn skip(&mut self, table: &Table<'_>, mut count: u64) -> Option<()> {
        while count > 0 {
            let run = self.enter_run(table)?;
            let step = count.min(u64::from(self.left)) as u32;
            self.left -= step;
            count -= u64::from(step);
            let step = usize::try_from(step).ok()?;
            self.body_at = run.stride()?.checked_mul(step)?.checked_add(self.body_at)?;
            if run.time != TimeKind::None {
                self.time_at = step.checked_mul(8)?.checked_add(self.time_at)?;
            }
        }
        Some(())
    }

    /// The run that the next record belongs to.
    fn enter_run(&mut self, table: &Table<'_>) -> Option<Run> {
        while self.left == 0 {
            let run = Run::parse(table.runs.get(self.run_at..)?.get(..RUN)?)?;
            self.run_at += RUN;
            self.left = run.count;
            self.run = Some(run);
        }
        self.run
    }
}

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
