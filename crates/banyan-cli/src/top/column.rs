//! The columns of tables: what they hold, how wide they are, and how useful where there is little room.

/// Columns of numbers and of names.
pub(super) const NUMBER_WIDTH: usize = 10;
pub(super) const NAME_WIDTH: usize = 20;

/// Where there is little room: names, and those of processes, of which kernels know 15 letters.
pub(super) const LEAST_NAME: usize = 8;
pub(super) const LEAST_PROCESS: usize = 16;

/// Letters of a share or of bytes: `100.0%`, `999 MB`.
pub(super) const RATE: usize = 6;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// Names, which rows are looked for by.
    Name,
    /// Other text.
    Word,
    Number,
}

/// A column. Those of names stand first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    /// In JSON, and for sorting.
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) holds: Holds,
    /// Letters that it takes in tables. Longer names are cut there, and told in full in JSON.
    pub(super) width: usize,
    /// Letters that it takes at least, where there is little room.
    pub(super) least: usize,
    /// Where there is room for few: 0 for the most useful.
    pub(super) useful: u8,
}

impl Column {
    /// A column of names.
    pub(super) const fn name(
        key: &'static str,
        title: &'static str,
        (least, width): (usize, usize),
        useful: u8,
    ) -> Column {
        Column { key, title, holds: Holds::Name, width, least, useful }
    }

    /// A column of numbers with so many letters at most.
    pub(super) fn number(key: &'static str, title: &'static str, letters: usize, useful: u8) -> Column {
        // Beside the title there is a gap, and room for the sign of those that are sorted by.
        let least = (title.chars().count() + 2).max(letters + 1).min(NUMBER_WIDTH);
        Column { key, title, holds: Holds::Number, width: NUMBER_WIDTH, least, useful }
    }

    /// A column of single letters.
    pub(super) fn letter(key: &'static str, title: &'static str, useful: u8) -> Column {
        Column { holds: Holds::Word, ..Column::number(key, title, 1, useful) }
    }
}
