//! The live screen: the page fitted into a terminal of any size, and the line that says which keys there are.

use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};

use super::fit::{self, Shown};
use super::page;
use super::view::{Model, Table, View};

/// The table has at least so many lines before there is a summary above it.
const MIN_TABLE: usize = 6;

/// What keys do, each with its usefulness where there is room for few.
const KEYS: [(u8, &str); 9] = [
    (0, "q quit"),
    (2, "↑↓ choose"),
    (1, "enter look into"),
    (3, "esc back"),
    (4, "←→ sort"),
    (8, "r reverse"),
    (6, "/ filter"),
    (5, "b by"),
    (7, "p pause"),
];

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, view: &View, table: &Table) {
    let area = frame.area();
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let shown = fit::columns(&table.columns, view.sorted_by(), Some(width));
    let mut lines = page::head(model, view, Some(width));
    let summary = page::summary(model, Some(width));
    if lines.len() + summary.len() + MIN_TABLE <= height {
        lines.extend(summary);
    }
    lines.push(page::heading(table, view, &shown));
    // The last line is for keys, the one above for the command line of the chosen process.
    let room = height.saturating_sub(lines.len() + 1);
    let command = table.rows.get(chosen(table, view)).and_then(|row| row.command.as_deref()).filter(|_| room > 2);
    let room = room - command.iter().len();
    lines.extend(visible(table, view, &shown, room));
    if let Some(command) = command {
        lines.resize(height - 2, Line::default());
        lines.push(Line::raw(fit::cut(&format!("runs: {command}"), width)));
    }
    lines.truncate(height.saturating_sub(1));
    for (y, line) in (area.top()..).zip(lines) {
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
    if area.height > 0 {
        frame.render_widget(footer(view, width), Rect { y: area.bottom() - 1, height: 1, ..area });
    }
}

/// The place of the chosen row.
fn chosen(table: &Table, view: &View) -> usize {
    view.selected.min(table.rows.len().saturating_sub(1))
}

/// The rows around the chosen one, and below them the line of those that are not shown one by one.
fn visible(table: &Table, view: &View, shown: &[Shown], room: usize) -> Vec<Line<'static>> {
    let selected = chosen(table, view);
    let others = table.others.as_ref().filter(|_| room > 1);
    let room = room.saturating_sub(others.iter().len());
    let first = (selected + 1).saturating_sub(room);
    let rows = table.rows.iter().enumerate().skip(first).take(room);
    let line = |(number, row)| {
        let line = page::row(table, row, shown);
        if number == selected { line.style(Style::new().add_modifier(Modifier::REVERSED)) } else { line }
    };
    rows.map(line).chain(others.map(|others| page::row(table, others, shown))).collect()
}

fn footer(view: &View, width: usize) -> Line<'static> {
    if view.typing {
        return Line::raw(format!("only names with: {}_   (enter: keep, esc: all)", view.filter));
    }
    let keys = KEYS.map(|(useful, key)| (useful, Span::raw(key))).to_vec();
    Line::from(fit::parts(keys, Some(width))).style(Style::new().fg(Color::DarkGray))
}

#[cfg(test)]
mod tests {
    use ratatui_core::backend::TestBackend;
    use ratatui_core::terminal::Terminal;

    use super::super::view::By;
    use super::super::view::tests::model;
    use super::*;

    fn shown(view: &View, width: u16, height: u16) -> String {
        drawn(&model(), view, width, height)
    }

    fn drawn(model: &Model, view: &View, width: u16, height: u16) -> String {
        let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
        let table = view.table(model);
        let Ok(_) = terminal.draw(|frame| draw(frame, model, view, &table));
        terminal.backend().to_string()
    }

    #[test]
    fn the_screen_of_a_terminal() {
        let shown = shown(&View { selected: 1, ..View::new(By::Host) }, 120, 24);
        assert_eq!(shown, include_str!("golden/screen.txt"), "\n{shown}");
    }

    #[test]
    fn the_screen_of_the_usual_terminal() {
        let shown = shown(&View { sort: "run_queue".into(), ..View::new(By::Host) }, 80, 24);
        assert_eq!(shown, include_str!("golden/usual.txt"), "\n{shown}");
    }

    #[test]
    fn a_low_terminal_has_the_table_and_no_summary() {
        let shown = shown(&View::new(By::Host), 80, 9);
        assert!(!shown.contains("median") && shown.contains("n4"), "{shown}");
    }

    #[test]
    fn the_chosen_row_is_always_visible() {
        // Room for one row.
        let shown = shown(&View { selected: 2, ..View::new(By::Host) }, 80, 7);
        assert!(shown.contains("\"n4 ") && !shown.contains("\"n2 "), "{shown}");
    }

    #[test]
    fn the_line_of_the_others_is_below_however_many_rows_there_are() {
        let mut model = model();
        let used = model.used.used[0].clone();
        model.used.used = vec![used; 30];
        for selected in [0, 17, 29] {
            let view = View { selected, ..View::new(By::User) };
            let shown = drawn(&model, &view, 100, 20);
            let last = shown.lines().rev().nth(1).unwrap_or_default();
            assert!(last.contains("12 others"), "{selected}:\n{shown}");
        }
    }

    #[test]
    fn the_command_line_of_the_chosen_process_stands_above_the_keys() {
        let above = |view: &View| shown(view, 80, 24).lines().rev().nth(1).unwrap_or_default().to_owned();
        assert!(above(&View::new(By::Process)).starts_with("\"runs: ./solver --grid 8  "));
        assert!(above(&View { selected: 9, ..View::new(By::Process) }).starts_with("\"runs: ./\\u{1b}[2J --grid 8  "));
        assert!(!above(&View::new(By::User)).contains("runs"));
    }

    #[test]
    fn every_size_can_be_drawn() {
        for width in [1, 7, 40] {
            for height in 1..30 {
                shown(&View { typing: true, ..View::new(By::Process) }, width, height);
            }
        }
    }
}
