//! What became of every event, to the event.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::catalogue::Process;

/// Why events were dropped before a probe could read them, in the order of [`Row::dropped`]; see
/// [`Dropped`](banyan_sensor::observe::Dropped).
pub const REASONS: [&str; 9] =
    ["overwritten", "full", "sampled", "timed out", "too large", "nested", "no room", "superseded", "contended"];

/// What became of the events of all sensors, for each query and version of it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Ledger {
    /// One row for each process, sensor, query and version.
    pub rows: Vec<Row>,
    /// Events that are in what has come to the observer, by query and version.
    pub delivered: BTreeMap<(u32, u32), u64>,
    /// Probes that did not answer before the limit, or are lost, by host. Rows of their processes are as they were in the
    /// last ledger that they gave. What their processes have emitted since is not known.
    pub unknown: Vec<String>,
}

/// What became of the events of one sensor of one process in one version of a query, as its probe has counted.
///
/// `emitted = unread + dropped + behind + filtered + late + failed + selected`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Row {
    /// The number of the query or tap.
    pub query: u32,
    /// Its version, from 1.
    pub version: u32,
    /// The process; `None` for the sum of several.
    pub process: Option<Arc<Process>>,
    /// The name of the sensor; empty for the sum of several.
    pub sensor: String,
    /// Events that the program has emitted since this version began.
    pub emitted: u64,
    /// Written by the program, and not read by the probe yet.
    pub unread: u64,
    /// Dropped before the probe could read them, for one of the [`REASONS`].
    pub dropped: [u64; 9],
    /// Dropped at the probe: the observer was too far behind.
    pub behind: u64,
    /// The query did not want them: `where`, or `sample`.
    pub filtered: u64,
    /// They came when their window was over, or could not be opened.
    pub late: u64,
    /// Their records could not be read.
    pub failed: u64,
    /// Handed to the tree, or about to be.
    pub selected: u64,
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

/// What became of all events of a query or tap: `emitted = delivered + dropped + behind + filtered + late + failed + in_flight`.
///
/// Everything but `in_flight` was counted where it happened. `in_flight` is what is left: it is 0 when programs rest and
/// results have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Events that programs have emitted.
    pub emitted: u64,
    /// Events that are in what has come to the observer.
    pub delivered: u64,
    /// See [`Row::dropped`].
    pub dropped: u64,
    /// See [`Row::behind`].
    pub behind: u64,
    /// See [`Row::filtered`].
    pub filtered: u64,
    /// See [`Row::late`].
    pub late: u64,
    /// See [`Row::failed`].
    pub failed: u64,
    /// Not read by a probe yet, or selected and on the way.
    pub in_flight: u64,
}

impl Ledger {
    /// The totals of a query or tap, with all its versions.
    pub fn totals(&self, query: u32) -> Totals {
        let mut totals = Totals::default();
        let mut selected = 0u64;
        for row in self.rows.iter().filter(|row| row.query == query) {
            let sums = [
                (&mut totals.emitted, row.emitted),
                (&mut totals.dropped, row.dropped_in_program()),
                (&mut totals.behind, row.behind),
                (&mut totals.filtered, row.filtered),
                (&mut totals.late, row.late),
                (&mut totals.failed, row.failed),
                (&mut totals.in_flight, row.unread),
                (&mut selected, row.selected),
            ];
            sums.into_iter().for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        }
        let delivered = self.delivered.range((query, 0)..=(query, u32::MAX));
        totals.delivered = delivered.map(|(_, count)| *count).sum();
        // A probe that is silent may have handed over more than it said last; that was emitted, too.
        let unsaid = totals.delivered.saturating_sub(selected);
        totals.emitted = totals.emitted.wrapping_add(unsaid);
        totals.in_flight = totals.in_flight.wrapping_add(selected.saturating_sub(totals.delivered));
        totals
    }
}

impl Totals {
    /// Whether all of them together are what was emitted.
    pub fn balances(&self) -> bool {
        let Totals { emitted, delivered, dropped, behind, filtered, late, failed, in_flight } = *self;
        let all = [delivered, dropped, behind, filtered, late, failed, in_flight];
        all.into_iter().fold(0u64, u64::wrapping_add) == emitted
    }
}

/// A sentence for people.
impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} emitted = {} delivered", self.emitted, self.delivered)?;
        let others = [
            (self.dropped, "dropped"),
            (self.behind, "dropped at probes"),
            (self.filtered, "filtered"),
            (self.late, "late"),
            (self.failed, "unreadable"),
            (self.in_flight, "in flight"),
        ];
        others.into_iter().filter(|(count, _)| *count > 0).try_for_each(|(count, what)| write!(f, " + {count} {what}"))
    }
}
