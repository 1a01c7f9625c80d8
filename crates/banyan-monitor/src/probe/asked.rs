//! A query at the probe: selectors for the formats that come, and results that wait to be sent.

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use banyan_ndr::Format;
use banyan_query::{Event, HostLimits, HostSide, Piece, Query, QueryError, QueryKind, RowBatch, Selector, Windows};
use banyan_tree::{BackEnd, StreamId, TreeError};

use super::tally::Tally;
use crate::message::{LAST, Over, PIECES, PieceRecord, Pieces};

/// Bytes that wait for a front-end that is behind. What comes beyond is dropped, and counted.
const MOST_WAITING: usize = 16 << 20;

/// How long a thread may take between the stamp of an event and its last word. What is later comes too late for its window.
const STRAGGLING: i64 = 20_000_000;

/// How results travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Windows that do not overlap: intervals of a stream, which agents reduce.
    Intervals,
    /// Other windows: partial results that the observer puts together.
    Pieces,
    /// Single rows.
    Rows,
}

impl Way {
    pub(crate) fn of(query: &Query) -> Way {
        match query.kind() {
            QueryKind::Windows(Windows { pane: Some(_), panes: 1, .. }) => Way::Intervals,
            QueryKind::Windows(_) => Way::Pieces,
            _ => Way::Rows,
        }
    }
}

/// What waits to be sent.
#[derive(Debug)]
enum Outgoing {
    Piece(Piece),
    Rows(RowBatch),
    Last,
}

impl Outgoing {
    fn bytes(&self) -> usize {
        match self {
            Outgoing::Piece(piece) => piece.body.len(),
            Outgoing::Rows(rows) => rows.body.len(),
            Outgoing::Last => 0,
        }
    }
}

#[derive(Debug)]
pub(super) struct Asked {
    query: Query,
    version: (u32, u32),
    way: Way,
    host: HostSide,
    /// By the numbers of sensors; none for those that do not fit.
    selectors: Vec<Option<Selector>>,
    refused: BTreeSet<u32>,
    base: i64,
    outgoing: VecDeque<Outgoing>,
    bytes: usize,
    /// Intervals before this one are over here.
    until: i64,
    told_until: i64,
    /// The first interval without events of this version, once it has ended.
    end: i64,
    /// Events of pieces for which there was no room: they were selected, and are dropped.
    pub(super) lost: u64,
    is_over: bool,
}

impl Asked {
    /// The interval `base` is wave 0. Events before it are late.
    pub(super) fn new(text: &str, version: (u32, u32), base: i64, rank: u32) -> Result<Asked, QueryError> {
        let query: Query = text.parse()?;
        let way = Way::of(&query);
        let mut host = HostSide::new(&query, rank, HostLimits::default().row_bytes(MOST_WAITING));
        if let (Way::Intervals, QueryKind::Windows(Windows { pane: Some(pane), .. })) = (way, query.kind()) {
            host.close(base.saturating_mul(*pane));
        }
        Ok(Asked {
            query,
            version,
            way,
            host,
            selectors: Vec::new(),
            refused: BTreeSet::new(),
            base,
            outgoing: VecDeque::new(),
            bytes: 0,
            until: base,
            told_until: base,
            end: base,
            lost: 0,
            is_over: false,
        })
    }

    /// Whether it asks a sensor, whatever format that has.
    pub(super) fn asks(&self, sensor: &str) -> bool {
        self.query.sensors().any(|name| name == sensor)
    }

    /// Makes a selector for a sensor of this number, unless there is one. False if the query is known not to fit.
    pub(super) fn prepare(&mut self, number: u32, sensor: &str, format: &Format) -> Result<bool, QueryError> {
        let index = number as usize;
        if self.selectors.get(index).is_some_and(Option::is_some) || self.refused.contains(&number) {
            return Ok(!self.refused.contains(&number));
        }
        let selector = Selector::new(&self.query, sensor, format).inspect_err(|_| _ = self.refused.insert(number))?;
        if self.selectors.len() <= index {
            self.selectors.resize(index + 1, None);
        }
        self.selectors[index] = Some(selector);
        Ok(true)
    }

    /// Takes an event of a sensor.
    #[inline]
    pub(super) fn take(&mut self, sensor: u32, event: &Event<'_>, tally: &mut Tally) {
        let Some(Some(selector)) = self.selectors.get(sensor as usize) else {
            tally.failed += 1;
            return;
        };
        let before = self.host.counts();
        self.host.event(selector, event);
        let after = self.host.counts();
        tally.selected += after.selected - before.selected;
        tally.filtered += after.filtered - before.filtered;
        tally.late += (after.late + after.early) - (before.late + before.early);
        tally.behind += after.overflowed - before.overflowed;
        tally.failed += after.failed - before.failed;
    }

    /// A process has ended.
    pub(super) fn forget(&mut self, pid: u32) {
        self.host.forget(pid);
    }

    /// Everything up to this time was taken.
    pub(super) fn pass(&mut self, time: i64, is_progress_wanted: bool) {
        if self.is_over {
            // Probes whose version ends later may still have intervals of it: they do not wait for this one.
            if let QueryKind::Windows(windows) = self.query.kind() {
                self.until = self.until.max(windows.first_from(time.saturating_sub(STRAGGLING)));
            }
        } else if self.bytes < MOST_WAITING {
            // What finds no room waits as rows of the host's side, which has a bound.
            self.close(time.saturating_sub(STRAGGLING), is_progress_wanted);
        }
    }

    /// Nothing more is taken.
    pub(super) fn finish(&mut self, time: i64) {
        let until = self.until;
        self.close(i64::MAX, false);
        (self.until, self.is_over) = (until, true);
        match self.way {
            Way::Intervals => self.pass(time, true),
            Way::Pieces | Way::Rows => self.outgoing.push_back(Outgoing::Last),
        }
    }

    /// The first interval without events of this version; of one that has ended.
    pub(super) fn end(&self) -> Over {
        Over { query: self.version.0, version: self.version.1, interval: self.end }
    }

    fn close(&mut self, until: i64, is_progress_wanted: bool) {
        let closed = self.host.close(until);
        for piece in closed.pieces {
            if self.bytes + piece.body.len() > MOST_WAITING {
                self.lost += piece.events;
            } else {
                self.bytes += piece.body.len();
                self.end = self.end.max(piece.interval + 1);
                self.outgoing.push_back(Outgoing::Piece(piece));
            }
        }
        self.until = self.until.max(closed.until_interval);
        if let Some(rows) = closed.rows.filter(|rows| rows.rows > 0 || is_progress_wanted) {
            self.bytes += rows.body.len();
            self.outgoing.push_back(Outgoing::Rows(rows));
        }
    }

    /// Sends what there is room for; true if nothing is left, and nothing more will come.
    pub(super) fn send(&mut self, back_end: &mut BackEnd, stream: StreamId) -> Result<bool, TreeError> {
        while let Some(first) = self.outgoing.front() {
            let now = Instant::now();
            let sent = match first {
                Outgoing::Piece(piece) if self.way == Way::Intervals => {
                    let wave = piece.interval.saturating_sub(self.base).try_into().unwrap_or(0);
                    back_end.send_partial(stream, wave, &piece.format, &piece.body, now)
                }
                Outgoing::Piece(piece) => {
                    let (format, body) = (piece.format.encoded().to_vec(), piece.body.to_vec());
                    let pieces = vec![PieceRecord { interval: piece.interval, events: piece.events, format, body }];
                    let until = piece.interval;
                    back_end.send_tagged_timeout(stream, PIECES, &Pieces { pieces, until }, now).map(drop)
                }
                Outgoing::Rows(rows) => {
                    back_end.send_body_timeout(stream, RowBatch::format(), &rows.body, now).map(drop)
                }
                Outgoing::Last => back_end.send_tagged_timeout(stream, LAST, &self.end(), now).map(drop),
            };
            if !super::is_sent(sent)? {
                return Ok(false);
            }
            self.bytes -= first.bytes();
            self.outgoing.pop_front();
        }
        if self.until > self.told_until && self.tell_until(back_end, stream)? {
            self.told_until = self.until;
        }
        Ok(self.is_over && self.way != Way::Intervals)
    }

    /// Tells which intervals are over here.
    fn tell_until(&self, back_end: &mut BackEnd, stream: StreamId) -> Result<bool, TreeError> {
        let now = Instant::now();
        super::is_sent(match self.way {
            Way::Intervals => {
                let wave = self.until.saturating_sub(self.base).try_into().unwrap_or(0);
                back_end.pass_intervals(stream, wave, now)
            }
            Way::Pieces => {
                let pieces = Pieces { pieces: Vec::new(), until: self.until };
                back_end.send_tagged_timeout(stream, PIECES, &pieces, now).map(drop)
            }
            Way::Rows => Ok(()),
        })
    }
}
