//! The figures of exchanges: rows for programs, a table for people, and in words what the records cost.

use serde::Serialize;

use super::Layout;
use crate::Environment;
use crate::pace::Spread;

/// A part of an exchange, in the order of time; and the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangePart {
    /// This side makes its record ready to be sent.
    EncodeThere,
    /// It travels: from the first call to the system until all of it has come.
    NetworkThere,
    /// The other side makes it a record of its own layout.
    DecodeThere,
    /// The other side makes its answer ready.
    EncodeBack,
    /// The answer travels.
    NetworkBack,
    /// This side makes it a record of its own layout.
    DecodeBack,
    /// All of it.
    Whole,
}

impl ExchangePart {
    /// How many there are.
    pub const COUNT: usize = ExchangePart::ALL.len();

    /// All of them.
    pub const ALL: [ExchangePart; 7] = [
        ExchangePart::EncodeThere,
        ExchangePart::NetworkThere,
        ExchangePart::DecodeThere,
        ExchangePart::EncodeBack,
        ExchangePart::NetworkBack,
        ExchangePart::DecodeBack,
        ExchangePart::Whole,
    ];

    /// The name in rows, and which way.
    pub fn name(self) -> (&'static str, &'static str) {
        match self {
            ExchangePart::EncodeThere => ("encode", "there"),
            ExchangePart::NetworkThere => ("network", "there"),
            ExchangePart::DecodeThere => ("decode", "there"),
            ExchangePart::EncodeBack => ("encode", "back"),
            ExchangePart::NetworkBack => ("network", "back"),
            ExchangePart::DecodeBack => ("decode", "back"),
            ExchangePart::Whole => ("round_trip", "both"),
        }
    }

    /// Whether it is there because of records.
    pub(super) fn is_work(self) -> bool {
        matches!(
            self,
            ExchangePart::EncodeThere | ExchangePart::DecodeThere | ExchangePart::EncodeBack | ExchangePart::DecodeBack
        )
    }
}

/// One figure: the middle of some repetitions.
#[derive(Debug, Clone, Serialize, PartialEq)]
#[non_exhaustive]
pub struct ExchangeRow {
    /// In which layout the other side has its records; `bytes` without records.
    pub layout: &'static str,
    /// `encode`, `network`, `decode` or `round_trip`.
    pub part: &'static str,
    /// `there`, `back` or `both`.
    pub way: &'static str,
    /// Bytes of this side's record.
    pub bytes: usize,
    /// Microseconds.
    pub value: f64,
    /// `µs`.
    pub unit: &'static str,
    /// A quarter of the repetitions gave less,
    pub low: f64,
    /// and a quarter more.
    pub high: f64,
}

impl ExchangeRow {
    pub(super) fn new(layout: Layout, part: ExchangePart, bytes: usize, nanoseconds: Spread) -> ExchangeRow {
        let ((part, way), Spread { low, middle, high }) = (part.name(), nanoseconds);
        let layout = layout.name();
        ExchangeRow { layout, part, way, bytes, value: middle / 1e3, unit: "µs", low: low / 1e3, high: high / 1e3 }
    }
}

/// Microseconds of a part; none where there is no such part.
pub(super) fn time(rows: &[ExchangeRow], layout: Layout, part: ExchangePart, bytes: usize) -> Option<f64> {
    let is_it =
        |row: &&ExchangeRow| (row.layout, (row.part, row.way), row.bytes) == (layout.name(), part.name(), bytes);
    rows.iter().find(is_it).map(|row| row.value)
}

/// Microseconds of all that is there because of records.
pub(super) fn work(rows: &[ExchangeRow], layout: Layout, bytes: usize) -> f64 {
    let parts = ExchangePart::ALL.into_iter().filter(|part| part.is_work());
    parts.filter_map(|part| time(rows, layout, part, bytes)).sum()
}

/// All figures as one JSON object.
pub fn exchange_json(rows: &[ExchangeRow], environment: &Environment) -> String {
    serde_json::json!({ "bench": "exchange", "environment": environment, "rows": rows }).to_string()
}

/// The sizes in rows, each once, in their order.
pub(super) fn sizes(rows: &[ExchangeRow]) -> Vec<usize> {
    let mut sizes: Vec<usize> = rows.iter().map(|row| row.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Columns of the layout and of each part.
const LABEL: usize = 28;
const CELL: usize = 10;

/// A line for each size and layout, with the parts in the order of time.
pub fn exchange_table(rows: &[ExchangeRow]) -> String {
    let mut out = format!("one exchange over TCP on this machine, µs\n{:LABEL$}{:>CELL$}", "", "there:");
    out += &format!("{:>30}\n{:LABEL$}", "back:", "");
    for name in ["encode", "network", "decode", "encode", "network", "decode", "all", "records"] {
        out += &format!("{name:>CELL$}");
    }
    out.push('\n');
    for bytes in sizes(rows) {
        for layout in Layout::ALL {
            out += &format!("{:<LABEL$}", format!("{bytes:>8} B  {}", layout.title()));
            for part in ExchangePart::ALL {
                let cell = time(rows, layout, part, bytes).map_or_else(|| "-".into(), figure);
                out += &format!("{cell:>CELL$}");
            }
            let share = time(rows, layout, ExchangePart::Whole, bytes).filter(|_| layout != Layout::Bytes);
            let share = share.map(|whole| format!("{:.1} %", 100.0 * work(rows, layout, bytes) / whole));
            out += &format!("{:>CELL$}\n", share.unwrap_or_else(|| "-".into()));
        }
    }
    out
}

/// A figure with three digits that mean something, to the nanosecond.
pub(super) fn figure(microseconds: f64) -> String {
    let decimals = match microseconds {
        value if value < 9.9995 => 3,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{microseconds:.decimals$}")
}

/// A sentence for each layout, at the largest size: what records cost, beside what bare bytes take.
pub fn exchange_words(rows: &[ExchangeRow]) -> String {
    let Some(bytes) = sizes(rows).last().copied() else { return String::new() };
    let bare = time(rows, Layout::Bytes, ExchangePart::Whole, bytes);
    let sentence = |layout: Layout| {
        let whole = time(rows, layout, ExchangePart::Whole, bytes)?;
        let work = work(rows, layout, bytes);
        Some(format!(
            "{bytes} B, {}: encoding and decoding take {} of {} µs ({:.1} %); bare bytes take {} µs.\n",
            layout.title().replace('…', "other byte order"),
            figure(work),
            figure(whole),
            100.0 * work / whole,
            figure(bare?),
        ))
    };
    Layout::ALL.into_iter().filter(|layout| *layout != Layout::Bytes).filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<ExchangeRow> {
        let mut rows = Vec::new();
        for layout in Layout::ALL {
            for (part, nanoseconds) in ExchangePart::ALL.into_iter().zip([20.0, 40e3, 3e3, 20.0, 40e3, 3e3, 86_040.0]) {
                if layout != Layout::Bytes || !part.is_work() {
                    let spread = Spread { low: nanoseconds, middle: nanoseconds, high: nanoseconds };
                    rows.push(ExchangeRow::new(layout, part, 99_872, spread));
                }
            }
        }
        rows
    }

    #[test]
    fn the_parts_in_a_line_stand_in_the_order_of_time() {
        let table = exchange_table(&rows());
        let line = table.lines().find(|line| line.contains("other byte order")).expect("a line");
        let cells: Vec<&str> = line.split_whitespace().skip(5).collect();
        assert_eq!(cells, ["0.020", "40.0", "3.000", "0.020", "40.0", "3.000", "86.0", "7.0", "%"], "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 110), "{table}");
    }

    #[test]
    fn bare_bytes_have_no_work_and_the_words_say_what_records_cost() {
        let rows = rows();
        assert_eq!(work(&rows, Layout::Bytes, 99_872), 0.0);
        let words = exchange_words(&rows);
        assert_eq!(words.lines().count(), 3);
        assert!(words.contains("take 6.040 of 86.0 µs (7.0 %); bare bytes take 86.0 µs"), "{words}");
    }
}
