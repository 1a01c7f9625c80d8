//! The lines that people see, on a screen and in a pipe: a pure function of what there is and how it is looked at.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::column::{Column, Holds, NAME_WIDTH, NUMBER_WIDTH, RATE};
use super::fit::{self, Shown, cut, some_of};
use super::metric::{METRICS, Metric, bytes};
use super::tick::{NumberSummary, Of};
use super::view::{Model, Row, Table, View};
use super::watch::Within;
use crate::screen::harmless;

/// A cell of the strip, from cold to hot.
const LEVELS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// From cold to hot, of the 256 colours that every terminal of today has.
const HEAT: [u8; 8] = [28, 34, 70, 106, 178, 208, 202, 196];

/// The width of a page where nobody knows one.
const WIDTH: usize = 100;

/// Lines of the strip: with more hosts than it has room for, a cell is the hottest of several.
const MAX_STRIP_LINES: usize = 4;

const TITLE: Style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
const FAINT: Style = Style::new().fg(Color::DarkGray);
const WARNING: Style = Style::new().fg(Color::Yellow);

/// What stands above the table: who is there, what this costs, the strip and the summary.
pub(super) fn head(model: &Model, view: &View, width: Option<usize>) -> Vec<Line<'static>> {
    let mut lines = vec![title(model, view, width), cost(model, width)];
    lines.extend(strip(model, view, width.unwrap_or(WIDTH)));
    lines.push(Line::default());
    lines
}

/// The summary of every number over all hosts.
pub(super) fn summary(model: &Model, width: Option<usize>) -> Vec<Line<'static>> {
    let columns = summary_columns(model);
    let mut shown = fit::columns(&columns, 0, width);
    // Whoever stands out has all the room that is left.
    let others: usize = shown.iter().filter(|shown| shown.at != OUTLIERS).map(|shown| shown.width).sum();
    let left = width.map_or(usize::MAX, |width| width.saturating_sub(others));
    shown.iter_mut().filter(|shown| shown.at == OUTLIERS).for_each(|shown| shown.width = left);
    let heading = shown.iter().map(|shown| Span::styled(fill(columns[shown.at].title, &columns, *shown), TITLE));
    let mut lines = vec![Line::from(heading.collect::<Vec<_>>())];
    for (metric, summary) in METRICS.iter().zip(&model.tick.summaries) {
        let cells = of_metric(model, *metric, summary, left);
        let cell = |shown: &Shown| {
            let (text, style) = &cells[shown.at];
            Span::styled(fill(text, &columns, *shown), *style)
        };
        lines.push(Line::from(shown.iter().map(cell).collect::<Vec<_>>()));
    }
    lines.push(Line::default());
    lines
}

/// The place of those who stand out in the summary.
const OUTLIERS: usize = 6;

fn summary_columns(model: &Model) -> [Column; 7] {
    [
        Column::name("", "", (9, 10), 0),
        Column::number("", "min", RATE + 1, 6),
        Column::number("", "median", RATE + 1, 2),
        Column::number("", "p99", RATE + 1, 5),
        Column::number("", "max", RATE + 1, 1),
        // Names stand apart from numbers.
        Column::name("", "  on", (model.host_width() + 2, NAME_WIDTH + 2), 4),
        Column::name("", "stand out", (15, 28), 3),
    ]
}

/// The table's heading.
pub(super) fn heading(table: &Table, view: &View, shown: &[Shown]) -> Line<'static> {
    let sorted = view.sorted_by();
    let title = |shown: &Shown| {
        let arrow = match (shown.at == sorted, view.reversed) {
            (false, _) => "",
            (true, false) => "▼",
            (true, true) => "▲",
        };
        let title = format!("{}{arrow}", table.columns[shown.at].title);
        Span::styled(fill(&title, &table.columns, *shown), TITLE)
    };
    Line::from(shown.iter().map(title).collect::<Vec<_>>())
}

/// A row of the table.
pub(super) fn row(table: &Table, row: &Row, shown: &[Shown]) -> Line<'static> {
    let cell = |shown: &Shown| {
        let cell = &row.cells[shown.at];
        let style = cell.heat.map_or_else(Style::default, heat_style);
        Span::styled(fill(&cell.text, &table.columns, *shown), style)
    };
    Line::from(shown.iter().map(cell).collect::<Vec<_>>())
}

fn title(model: &Model, view: &View, width: Option<usize>) -> Line<'static> {
    let count = model.tick.hosts.len();
    let what = match &view.within {
        Some(Within::Host(rank)) => format!("processes of {}", model.name(*rank)),
        Some(Within::Job(name)) => format!("processes of job {}", harmless(name.as_bytes())),
        Some(Within::User(name)) => format!("processes of user {}", harmless(name.as_bytes())),
        None => format!("by {:?}", view.by).to_lowercase(),
    };
    let hosts = if count == 1 { "1 host".to_owned() } else { format!("{count} hosts") };
    let mut parts = vec![
        (5, Span::styled("banyan top", TITLE)),
        (4, Span::raw(hosts)),
        (0, Span::raw(what)),
        (6, Span::raw(format!("every {} s", model.interval))),
    ];
    if !view.filter.is_empty() {
        parts.push((3, Span::styled(format!("only {:?}", view.filter), WARNING)));
    }
    if !model.silent.is_empty() {
        let names: Vec<&str> = model.silent.iter().take(3).map(String::as_str).collect();
        let more = if model.silent.len() > names.len() { ", …" } else { "" };
        let silent = format!("{} silent: {}{more}", model.silent.len(), names.join(", "));
        parts.push((2, Span::styled(silent, WARNING)));
    }
    if view.paused {
        parts.push((1, Span::styled("paused", WARNING)));
    }
    Line::from(fit::parts(parts, width))
}

fn cost(model: &Model, width: Option<usize>) -> Line<'static> {
    let share = model.tick.own_cpu.unwrap_or_default();
    let memory = bytes(model.tick.own_memory.unwrap_or_default());
    let (here, rate) = (model.cost.cpu, bytes(model.cost.bytes));
    let text = format!("cost: {share:.2} % of a core and {memory} a host at most; here {here:.2} % and {rate}/s");
    if width.is_none_or(|width| text.chars().count() <= width) {
        return Line::styled(text, FAINT);
    }
    let text = format!("cost: {share:.2} % {memory} a host; here {here:.2} % {rate}/s");
    Line::styled(cut(&text, width.unwrap_or(WIDTH)), FAINT)
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

/// The cells of a number in the summary; for those who stand out there are so many letters.
fn of_metric(model: &Model, metric: Metric, summary: &NumberSummary, room: usize) -> Vec<(String, Style)> {
    let show = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| metric.show(value));
    let value = |of: Option<Of>| of.map(|of| of.value);
    let numbers = [value(summary.min), summary.median, summary.p99, value(summary.max)];
    let mut cells = vec![(metric.title.to_owned(), Style::default())];
    for number in numbers {
        let style = number.and_then(|number| metric.heat(number)).map_or_else(Style::default, heat_style);
        cells.push((show(number), style));
    }
    let on = summary.max.map_or("", |of| model.name(of.rank));
    cells.push((format!("  {on}"), Style::default()));
    let median = summary.median.unwrap_or_default();
    let outliers = summary.top.iter().filter(|of| metric.stands_out(of.value, median));
    let outliers: Vec<String> =
        outliers.map(|of| format!("{} {}", model.name(of.rank), metric.show(of.value))).collect();
    cells.push((some_of(&outliers, room), WARNING));
    cells
}

/// A text in a column: names to the left, numbers to the right. The last column needs no gap behind it, nor to be filled.
fn fill(text: &str, columns: &[Column], Shown { at, width }: Shown) -> String {
    match columns[at].holds {
        Holds::Name if at + 1 == columns.len() => cut(text, width),
        Holds::Name => format!("{:<width$}", cut(text, width.saturating_sub(1))),
        Holds::Word | Holds::Number => format!("{text:>width$}"),
    }
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
}
