//! The figures of trees: rows for programs, a table with what they are compared with, and plots.

use serde::Serialize;

use super::op::Op;
use crate::Environment;
use crate::plot::{Axes, Series, svg};

/// One figure: the median of some repetitions.
#[derive(Debug, Clone, Serialize, PartialEq)]
#[non_exhaustive]
pub struct TreeRow {
    /// Who was measured: `banyan`, `floor`, or `floor_unbatched`, which sends every integer by a call of its own.
    pub system: &'static str,
    /// What it did.
    pub op: &'static str,
    /// Level widths.
    pub shape: String,
    /// How many members the shape has.
    pub members: u64,
    /// The figure.
    pub value: f64,
    /// What it counts.
    pub unit: &'static str,
    /// The figure divided by the floor's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_floor: Option<f64>,
}

/// All figures as one JSON object.
pub fn tree_json(rows: &[TreeRow], environment: &Environment) -> String {
    serde_json::json!({ "bench": "tree", "rows": rows, "environment": environment }).to_string()
}

/// Columns of the shape, of each figure and of what is promised.
const SHAPE: usize = 10;
const CELL: usize = 16;
const PROMISE: usize = 30;

/// A table for each operation: a line for each shape, with the floor, Banyan, their ratio, what is promised, and MRNet.
pub fn tree_table(rows: &[TreeRow]) -> String {
    let mut out = String::new();
    for op in Op::ALL {
        let shapes = shapes(rows, op);
        if shapes.is_empty() {
            continue;
        }
        let systems = systems(rows, op);
        out += &format!("{} ({}): {}\n{:<SHAPE$}", op.name(), op.unit(), op.title(), "");
        systems.iter().for_each(|system| out += &format!("{system:>CELL$}"));
        out += &format!("{:>CELL$}  {:<PROMISE$}{}\n", "banyan/floor", "promised", "MRNet, quoted");
        for shape in shapes {
            out += line(rows, op, shape, &systems).trim_end();
            out += "\n";
        }
        out += "\n";
    }
    out
}

fn line(rows: &[TreeRow], op: Op, shape: &str, systems: &[&str]) -> String {
    let find = |system: &str| rows.iter().find(|row| (row.system, row.op, &*row.shape) == (system, op.name(), shape));
    let mut out = format!("{:<SHAPE$}", format!("  {shape}"));
    for system in systems {
        out += &format!("{:>CELL$}", find(system).map_or_else(|| "-".into(), |row| figure(row.value)));
    }
    let banyan = find("banyan");
    let ratio = banyan.and_then(|row| row.times_floor).map_or_else(|| "-".into(), |times| format!("{times:.2}x"));
    let promise = op.target(shape).map(|target| match banyan {
        Some(row) if target.is_met(row.value, find("floor").map(|row| row.value)) => format!("{target}  kept"),
        Some(_) => format!("{target}  missed here"),
        None => target.to_string(),
    });
    let (promise, mrnet) = (promise.unwrap_or_default(), op.mrnet(shape).unwrap_or_default());
    out + &format!("{ratio:>CELL$}  {promise:<PROMISE$}{mrnet}")
}

/// A figure with as many digits as mean something.
fn figure(value: f64) -> String {
    let decimals = match value {
        value if value < 10.0 => 2,
        value if value < 1000.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// In the order of the rows, each once. They are few: a search through all of them is nothing.
fn shapes(rows: &[TreeRow], op: Op) -> Vec<&str> {
    let mut shapes = Vec::new();
    for row in rows.iter().filter(|row| row.op == op.name()) {
        if !shapes.contains(&&*row.shape) {
            shapes.push(&*row.shape);
        }
    }
    shapes
}

fn systems(rows: &[TreeRow], op: Op) -> Vec<&'static str> {
    let mut systems = Vec::new();
    for row in rows.iter().filter(|row| row.op == op.name()) {
        if !systems.contains(&row.system) {
            systems.push(row.system);
        }
    }
    systems
}

/// A plot for each operation that was measured, with a name for its file: figures over members, both logarithmic. Shapes
/// with two levels and with three are lines of their own.
pub fn tree_plots(rows: &[TreeRow]) -> Vec<(String, String)> {
    let measured = Op::ALL.into_iter().filter(|op| rows.iter().any(|row| row.op == op.name()));
    measured
        .map(|op| {
            let axes = Axes { title: op.title(), x: "members", y: op.unit() };
            (format!("tree-{}.svg", op.name()), svg(axes, &series(rows, op)))
        })
        .collect()
}

fn series(rows: &[TreeRow], op: Op) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows.iter().filter(|row| row.op == op.name()) {
        let first = row.shape.split('x').next().unwrap_or_default();
        let under = if first == "1" { "one inner process" } else { "several" };
        let levels = row.shape.split('x').count();
        let name = format!("{}, {levels} levels, {under}", row.system);
        let point = (row.members as f64, row.value);
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series { name, points: vec![point] }),
        }
    }
    series.iter_mut().for_each(|series| series.points.sort_by(|one, other| one.0.total_cmp(&other.0)));
    series
}

/// Notes beside every figure how it compares with the floor's.
pub(super) fn compare(rows: &mut [TreeRow]) {
    let floors: Vec<TreeRow> = rows.iter().filter(|row| row.system == "floor").cloned().collect();
    for row in rows.iter_mut().filter(|row| row.system != "floor") {
        let floor = floors.iter().find(|floor| (floor.op, &floor.shape) == (row.op, &row.shape));
        row.times_floor = floor.map(|floor| row.value / floor.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(system: &'static str, op: Op, shape: &str, value: f64) -> TreeRow {
        let members = shape.parse::<super::super::Shape>().expect("a shape").leaves();
        TreeRow { system, op: op.name(), shape: shape.into(), members, value, unit: op.unit(), times_floor: None }
    }

    #[test]
    fn a_figure_stands_beside_the_floor_the_promise_and_mrnet() {
        let mut rows = vec![
            row("floor", Op::RoundTrip, "4x16", 1000.0),
            row("banyan", Op::RoundTrip, "4x16", 1400.0),
            row("floor", Op::RoundTrip, "8x8", 1000.0),
            row("banyan", Op::RoundTrip, "8x8", 1600.0),
        ];
        compare(&mut rows);
        let table = tree_table(&rows);
        let line = |shape: &str| table.lines().find(|line| line.trim_start().starts_with(shape)).expect("a line");
        assert!(line("4x16").contains("1.40x") && line("4x16").contains("kept"), "{table}");
        assert!(line("4x16").ends_with("8000"), "{table}");
        assert!(line("8x8").contains("1.60x") && line("8x8").contains("missed here"), "{table}");
    }

    #[test]
    fn the_table_fits_a_terminal() {
        let rows = [row("floor", Op::Waves, "4x16", 2.6e6), row("floor_unbatched", Op::Waves, "4x16", 11_300.0)];
        assert!(tree_table(&rows).lines().all(|line| line.chars().count() <= 120));
    }

    #[test]
    fn every_operation_has_a_plot_of_its_own() {
        let rows = [row("floor", Op::Waves, "4x16", 2.6e6), row("floor", Op::Broadcast, "4x16", 4.0)];
        let names: Vec<String> = tree_plots(&rows).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["tree-waves.svg", "tree-broadcast.svg"]);
    }
}
