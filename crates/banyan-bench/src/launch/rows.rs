//! The figures of launches and collectives: rows, a table with ratios to the floor, and a plot.

use std::time::Duration;

use serde::Serialize;

use crate::Environment;
use crate::plot::{Axes, Series, svg};

/// One figure.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct LaunchRow {
    /// Who was measured.
    pub system: String,
    /// What it did, or whose memory it is.
    pub op: &'static str,
    /// How the member program was built.
    pub program: String,
    /// How many members.
    pub members: u32,
    /// Milliseconds by the clock on the wall; not for memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
    /// A figure that is no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The unit of `value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
}

impl LaunchRow {
    pub(super) fn time(system: &str, op: &'static str, program: &str, members: u32, took: Duration) -> LaunchRow {
        let ms = Some(took.as_secs_f64() * 1e3);
        LaunchRow { system: system.into(), op, program: program.into(), members, ms, value: None, unit: None }
    }

    pub(super) fn memory(system: &str, op: &'static str, program: &str, members: u32, mb: f64) -> LaunchRow {
        let (value, unit) = (Some(mb), Some("MB"));
        LaunchRow { system: system.into(), op, program: program.into(), members, ms: None, value, unit }
    }

    /// What a line of the table is about.
    fn line(&self) -> (&str, &str, &str) {
        (&self.system, self.op, &self.program)
    }
}

/// All figures of a bench as one JSON object.
pub fn launch_json(bench: &str, rows: &[LaunchRow], environment: &Environment) -> String {
    serde_json::json!({ "bench": bench, "rows": rows, "environment": environment }).to_string()
}

/// Columns of what a line is about, and of each size.
const LABEL: usize = 40;
const CELL: usize = 10;

/// A table: a line for each system, a column for each size in milliseconds, and below it how many times as long as
/// `base` it took.
pub fn launch_table(rows: &[LaunchRow], base: &str) -> String {
    let mut sizes: Vec<u32> = rows.iter().map(|row| row.members).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut out = format!("{:<LABEL$}", "ms");
    sizes.iter().for_each(|size| out += &format!("{size:>CELL$}"));
    out += "\n";
    let mut lines: Vec<(&str, &str, &str)> = Vec::new();
    for row in rows.iter().filter(|row| row.ms.is_some()) {
        // Few lines: a search through all of them is nothing.
        if !lines.contains(&row.line()) {
            lines.push(row.line());
        }
    }
    for line @ (system, op, program) in lines {
        let find = |size: u32| rows.iter().find(|row| row.line() == line && row.members == size)?.ms;
        out += &format!("{:<LABEL$}", format!("{system} {op} ({program})"));
        sizes.iter().for_each(|size| out += &cell(find(*size).map(|ms| format!("{ms:.1}"))));
        out += "\n";
        if system == base || system == "point-to-point" {
            continue;
        }
        let ratio = |size: u32| {
            let base = rows.iter().find(|row| row.line() == (base, op, program) && row.members == size)?.ms?;
            Some(format!("{:.2}x", find(size)? / base))
        };
        if sizes.iter().any(|size| ratio(*size).is_some()) {
            out += &format!("{:<LABEL$}", format!("  to {base}"));
            sizes.iter().for_each(|size| out += &cell(ratio(*size)));
            out += "\n";
        }
    }
    for row in rows {
        if let (Some(value), Some(unit)) = (row.value, row.unit) {
            let what = format!("{} {} ({}, {} members)", row.system, row.op, row.program, row.members);
            out += &format!("{what:<64}{value:>10.3} {unit}\n");
        }
    }
    out
}

fn cell(text: Option<String>) -> String {
    format!("{:>CELL$}", text.unwrap_or_else(|| "-".into()))
}

/// Time over members, both logarithmic.
pub fn draw(title: &str, rows: &[LaunchRow]) -> String {
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let Some(ms) = row.ms else { continue };
        let name = match row.op {
            "launch" => format!("{} ({})", row.system, row.program),
            op => format!("{} {op} ({})", row.system, row.program),
        };
        let point = (f64::from(row.members), ms);
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series { name, points: vec![point] }),
        }
    }
    svg(Axes { title, x: "members", y: "milliseconds" }, &series)
}
