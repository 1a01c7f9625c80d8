//! What a probe does for one version of a query.

use std::time::Instant;

use banyan_ndr::Format;
use banyan_query::QueryError;
use banyan_tree::{BackEnd, StreamId, TreeError};

use super::asked::Asked;
use super::tally::add;
use super::tap::Batcher;
use crate::message::{Add, Entry, MANY};

/// Entries of ended processes that are kept one by one, for each version. Those beyond are summed.
const MOST_ENTRIES: usize = 4096;

#[derive(Debug)]
pub(super) struct Work {
    pub(super) query: u32,
    pub(super) version: u32,
    pub(super) stream: StreamId,
    pub(super) doing: Doing,
    /// It takes nothing more, and goes when all of it was sent.
    pub(super) is_ending: bool,
    /// What became of events of processes that have ended, or of all if it is ending.
    over: Vec<Entry>,
    sum: Option<Entry>,
}

/// What is done with events.
#[derive(Debug)]
pub(super) enum Doing {
    /// They are sent as they are. Which sensors: a name, or how names begin and a `*`.
    Tap(Box<Batcher>, String),
    /// They are selected and aggregated.
    Query(Box<Asked>),
}

impl Work {
    pub(super) fn new(add: Add, rank: u32) -> Result<Work, QueryError> {
        let Add { query, version, stream, is_query, text, base } = add;
        let doing = match is_query {
            true => Doing::Query(Box::new(Asked::new(&text, (query, version), base, rank)?)),
            false => Doing::Tap(Box::default(), text),
        };
        let stream = StreamId(stream);
        Ok(Work { query, version, stream, doing, is_ending: false, over: Vec::new(), sum: None })
    }

    /// Whether it wants events of a sensor.
    ///
    /// # Errors
    /// When the query asks the sensor, and does not fit its format. That is told once.
    pub(super) fn wants(&mut self, number: u32, sensor: &str, format: &Format) -> Result<bool, QueryError> {
        if self.is_ending {
            return Ok(false);
        }
        match &mut self.doing {
            Doing::Tap(_, wanted) => Ok(match wanted.strip_suffix('*') {
                Some(beginning) => sensor.starts_with(beginning),
                None => sensor == wanted,
            }),
            Doing::Query(asked) => Ok(asked.asks(sensor) && asked.prepare(number, sensor, format)?),
        }
    }

    /// It takes nothing more.
    pub(super) fn finish(&mut self, time: i64) {
        self.is_ending = true;
        match &mut self.doing {
            Doing::Tap(tap, _) => tap.finish(),
            Doing::Query(asked) => asked.finish(time),
        }
    }

    /// Everything up to this time was taken.
    pub(super) fn pass(&mut self, time: i64, bound: i64, is_progress_wanted: bool) {
        match &mut self.doing {
            Doing::Tap(tap, _) if !self.is_ending => tap.pass(time, bound, is_progress_wanted),
            Doing::Tap(..) => {}
            Doing::Query(asked) => asked.pass(time, is_progress_wanted),
        }
    }

    /// Sends what there is room for; true if nothing is left, and nothing more will come.
    pub(super) fn send(&mut self, back_end: &mut BackEnd) -> Result<bool, TreeError> {
        // The opening of its stream may be on its way; or it is closed, which ends a version that has ended.
        if back_end.counters(self.stream).is_none() {
            return Ok(false);
        }
        match &mut self.doing {
            Doing::Tap(tap, _) => {
                while let Some(batch) = tap.first() {
                    if !super::is_sent(back_end.send_timeout(self.stream, batch, Instant::now()))? {
                        return Ok(false);
                    }
                    tap.sent_first();
                }
                Ok(self.is_ending)
            }
            Doing::Query(asked) => asked.send(back_end, self.stream),
        }
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

    /// What became of events that are over.
    pub(super) fn settled(&self) -> impl Iterator<Item = Entry> {
        self.over.iter().chain(&self.sum).copied().chain(self.lost())
    }

    /// Events that were selected, and dropped with the partial results that they were in: of which processes is not known.
    fn lost(&self) -> Option<Entry> {
        let Doing::Query(asked) = &self.doing else { return None };
        let (query, version, behind) = (self.query, self.version, asked.lost);
        let selected = behind.wrapping_neg();
        let nothing = Entry { process: MANY, sensor: MANY, query, version, ..Entry::default() };
        (behind > 0).then_some(Entry { behind, selected, ..nothing })
    }
}
