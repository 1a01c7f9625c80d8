//! What became of every event: emitted = delivered + dropped + in flight, to the event.

use std::fmt;
use std::sync::Arc;

use crate::catalogue::Process;

/// Why events were dropped before a probe could read them, in the order of [`Row::dropped`]: see
/// [`Dropped`](banyan_sensor::observe::Dropped).
pub const REASONS: [&str; 9] = [
    "overwritten",
    "full",
    "sampled",
    "timed out",
    "too large",
    "nested",
    "no room",
    "superseded",
    "contended",
];

/// What became of the events of all sensors, for each query and version of it.
///
/// The numbers of each row balance: `emitted = delivered + dropped + behind + in flight`. Everything but `in flight` was
/// counted where it happened; `in flight` is what is left, and is 0 once programs rest and results have come.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Ledger {
    /// One row for each process, sensor, query and version.
    pub rows: Vec<Row>,
    /// Probes that did not answer before the limit, or are lost, by host. Rows of their processes are as they were in the
    /// last ledger that they gave. What their processes have emitted since is not known.
    pub unknown: Vec<String>,
}

/// What became of the events of one sensor of one process in one version of a query.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Row {
    /// The number of the query or tap, and of its version.
    pub query: u32,
    /// Its version, from 1.
    pub version: u32,
    /// The process; `None` for the sum of several that have ended.
    pub process: Option<Arc<Process>>,
    /// The name of the sensor; empty for the sum of several.
    pub sensor: String,
    /// Events that the program has emitted since this version began.
    pub emitted: u64,
    /// Dropped before the probe could read them, for one of the [`REASONS`].
    pub dropped: [u64; 9],
    /// Dropped at the probe: the observer was too far behind.
    pub behind: u64,
    /// Events that have come to the observer.
    pub delivered: u64,
    /// Written and not read yet, or read and on their way.
    pub in_flight: u64,
    /// How often the process took the probe for dead, because the probe was stopped for too long. Events in such a time were
    /// not written for it, and count nowhere.
    pub lapses: u64,
    /// Whether this is all that is known: the probe of the process is lost or silent.
    pub is_old: bool,
}

impl Row {
    /// Events that were dropped before the probe could read them.
    pub fn dropped_in_program(&self) -> u64 {
        self.dropped.iter().fold(0, |sum, count| sum.wrapping_add(*count))
    }
}

/// The sums of a version of a query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// See [`Row::emitted`].
    pub emitted: u64,
    /// See [`Row::delivered`].
    pub delivered: u64,
    /// See [`Row::dropped`].
    pub dropped: u64,
    /// See [`Row::behind`].
    pub behind: u64,
    /// See [`Row::in_flight`].
    pub in_flight: u64,
}

impl Totals {
    /// Whether emitted = delivered + dropped + behind + in flight.
    pub fn balances(&self) -> bool {
        self.emitted == self.delivered + self.dropped + self.behind + self.in_flight
    }
}

impl Ledger {
    /// The sums of the rows of a query, of all its versions.
    pub fn totals(&self, query: u32) -> Totals {
        let rows = self.rows.iter().filter(|row| row.query == query);
        rows.fold(Totals::default(), |sum, row| Totals {
            emitted: sum.emitted.wrapping_add(row.emitted),
            delivered: sum.delivered.wrapping_add(row.delivered),
            dropped: sum.dropped.wrapping_add(row.dropped_in_program()),
            behind: sum.behind.wrapping_add(row.behind),
            in_flight: sum.in_flight.wrapping_add(row.in_flight),
        })
    }
}

/// A sentence for people.
impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Totals { emitted, delivered, dropped, behind, in_flight } = self;
        write!(
            f,
            "{emitted} emitted = {delivered} delivered + {dropped} dropped + {behind} dropped at probes + {in_flight} in flight"
        )
    }
}
