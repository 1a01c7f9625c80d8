//! Rows of single events, from hosts to the root.

use banyan_ndr::typed::{ByteBuf, Scratch, encode_body};
use banyan_ndr::{Buffer, Format, Record};

use crate::encoded::encode;
use crate::host::Outcome;
use crate::selector::{Looking, SelectedAs};

/// Rows of one host, as a record that travels.
#[derive(Debug)]
#[non_exhaustive]
pub struct RowBatch {
    /// The host has no rows left before this time.
    pub until: i64,
    /// How many rows are in it.
    pub rows: u64,
    /// The record, in the format [`RowBatch::format`].
    pub body: Buffer,
}

impl RowBatch {
    /// The format of all batches.
    pub fn format() -> &'static Format {
        Rows::format()
    }
}

/// What travels.
#[derive(Debug, Default, Record)]
pub(crate) struct Rows {
    pub(crate) until: i64,
    pub(crate) processes: Vec<RowProcess>,
    pub(crate) formats: Vec<RowFormat>,
    pub(crate) rows: Vec<RowHead>,
    /// The bodies of all rows, one behind the other.
    pub(crate) bodies: ByteBuf,
}

#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct RowProcess {
    pub(crate) host: String,
    pub(crate) job: Option<String>,
    pub(crate) rank: Option<u32>,
    pub(crate) pid: u32,
}

#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct RowFormat {
    pub(crate) sensor: String,
    /// The format of whole events; empty where bodies are columns.
    pub(crate) format: ByteBuf,
}

#[derive(Debug, Clone, Copy, Record)]
pub(crate) struct RowHead {
    pub(crate) time: i64,
    pub(crate) thread: u64,
    pub(crate) sequence: u64,
    pub(crate) process: u32,
    pub(crate) format: u32,
    /// Where its body ends.
    pub(crate) end: u64,
}

/// Gathers the rows of a host.
#[derive(Debug)]
pub(crate) struct RowWriter {
    processes: Vec<RowProcess>,
    formats: Vec<RowFormat>,
    /// By selector the number of its format.
    selectors: Vec<u64>,
    rows: Vec<RowHead>,
    bodies: Vec<u8>,
    most_bytes: usize,
    until: i64,
}

impl RowWriter {
    pub(crate) fn new(most_bytes: usize) -> RowWriter {
        RowWriter {
            processes: Vec::new(),
            formats: Vec::new(),
            selectors: Vec::new(),
            rows: Vec::new(),
            bodies: Vec::new(),
            most_bytes,
            until: i64::MIN,
        }
    }

    /// Takes an event that was selected.
    pub(crate) fn take(&mut self, looking: &Looking<'_>) -> Outcome {
        if looking.event.time < self.until {
            return Outcome::Late;
        }
        let start = self.bodies.len();
        let taken = self.write(looking);
        if taken != Outcome::Selected {
            self.bodies.truncate(start);
        }
        taken
    }

    fn write(&mut self, looking: &Looking<'_>) -> Outcome {
        match &looking.selector.output {
            SelectedAs::Event => self.bodies.extend_from_slice(looking.body),
            SelectedAs::Row(columns) => {
                for column in columns {
                    match column.value(looking) {
                        Ok(value) => encode(value, &mut self.bodies),
                        Err(bad) => return bad.into(),
                    }
                }
            }
            SelectedAs::Projected(_) => return Outcome::Failed,
        }
        if self.bodies.len() + self.rows.len() * size_of::<RowHead>() > self.most_bytes {
            return Outcome::Overflowed;
        }
        let event = looking.event;
        let (process, format) = (self.process(looking), self.format(looking));
        let (time, thread, sequence, end) = (event.time, event.thread, event.sequence, self.bodies.len() as u64);
        self.rows.push(RowHead { time, thread, sequence, process, format, end });
        Outcome::Selected
    }

    /// The number of a process: most often the last one.
    fn process(&mut self, looking: &Looking<'_>) -> u32 {
        let process = looking.event.process;
        let is_it = |known: &RowProcess| {
            (known.pid, known.rank, &*known.host) == (process.pid, process.rank, process.host)
                && known.job.as_deref() == process.job
        };
        let known = self.processes.iter().rposition(is_it);
        known.unwrap_or_else(|| {
            let (host, job) = (process.host.into(), process.job.map(Into::into));
            self.processes.push(RowProcess { host, job, rank: process.rank, pid: process.pid });
            self.processes.len() - 1
        }) as u32
    }

    fn format(&mut self, looking: &Looking<'_>) -> u32 {
        let selector = looking.selector;
        let known = self.selectors.iter().position(|known| *known == selector.id);
        known.unwrap_or_else(|| {
            let format = match selector.output {
                SelectedAs::Event => selector.format.encoded().to_vec(),
                _ => Vec::new(),
            };
            self.selectors.push(selector.id);
            self.formats.push(RowFormat { sensor: selector.sensor.clone(), format: ByteBuf(format) });
            self.formats.len() - 1
        }) as u32
    }

    /// All rows before a time, in order.
    pub(crate) fn close(&mut self, until: i64) -> RowBatch {
        self.until = self.until.max(until);
        let bodies = std::mem::take(&mut self.bodies);
        let starts = std::iter::once(0).chain(self.rows.iter().map(|row| row.end));
        let bodies = |row: &RowHead, start: u64| &bodies[start as usize..row.end as usize];
        let mut all: Vec<(RowHead, u64)> = self.rows.iter().copied().zip(starts).collect();
        all.sort_by_key(|(row, _)| (row.time, self.processes[row.process as usize].pid, row.thread, row.sequence));
        let over = all.partition_point(|(row, _)| row.time < self.until || self.until == i64::MAX);
        let mut sent = Rows {
            until: self.until,
            processes: self.processes.clone(),
            formats: self.formats.clone(),
            rows: Vec::with_capacity(over),
            bodies: ByteBuf::default(),
        };
        self.rows.clear();
        for (position, (row, start)) in all.into_iter().enumerate() {
            let (rows, to) = match position < over {
                true => (&mut sent.rows, &mut sent.bodies.0),
                false => (&mut self.rows, &mut self.bodies),
            };
            to.extend_from_slice(bodies(&row, start));
            rows.push(RowHead { end: to.len() as u64, ..row });
        }
        if self.rows.is_empty() {
            self.processes.clear();
            self.formats.clear();
            self.selectors.clear();
        }
        let mut scratch = Scratch::new();
        let body = encode_body(&sent, &mut scratch).expect("lists and texts that are in memory");
        let mut buffer = Buffer::new();
        body.slices().for_each(|slice| buffer.extend_from_slice(slice));
        RowBatch { until: self.until, rows: over as u64, body: buffer }
    }
}
