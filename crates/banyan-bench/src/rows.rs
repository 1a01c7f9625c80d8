//! The figures of a bench: rows for programs (`--json`) and a table for people.

use serde::Serialize;

use crate::Environment;

/// One figure.
#[derive(Debug, Clone, Serialize, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// Who was measured: `banyan`, `memcpy`, or a rival.
    pub system: String,
    /// What it did.
    pub op: &'static str,
    /// With which record: `plain` or `mixed`.
    pub record: &'static str,
    /// Bytes of the record's body; 0 where it plays no role.
    pub bytes: usize,
    /// Nanoseconds of thread CPU time for one operation, best of many batches.
    pub ns: f64,
    /// The median of the batches.
    pub ns_median: f64,
}

/// All figures of a bench as one JSON object.
pub fn to_json(bench: &str, rows: &[Row], environment: &Environment) -> String {
    #[derive(Serialize)]
    struct Results<'a> {
        bench: &'a str,
        rows: &'a [Row],
        environment: &'a Environment,
    }
    serde_json::to_string(&Results { bench, rows, environment }).expect("numbers and texts have a JSON form")
}

/// Finds the memory copy that a row is compared with.
pub fn memcpy_of<'r>(rows: &'r [Row], row: &Row) -> Option<&'r Row> {
    rows.iter().find(|other| other.system == "memcpy" && other.record == row.record && other.bytes == row.bytes)
}

/// Columns of what a line is about, and of each size; four sizes fit 100 columns.
const LABEL: usize = 35;
const CELL: usize = 16;

/// A table: one line for each system, operation and record, one column for each size, each cell with the ratio to a
/// memory copy of the same bytes.
pub fn table(rows: &[Row]) -> String {
    let mut out = String::new();
    for record in ["plain", "mixed"] {
        let mut sizes: Vec<usize> =
            rows.iter().filter(|row| row.record == record && row.bytes > 0).map(|row| row.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.is_empty() {
            continue;
        }
        out += &format!("{:<LABEL$}", format!("{record} record"));
        sizes.iter().for_each(|size| out += &format!("{:>CELL$}", format!("{size} B")));
        out += "\n";
        for (system, op) in lines(rows, record) {
            out += &format!("{:<LABEL$}", format!("  {system} {op}"));
            for size in &sizes {
                let row = rows
                    .iter()
                    .find(|row| row.system == system && row.op == op && row.record == record && row.bytes == *size);
                out += &format!("{:>CELL$}", row.map_or(String::new(), |row| cell(rows, row)));
            }
            out.truncate(out.trim_end().len());
            out += "\n";
        }
        out += "\n";
    }
    for row in rows.iter().filter(|row| row.bytes == 0) {
        out += &format!("{:<LABEL$}{:>8}\n", format!("  {} {}", row.system, row.op), nanoseconds(row.ns));
    }
    out
}

fn lines<'r>(rows: &'r [Row], record: &str) -> Vec<(&'r str, &'static str)> {
    let mut lines = Vec::new();
    for row in rows.iter().filter(|row| row.record == record && row.bytes > 0) {
        if !lines.contains(&(row.system.as_str(), row.op)) {
            lines.push((row.system.as_str(), row.op));
        }
    }
    lines
}

fn cell(rows: &[Row], row: &Row) -> String {
    match memcpy_of(rows, row) {
        Some(copy) if copy != row => format!("{} {:>6}", nanoseconds(row.ns), ratio(row.ns / copy.ns)),
        _ => format!("{} {:>6}", nanoseconds(row.ns), ""),
    }
}

fn ratio(ratio: f64) -> String {
    if ratio < 0.005 {
        return "<0.01x".into();
    }
    let decimals = if ratio < 10.0 { 2 } else { usize::from(ratio < 100.0) };
    format!("{ratio:.decimals$}x")
}

/// A duration with three significant digits.
pub fn nanoseconds(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_a_unit() {
        let shown: Vec<String> = [3.456, 23.45, 999.4, 2230.0, 1.5e8].map(nanoseconds).into();
        assert_eq!(shown, ["3.46 ns", "23.4 ns", "999 ns", "2.23 µs", "150 ms"]);
    }

    #[test]
    fn the_table_shows_ratios_to_the_copy_of_the_same_record() {
        let row =
            |system: &str, op, ns| Row { system: system.into(), op, record: "plain", bytes: 96, ns, ns_median: ns };
        let table = table(&[row("memcpy", "copy", 4.0), row("banyan", "encode", 6.0)]);
        assert!(table.contains("1.50x"), "{table}");
    }

    #[test]
    fn four_sizes_fit_a_hundred_columns() {
        let sizes = [96, 992, 9_952, 99_872];
        let row =
            |system: &str, op, bytes, ns| Row { system: system.into(), op, record: "plain", bytes, ns, ns_median: ns };
        let copies = sizes.iter().map(|bytes| row("memcpy", "copy", *bytes, 999.9));
        let rows = sizes.iter().map(|bytes| row("banyan", "decode_foreign_interpreted", *bytes, 99_949.0));
        let table = table(&copies.chain(rows).collect::<Vec<_>>());
        assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    }
}
