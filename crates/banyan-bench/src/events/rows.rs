//! The figures of events: rows for programs, a table for people, and what is promised.

use serde::Serialize;

use crate::launch::LeftOut;
use crate::{Environment, Timing};

/// One figure.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct EventRow {
    /// `banyan`, `floor` with the same clock, `floor_clock_gettime`, `floor_unstamped`, or a rival.
    pub system: &'static str,
    /// What it did.
    pub op: &'static str,
    /// The figure: of times the best of many batches, of rates by the median.
    pub value: f64,
    /// `ns` of thread CPU time for one event, of `knob_set` by the clock; `M/s`, or `events`.
    pub unit: &'static str,
    /// The median of the batches; of rates the same as `value`.
    pub median: f64,
}

impl EventRow {
    pub(super) fn nanoseconds(system: &'static str, op: &'static str, time: Timing) -> EventRow {
        EventRow { system, op, value: time.best, unit: "ns", median: time.median }
    }

    pub(super) fn count(system: &'static str, op: &'static str, count: u64) -> EventRow {
        EventRow { system, op, value: count as f64, unit: "events", median: count as f64 }
    }

    pub(super) fn rate(system: &'static str, op: &'static str, value: f64) -> EventRow {
        EventRow { system, op, value, unit: "M/s", median: value }
    }
}

/// Everything that was measured, and what was not.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EventFigures {
    /// The figures.
    pub rows: Vec<EventRow>,
    /// Whose are missing.
    pub left_out: Vec<LeftOut>,
}

/// All figures as one JSON object.
pub fn events_json(figures: &EventFigures, environment: &Environment) -> String {
    let EventFigures { rows, left_out } = figures;
    serde_json::json!({ "bench": "events", "environment": environment, "rows": rows, "left_out": left_out }).to_string()
}

/// Columns of names and of figures.
const SYSTEM: usize = 22;
const OP: usize = 18;
const FIGURE: usize = 12;

/// A line for each figure, with the ratio to the floor of the same operation.
pub fn events_table(figures: &EventFigures) -> String {
    let rows = &figures.rows;
    let mut out = format!(
        "{:<OP$}{:<SYSTEM$}{:>FIGURE$}{:>FIGURE$}  {}\n",
        "events of 16 bytes", "", "best", "median", "x floor"
    );
    for row in rows {
        let figure = |value: f64| format!("{value:.2} {}", row.unit);
        let ratio = floor_of(rows, row).map_or(String::new(), |floor| format!("  {:.2}", row.value / floor.value));
        let line = format!(
            "{:<OP$}{:<SYSTEM$}{:>FIGURE$}{:>FIGURE$}{ratio}",
            row.op,
            row.system,
            figure(row.value),
            figure(row.median)
        );
        out += line.trim_end();
        out += "\n";
    }
    for LeftOut { system, reason } in &figures.left_out {
        out += &format!("left out: {system}: {reason}\n");
    }
    out
}

fn floor_of<'r>(rows: &'r [EventRow], row: &EventRow) -> Option<&'r EventRow> {
    rows.iter().find(|other| other.system == "floor" && other.op == row.op)
}

/// Something that is promised, and what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Promise {
    /// In words.
    pub what: String,
    /// What was measured, in the same unit.
    pub measured: String,
    /// Whether it was kept here.
    pub kept: bool,
}

/// What is promised, beside what was measured.
pub fn promises(rows: &[EventRow]) -> Vec<Promise> {
    let find = |op: &str| rows.iter().find(|row| row.system == "banyan" && row.op == op);
    let mut promises = Vec::new();
    if let Some((row, floor)) = find("emit_observed").and_then(|row| Some((row, floor_of(rows, row)?))) {
        let ratio = row.value / floor.value;
        let what = "emit, observed, at most 2 x the floor with the same clock".to_owned();
        promises.push(Promise { what, measured: format!("{ratio:.2} x"), kept: ratio <= 2.0 });
    }
    let lttng = rows.iter().find(|row| row.system == "lttng_ust" && row.op == "emit_observed");
    if let Some((row, lttng)) = find("emit_observed").zip(lttng) {
        let ratio = row.value / lttng.value;
        let what = "emit, observed, at most half of a tracepoint of LTTng-UST".to_owned();
        promises.push(Promise { what, measured: format!("{ratio:.2} x"), kept: ratio <= 0.5 });
    }
    if let Some(row) = find("emit_unobserved") {
        let what = "emit, not observed, in at most 1 ns".to_owned();
        promises.push(Promise { what, measured: format!("{:.2} ns", row.value), kept: row.value <= 1.0 });
    }
    if let Some(row) = find("knob_get") {
        let what = "the value of a knob, in at most 5 ns".to_owned();
        promises.push(Promise { what, measured: format!("{:.2} ns", row.value), kept: row.value <= 5.0 });
    }
    if let Some(row) = find("drain_rate") {
        let what = "an observer takes at least 20 M events/s".to_owned();
        promises.push(Promise { what, measured: format!("{:.1} M/s", row.value), kept: row.value >= 20.0 });
    }
    if let (Some(row), Some(lost)) = (find("deliver_rate"), find("deliver_lost")) {
        let what = "one thread to its observer: at least 20 M events/s, none lost".to_owned();
        let kept = row.value >= 20.0 && lost.value == 0.0;
        promises.push(Promise { what, measured: format!("{:.1} M/s", row.value), kept });
    }
    promises
}
