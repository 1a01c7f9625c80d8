//! One tick for a pipe: lines as on the screen, or an object.

use std::io::{self, Write};

use ratatui_core::text::Line;
use serde_json::{Map, Value, json};

use super::column::{Column, Holds};
use super::fit;
use super::metric::{METRICS, Unit};
use super::page;
use super::terminal;
use super::tick::{NumberSummary, Of};
use super::usage::Rest;
use super::view::{Cell, Model, Row, Table, View};
use super::watch::Within;

/// Writes the page, with all rows; in a terminal as wide as that is.
pub(super) fn write(
    out: &mut impl Write,
    model: &Model,
    view: &View,
    width: Option<usize>,
    colors: bool,
) -> io::Result<()> {
    let table = view.table(model);
    let shown = fit::columns(&table.columns, view.sorted_by(), width);
    let mut lines = page::head(model, view, width);
    lines.extend(page::summary(model, width));
    lines.push(page::heading(&table, view, &shown));
    lines.extend(table.rows.iter().chain(&table.others).map(|row| page::row(&table, row, &shown)));
    lines.iter().try_for_each(|line| write_line(out, line, colors))
}

fn write_line(out: &mut impl Write, line: &Line<'_>, colors: bool) -> io::Result<()> {
    if !colors {
        return writeln!(out, "{}", line.to_string().trim_end());
    }
    for span in &line.spans {
        write!(out, "{}{}", terminal::attributes(line.style.patch(span.style)), span.content)?;
    }
    writeln!(out, "{}", terminal::PLAIN)
}

/// The object: `docs/command-top.md` describes it.
pub(super) fn to_json(model: &Model, view: &View) -> Value {
    let table = view.table(model);
    let summaries = METRICS.iter().zip(&model.tick.summaries);
    let summaries: Map<String, Value> = summaries
        .map(|(metric, summary)| (metric.name.to_owned(), summary_to_json(model, metric.unit, summary)))
        .collect();
    json!({
        "event": "tick",
        "interval_seconds": model.interval,
        "by": if view.within.is_some() { "process".to_owned() } else { format!("{:?}", view.by).to_lowercase() },
        "of": of_to_json(model, view),
        "hosts": model.tick.hosts.len(),
        "silent": model.silent,
        "summary": summaries,
        "rows": rows(&table),
        "others": table.others.is_some().then(|| others_to_json(model.used.others)),
        "cost": {
            "host_cpu_percent_max": model.tick.own_cpu,
            "host_memory_bytes_max": model.tick.own_memory,
            "front_end_cpu_percent": model.cost.cpu,
            "front_end_bytes_per_second": model.cost.bytes,
        },
    })
}

/// Whose processes the rows are.
fn of_to_json(model: &Model, view: &View) -> Value {
    match &view.within {
        Some(Within::Host(rank)) => json!({ "host": model.name(*rank) }),
        Some(Within::Job(name)) => json!({ "job": name }),
        Some(Within::User(name)) => json!({ "user": name }),
        None => Value::Null,
    }
}

fn summary_to_json(model: &Model, unit: Unit, summary: &NumberSummary) -> Value {
    let unit = match unit {
        Unit::Percent => "%",
        Unit::Tasks => "tasks",
        Unit::BytesPerSecond => "B/s",
    };
    let of = |of: &Of| json!({ "host": model.name(of.rank), "value": of.value });
    json!({
        "unit": unit,
        "min": summary.min.as_ref().map(of),
        "median": summary.median,
        "p99": summary.p99,
        "max": summary.max.as_ref().map(of),
        "top": summary.top.iter().map(of).collect::<Vec<_>>(),
    })
}

fn others_to_json(others: Rest) -> Value {
    let Rest { rows, processes, cpu, memory } = others;
    json!({ "rows": rows, "processes": processes, "cpu": cpu, "memory": memory })
}

/// One object a row, with the keys of the columns; processes have their command lines, too.
fn rows(table: &Table) -> Vec<Value> {
    let cell = |(column, cell): (&Column, &Cell)| {
        let value = if column.holds == Holds::Number { json!(cell.number) } else { json!(cell.text) };
        (column.key.to_owned(), value)
    };
    let object = |row: &Row| {
        let command = row.command.as_ref().map(|command| ("command".to_owned(), json!(command)));
        Value::Object(table.columns.iter().zip(&row.cells).map(cell).chain(command).collect())
    };
    table.rows.iter().map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::super::view::By;
    use super::super::view::tests::model;
    use super::*;

    #[test]
    fn the_page_in_a_pipe() {
        let mut out = Vec::new();
        write(&mut out, &model(), &View::new(By::Host), None, false).expect("a buffer takes everything");
        let shown = String::from_utf8(out).expect("text");
        assert_eq!(shown, include_str!("golden/page.txt"), "\n{shown}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for by in [By::Host, By::Job, By::User, By::Process] {
            for width in [50, 80, 100] {
                let mut out = Vec::new();
                write(&mut out, &model(), &View::new(by), Some(width), false).expect("a buffer takes everything");
                let shown = String::from_utf8(out).expect("text");
                assert!(shown.lines().all(|line| line.chars().count() <= width), "{by:?} {width}:\n{shown}");
                assert!(shown.contains("CPU▼"), "{by:?} {width}:\n{shown}");
            }
        }
    }

    #[test]
    fn colours_are_only_around_what_is_shown() {
        let (mut plain, mut painted) = (Vec::new(), Vec::new());
        write(&mut plain, &model(), &View::new(By::Host), None, false).expect("room");
        write(&mut painted, &model(), &View::new(By::Host), None, true).expect("room");
        let painted = String::from_utf8(painted).expect("text");
        assert!(painted.contains("\x1b["));
        let mut stripped = String::new();
        for (number, piece) in painted.split("\x1b[").enumerate() {
            stripped += if number == 0 { piece } else { piece.split_once('m').expect("an attribute").1 };
        }
        let stripped: String = stripped.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        assert_eq!(stripped.as_bytes(), plain);
    }

    #[test]
    fn the_object_has_summaries_rows_and_the_cost() {
        let object = to_json(&model(), &View::new(By::Host));
        assert_eq!(object["summary"]["cpu"]["max"], json!({ "host": "n2", "value": 97.0 }));
        assert_eq!(object["summary"]["pressure_io"]["max"], Value::Null);
        assert_eq!(object["rows"][0]["host"], "n2");
        assert_eq!((&object["rows"][0]["cpu"], &object["rows"][0]["pressure_io"]), (&json!(97.0), &Value::Null));
        assert_eq!((&object["silent"], &object["hosts"]), (&json!(["n3"]), &json!(3)));
        assert_eq!(object["cost"]["front_end_bytes_per_second"], 3400.0);
        assert_eq!(object["others"], Value::Null, "every host has a row");
        assert_eq!((&object["by"], &object["of"]), (&json!("host"), &Value::Null));
        let within = |within| to_json(&model(), &View { within: Some(within), ..View::new(By::Job) });
        let object = within(Within::Job("slurm 7".into()));
        assert_eq!((&object["by"], &object["of"]), (&json!("process"), &json!({ "job": "slurm 7" })));
        assert_eq!(within(Within::User("ana".into()))["of"], json!({ "user": "ana" }));
        let solver = json!({
            "name": "solver", "user": "ana", "host": "n2", "pid": 17.0, "rank": 3.0, "state": "R", "cpu": 99.0,
            "memory": 2.5e6, "disk_read": null, "disk_write": 3e3, "command": "./solver --grid 8",
        });
        assert_eq!((&object["rows"][0], &object["rows"][1]["rank"]), (&solver, &Value::Null));
        let others = &to_json(&model(), &View::new(By::Job))["others"];
        assert_eq!(*others, json!({ "rows": 12, "processes": 40, "cpu": 2.5, "memory": 1e6 }));
    }
}
