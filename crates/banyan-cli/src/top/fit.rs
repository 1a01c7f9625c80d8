//! What fits into a line: columns of a table and parts of a line, the most useful first.

use ratatui_core::text::Span;

use super::column::{Column, Holds};

/// Between two parts of a line.
const GAP: &str = "  ";

/// A column that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    /// Its place among all.
    pub(super) at: usize,
    /// Letters that it takes.
    pub(super) width: usize,
}

/// The columns that fit into so many letters: all, as wide as they like, where there is room or nobody knows how much. Where
/// there is not they are narrow, and what is left over is for names. The one that rows are sorted by is always there.
pub(super) fn columns(columns: &[Column], sorted: usize, room: Option<usize>) -> Vec<Shown> {
    let wide = || columns.iter().enumerate().map(|(at, column)| Shown { at, width: column.width });
    let Some(mut left) = room.filter(|room| *room < wide().map(|shown| shown.width).sum()) else {
        return wide().collect();
    };
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|at| (*at != sorted, columns[*at].useful));
    let mut shown = Vec::new();
    for at in order {
        let width = columns[at].least;
        if at == sorted || width <= left {
            left = left.saturating_sub(width);
            shown.push(Shown { at, width });
        }
    }
    for shown in shown.iter_mut().filter(|shown| columns[shown.at].holds == Holds::Name) {
        let more = columns[shown.at].width.saturating_sub(shown.width).min(left);
        (shown.width, left) = (shown.width + more, left - more);
    }
    shown.sort_by_key(|shown| shown.at);
    shown
}

/// The parts of a line that fit, in their order. Each comes with its usefulness, 0 for the most useful, which is always there.
pub(super) fn parts(parts: Vec<(u8, Span<'static>)>, room: Option<usize>) -> Vec<Span<'static>> {
    let mut left = room.unwrap_or(usize::MAX);
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| parts[*at].0);
    let mut kept = vec![false; parts.len()];
    for at in order {
        let gap = if kept.contains(&true) { GAP.len() } else { 0 };
        let width = parts[at].1.width() + gap;
        kept[at] = width <= left || gap == 0;
        left = left.saturating_sub(if kept[at] { width } else { 0 });
    }
    let kept = parts.into_iter().zip(kept).filter(|(_, kept)| *kept);
    kept.flat_map(|((_, part), _)| [Span::raw(GAP), part]).skip(1).collect()
}

/// As many of several texts as fit, and a sign if there are more.
pub(super) fn some_of(texts: &[String], room: usize) -> String {
    const MORE: &str = ", …";
    let all = texts.join(", ");
    if all.chars().count() <= room {
        return all;
    }
    let room = room.saturating_sub(MORE.chars().count());
    let fits = |count: &usize| texts[..*count].join(", ").chars().count() <= room;
    match (1..texts.len()).rev().find(fits) {
        Some(count) => texts[..count].join(", ") + MORE,
        None => cut(&all, room + MORE.chars().count()),
    }
}

/// The beginning of a text that is too long.
pub(super) fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(key: &'static str, holds: Holds, width: usize, least: usize, useful: u8) -> Column {
        Column { key, title: key, holds, width, least, useful }
    }

    fn shown(sorted: usize, room: Option<usize>) -> Vec<(usize, usize)> {
        let all = [
            column("name", Holds::Name, 20, 8, 0),
            column("a", Holds::Number, 10, 6, 3),
            column("b", Holds::Number, 10, 6, 1),
            column("c", Holds::Number, 10, 6, 2),
        ];
        columns(&all, sorted, room).into_iter().map(|shown| (shown.at, shown.width)).collect()
    }

    #[test]
    fn the_most_useful_columns_are_shown_and_the_one_that_is_sorted_by_always() {
        let all = [(0, 20), (1, 10), (2, 10), (3, 10)];
        assert_eq!((shown(2, None), shown(2, Some(50))), (all.to_vec(), all.to_vec()));
        assert_eq!(shown(2, Some(49)), [(0, 20), (1, 6), (2, 6), (3, 6)]);
        assert_eq!(shown(2, Some(28)), [(0, 10), (1, 6), (2, 6), (3, 6)], "narrow names before fewer columns");
        assert_eq!(shown(2, Some(20)), [(0, 8), (2, 6), (3, 6)]);
        assert_eq!(shown(1, Some(20)), [(0, 8), (1, 6), (2, 6)]);
        assert_eq!(shown(1, Some(3)), [(1, 6)]);
    }

    #[test]
    fn parts_of_a_line_stay_in_their_order() {
        let line = |room| {
            let all = vec![(2, Span::raw("first")), (0, Span::raw("second")), (1, Span::raw("third"))];
            parts(all, room).iter().map(|span| span.content.to_string()).collect::<String>()
        };
        assert_eq!([line(None), line(Some(20))], ["first  second  third", "first  second  third"]);
        assert_eq!([line(Some(19)), line(Some(12)), line(Some(2))], ["second  third", "second", "second"]);
    }

    #[test]
    fn of_too_many_texts_the_first_are_shown() {
        let texts = ["n1 97.0%", "n2 80.0%", "n3 70.0%"].map(String::from);
        assert_eq!(some_of(&texts, 28), "n1 97.0%, n2 80.0%, n3 70.0%");
        assert_eq!(some_of(&texts, 27), "n1 97.0%, n2 80.0%, …");
        assert_eq!((some_of(&texts, 20), some_of(&texts, 6)), ("n1 97.0%, …".into(), "n1 97…".into()));
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!((cut("abcdef", 6), cut("abcdefg", 6)), ("abcdef".into(), "abcde…".into()));
    }
}
