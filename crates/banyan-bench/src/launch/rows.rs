//! The figures of launches and collectives: rows, a table with ratios to the floor, and a plot.

use std::time::Duration;

use serde::Serialize;

use crate::Environment;
use crate::plot::{Axes, Series, svg};

/// One figure.
#[derive(Debug, Clone, Serialize, PartialEq)]
#[non_exhaustive]
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
    /// How it compares with another figure of the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// How it compares with the best that can be, as it was measured in the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ratio>,
}

/// A figure as a multiple of another one.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Ratio {
    /// Whose figure the other one is.
    pub to: String,
    /// This one divided by that.
    pub times: f64,
}

/// Somebody of whom some or all figures are missing.
#[derive(Debug, Clone, Serialize, PartialEq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Who.
    pub system: String,
    /// Why.
    pub reason: String,
}

/// Everything that was measured, and what was not.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LaunchFigures {
    /// The figures.
    pub rows: Vec<LaunchRow>,
    /// Whose are missing.
    pub left_out: Vec<LeftOut>,
}

impl LaunchFigures {
    pub(super) fn leave_out(&mut self, system: &str, reason: String) {
        self.left_out.push(LeftOut { system: system.into(), reason });
    }

    pub(super) fn add(&mut self, other: LaunchFigures) {
        self.rows.extend(other.rows);
        self.left_out.extend(other.left_out);
    }
}

impl LaunchRow {
    pub(super) fn time(system: &str, op: &'static str, program: &str, members: u32, took: Duration) -> LaunchRow {
        let ms = Some(took.as_secs_f64() * 1e3);
        let (system, program) = (system.into(), program.into());
        LaunchRow { system, op, program, members, ms, value: None, unit: None, ratio: None, ceiling: None }
    }

    pub(super) fn memory(system: &str, op: &'static str, program: &str, members: u32, mb: f64) -> LaunchRow {
        LaunchRow::figure(system, op, program, members, (mb, "MB"))
    }

    /// A figure that is no time, with its unit.
    pub(super) fn figure(
        system: &str,
        op: &'static str,
        program: &str,
        members: u32,
        (value, unit): (f64, &'static str),
    ) -> LaunchRow {
        let (system, program) = (system.into(), program.into());
        let (value, unit) = (Some(value), Some(unit));
        LaunchRow { system, op, program, members, ms: None, value, unit, ratio: None, ceiling: None }
    }

    /// Its figure, whatever it is.
    fn amount(&self) -> Option<f64> {
        self.ms.or(self.value)
    }

    /// How it compares with the one of these rows that did the same, if one did.
    fn compared(&self, bases: &[LaunchRow]) -> Option<Ratio> {
        let is_same = |other: &&LaunchRow| (other.op, other.members, other.unit) == (self.op, self.members, self.unit);
        let mut same = bases.iter().filter(is_same);
        let only = (same.clone().count() == 1).then(|| same.clone().next()).flatten();
        let other = same.find(|other| other.program == self.program).or(only)?;
        Some(Ratio { to: other.system.clone(), times: self.amount()? / other.amount()? })
    }

    /// What a line of the table is about.
    fn line(&self) -> (&str, &str, &str) {
        (&self.system, self.op, &self.program)
    }
}

/// Compares every row with the one of system `base` that did the same with as many members: with the same program, or
/// with the only one that `base` has.
pub(super) fn compare(rows: &mut [LaunchRow], base: &str) {
    let bases = rows_of(rows, base);
    for row in rows.iter_mut().filter(|row| row.system != base) {
        row.ratio = row.compared(&bases);
    }
}

/// Compares the rows of one system with those of another that is the best that can be.
pub(super) fn compare_with_ceiling(rows: &mut [LaunchRow], system: &str, ceiling: &str) {
    let bases = rows_of(rows, ceiling);
    for row in rows.iter_mut().filter(|row| row.system == system) {
        row.ceiling = row.compared(&bases);
    }
}

fn rows_of(rows: &[LaunchRow], system: &str) -> Vec<LaunchRow> {
    rows.iter().filter(|row| row.system == system).cloned().collect()
}

/// All figures of a bench as one JSON object.
pub fn launch_json(bench: &str, figures: &LaunchFigures, environment: &Environment) -> String {
    let LaunchFigures { rows, left_out } = figures;
    serde_json::json!({ "bench": bench, "rows": rows, "left_out": left_out, "environment": environment }).to_string()
}

/// Columns of what a line is about, and of each size.
const LABEL: usize = 52;
const CELL: usize = 10;

/// A table: a line for each system, a column for each size in milliseconds, and below it how many times as long as
/// what it is compared with it took; then the figures that are no times, and a line for everybody who was left out.
pub fn launch_table(figures: &LaunchFigures) -> String {
    let rows = &figures.rows;
    let mut sizes: Vec<u32> = rows.iter().filter(|row| row.ms.is_some()).map(|row| row.members).collect();
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
        let find = |size: u32| rows.iter().find(|row| row.line() == line && row.members == size);
        out += &format!("{:<LABEL$}", format!("{system} {op} ({program})"));
        sizes.iter().for_each(|size| out += &cell(find(*size).and_then(|row| row.ms).map(|ms| format!("{ms:.1}"))));
        out += "\n";
        out += &ratios(&sizes, |size| find(size)?.ratio.as_ref());
        out += &ratios(&sizes, |size| find(size)?.ceiling.as_ref());
    }
    for row in rows {
        if let (Some(value), Some(unit)) = (row.value, row.unit) {
            let what = format!("{} {} ({}, {})", row.system, row.op, row.program, row.members);
            let ratio = row.ratio.as_ref().map(|ratio| format!("  {:.2}x {}", ratio.times, ratio.to));
            out += &format!("{what:<64}{value:>10.3} {unit}{}\n", ratio.unwrap_or_default());
        }
    }
    for LeftOut { system, reason } in &figures.left_out {
        out += &format!("left out: {system}: {reason}\n");
    }
    out
}

/// A line of ratios, if there are any.
fn ratios<'a>(sizes: &[u32], ratio: impl Fn(u32) -> Option<&'a Ratio>) -> String {
    let Some(Ratio { to, .. }) = sizes.iter().find_map(|size| ratio(*size)) else { return String::new() };
    let cells = sizes.iter().map(|size| cell(ratio(*size).map(|ratio| format!("{:.2}x", ratio.times))));
    format!("{:<LABEL$}{}\n", format!("  to {to}"), cells.collect::<String>())
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
    // What was measured at one size only is no line.
    if series.iter().any(|series| series.points.len() > 1) {
        series.retain(|series| series.points.len() > 1);
    }
    svg(Axes { title, x: "members", y: "milliseconds" }, &series)
}
