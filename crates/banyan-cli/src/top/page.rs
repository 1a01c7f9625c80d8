//! The lines that people see, on a screen and in a pipe: a pure function of what there is and how it is looked at.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::metric::{METRICS, Metric, bytes};
use super::tick::{Of, Summary};
use super::view::{Cell, Column, Model, NAME_WIDTH, NUMBER_WIDTH, Row, Table, View};
use super::watch::Within;
use crate::screen::harmless;

/// A cell of the strip, from cold to hot.
const LEVELS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// From cold to hot, of the 256 colours that every terminal of today has.
const HEAT: [u8; 8] = [28, 34, 70, 106, 178, 208, 202, 196];

/// Lines of the strip: with more hosts than it has room for, a cell is the hottest of several.
const MAX_STRIP_LINES: usize = 4;

const TITLE: Style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
const FAINT: Style = Style::new().fg(Color::DarkGray);
const WARNING: Style = Style::new().fg(Color::Yellow);

/// What stands above the table: who is there, what this costs, the strip and the summary.
pub(super) fn head(model: &Model, view: &View, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![title(model, view), cost(model)];
    lines.extend(strip(model, view, width));
    lines.push(Line::default());
    lines
}

/// The summary of every number over all hosts.
pub(super) fn summary(model: &Model) -> Vec<Line<'static>> {
    let heading = format!("{:<10}{:>10}{:>10}{:>10}{:>10}  {:<20}stand out", "", "min", "median", "p99", "max", "on");
    let lines = METRICS.iter().zip(&model.tick.summaries).map(|(metric, summary)| of_metric(model, *metric, summary));
    let mut lines: Vec<Line<'_>> = std::iter::once(Line::styled(heading, TITLE)).chain(lines).collect();
    lines.push(Line::default());
    lines
}

/// The table's heading.
pub(super) fn heading(table: &Table, view: &View) -> Line<'static> {
    let sorted = view.sorted_by();
    let title = |(at, column): (usize, &Column)| {
        let arrow = match (at == sorted, view.reversed) {
            (false, _) => "",
            (true, false) => "▼",
            (true, true) => "▲",
        };
        Span::styled(fill(&format!("{}{arrow}", column.title), *column), TITLE)
    };
    Line::from(table.columns.iter().enumerate().map(title).collect::<Vec<_>>())
}

/// A row of the table.
pub(super) fn row(table: &Table, row: &Row) -> Line<'static> {
    let cell = |(column, cell): (&Column, &Cell)| {
        let style = cell.heat.map_or_else(Style::default, heat_style);
        Span::styled(fill(&cell.text, *column), style)
    };
    Line::from(table.columns.iter().zip(&row.cells).map(cell).collect::<Vec<_>>())
}

fn title(model: &Model, view: &View) -> Line<'static> {
    let count = model.tick.hosts.len();
    let what = match &view.within {
        Some(Within::Host(rank)) => format!("processes of {}", model.name(*rank)),
        Some(Within::Job(name)) => format!("processes of job {}", harmless(name.as_bytes())),
        Some(Within::User(name)) => format!("processes of user {}", harmless(name.as_bytes())),
        None => format!("by {:?}", view.by).to_lowercase(),
    };
    let hosts = if count == 1 { "1 host".to_owned() } else { format!("{count} hosts") };
    let mut spans =
        vec![Span::styled("banyan top", TITLE), Span::raw(format!("  {hosts}  {what}  every {} s", model.interval))];
    if !view.filter.is_empty() {
        spans.push(Span::styled(format!("  only {:?}", view.filter), WARNING));
    }
    if !model.silent.is_empty() {
        let names: Vec<&str> = model.silent.iter().take(3).map(String::as_str).collect();
        let more = if model.silent.len() > names.len() { ", …" } else { "" };
        spans.push(Span::styled(format!("  {} silent: {}{more}", model.silent.len(), names.join(", ")), WARNING));
    }
    if view.paused {
        spans.push(Span::styled("  paused", WARNING));
    }
    Line::from(spans)
}

fn cost(model: &Model) -> Line<'static> {
    let share = model.tick.own_cpu.unwrap_or_default();
    let memory = bytes(model.tick.own_memory.unwrap_or_default());
    let (here, rate) = (model.cost.cpu, bytes(model.cost.bytes));
    let text = format!("cost: {share:.2} % of a core and {memory} a host at most; here {here:.2} % and {rate}/s");
    Line::styled(text, FAINT)
}

/// One cell a host, or the hottest of several.
fn strip(model: &Model, view: &View, width: usize) -> Vec<Line<'static>> {
    let chosen = METRICS.iter().position(|metric| metric.name == view.sort && metric.heat(0.0).is_some());
    let at = chosen.unwrap_or(0);
    let metric = METRICS[at];
    let room = width.saturating_sub(NUMBER_WIDTH).max(1);
    let heats: Vec<Option<f64>> =
        model.tick.hosts.iter().map(|host| host.values[at].and_then(|value| metric.heat(value))).collect();
    let each = heats.len().div_ceil(room * MAX_STRIP_LINES).max(1);
    let cells: Vec<Span<'_>> = heats.chunks(each).map(strip_cell).collect();
    let name = if each > 1 { format!("{}/{each}", metric.title) } else { metric.title.to_owned() };
    let line = |(number, cells): (usize, &[Span<'static>])| {
        let label = if number == 0 { name.as_str() } else { "" };
        let mut spans = vec![Span::raw(format!("{label:<NUMBER_WIDTH$}"))];
        spans.extend(cells.iter().cloned());
        Line::from(spans)
    };
    cells.chunks(room).enumerate().map(line).collect()
}

fn strip_cell(heats: &[Option<f64>]) -> Span<'static> {
    match heats.iter().flatten().copied().reduce(f64::max) {
        Some(heat) => Span::styled(LEVELS[level(heat)], heat_style(heat)),
        None => Span::styled("·", FAINT),
    }
}

fn level(heat: f64) -> usize {
    ((heat * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)
}

fn heat_style(heat: f64) -> Style {
    Style::new().fg(Color::Indexed(HEAT[level(heat)]))
}

fn of_metric(model: &Model, metric: Metric, summary: &Summary) -> Line<'static> {
    let show = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| metric.show(value));
    let value = |of: Option<Of>| of.map(|of| of.value);
    let numbers = [value(summary.min), summary.median, summary.p99, value(summary.max)];
    let mut spans = vec![Span::raw(format!("{:<10}", metric.title))];
    for number in numbers {
        let style = number.and_then(|number| metric.heat(number)).map_or_else(Style::default, heat_style);
        spans.push(Span::styled(format!("{:>NUMBER_WIDTH$}", show(number)), style));
    }
    let on = summary.max.map_or("", |of| model.name(of.rank));
    spans.push(Span::raw(format!("  {:<NAME_WIDTH$}", cut(on, NAME_WIDTH - 1))));
    let median = summary.median.unwrap_or_default();
    let outliers = summary.top.iter().filter(|of| metric.stands_out(of.value, median));
    let outliers: Vec<String> =
        outliers.map(|of| format!("{} {}", model.name(of.rank), metric.show(of.value))).collect();
    spans.push(Span::styled(outliers.join(", "), WARNING));
    Line::from(spans)
}

/// A text in a column: names to the left, numbers to the right.
fn fill(text: &str, column: Column) -> String {
    let width = column.width;
    if column.is_text { format!("{:<width$}", cut(text, width - 1)) } else { format!("{text:>width$}") }
}

/// The beginning of a text that is too long.
fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tick::Host;
    use super::super::view::By;
    use super::super::view::tests::model;
    use super::*;

    #[test]
    fn with_many_hosts_a_cell_is_the_hottest_of_several() {
        let mut model = model();
        let host = |rank: u32| {
            let mut values = [None; METRICS.len()];
            values[0] = Some(if rank == 500 { 100.0 } else { 0.0 });
            Host { rank, values }
        };
        model.tick.hosts = (0..1000).map(host).collect();
        let lines = strip(&model, &View::new(By::Host), 60);
        assert_eq!(lines.len(), 4);
        let text: String = lines.iter().map(ToString::to_string).collect();
        assert!(text.starts_with("CPU/5    "), "{text}");
        assert_eq!((text.matches('▁').count(), text.matches('█').count()), (199, 1));
    }

    #[test]
    fn a_host_without_the_number_has_a_cell_all_the_same() {
        let view = View { sort: "pressure_io".into(), ..View::new(By::Host) };
        let lines = strip(&model(), &view, 80);
        assert_eq!(lines[0].to_string(), "wait:io   ···");
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!((cut("abcdef", 6), cut("abcdefg", 6)), ("abcdef".into(), "abcde…".into()));
    }
}
