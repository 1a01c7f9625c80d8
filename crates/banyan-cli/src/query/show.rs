//! Rows as people see them.

use std::fmt::Write;

use banyan_monitor::{Row, Totals};
use banyan_ndr::Value;
use rustix::time::{ClockId, clock_gettime};

use crate::screen::harmless;
use crate::speech;

/// Columns of text for each value, at least.
const LEAST_WIDTH: usize = 10;

/// How far the time of day is ahead of `CLOCK_MONOTONIC`, taken once so that windows follow each other without gaps.
pub(super) struct WallTime {
    ahead: i64,
}

impl WallTime {
    pub(super) fn new() -> WallTime {
        let now = |clock| {
            let now = clock_gettime(clock);
            now.tv_sec * 1_000_000_000 + now.tv_nsec
        };
        WallTime { ahead: now(ClockId::Realtime) - now(ClockId::Monotonic) }
    }

    /// Makes the times of a row nanoseconds since 1970.
    pub(super) fn correct(&self, row: &mut Row) {
        for time in [&mut row.begin, &mut row.end].into_iter().flatten() {
            *time = time.saturating_add(self.ahead);
        }
    }
}

/// What became of events, as an object.
pub(super) fn totals_to_json(totals: &Totals) -> String {
    let Totals { emitted, delivered, dropped, behind, filtered, late, failed, in_flight, .. } = *totals;
    let events = serde_json::json!({
        "emitted": emitted, "delivered": delivered, "dropped": dropped, "behind": behind, "filtered": filtered,
        "late": late, "failed": failed, "in_flight": in_flight,
    });
    serde_json::json!({ "events": events }).to_string()
}

/// A row in columns, behind the time of day; the names of the columns above the first.
pub(super) fn line(row: &Row, is_first: bool) -> String {
    let time = row.begin.and_then(|time| u64::try_from(time).ok());
    let time = time.map(|time| std::time::UNIX_EPOCH + std::time::Duration::from_nanos(time));
    let time = time.map(speech::time).unwrap_or_default();
    let mut line = String::new();
    if is_first {
        columns(&mut line, "time", time.len(), row, row.columns.iter().cloned());
        line.push('\n');
    }
    columns(&mut line, &time, time.len(), row, row.values.iter().map(text));
    line
}

fn columns(line: &mut String, time: &str, width: usize, row: &Row, texts: impl Iterator<Item = String>) {
    let _ = write!(line, "{time:width$}");
    for (name, text) in row.columns.iter().zip(texts) {
        let width = name.chars().count().max(LEAST_WIDTH);
        let _ = write!(line, "  {:width$}", harmless(text.as_bytes()));
    }
    line.truncate(line.trim_end().len());
}

/// A value; nothing where there is none.
fn text(value: &Value) -> String {
    match value {
        Value::Null | Value::Shared(_) => "-".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::F32(number) => number.to_string(),
        Value::F64(number) => number.to_string(),
        Value::Char(character) => character.to_string(),
        Value::Enum(text) | Value::Str(text) => text.clone(),
        Value::List(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", ")),
        Value::Record(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}: {}", text(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => format!("{other:?}"),
    }
}
