//! Colours on a terminal: what is painted, by meaning.

use std::fmt::Display;

/// What a text is.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    /// A heading.
    Title,
    /// Where something comes from.
    Label,
    /// All well, or a line that is there instead of another.
    Good,
    /// Something to look at.
    Warning,
    /// Wrong, or a line that is missing.
    Bad,
}

impl Style {
    fn begin(self) -> &'static str {
        match self {
            Style::Title => "\x1b[1;36m",
            Style::Label => "\x1b[36m",
            Style::Good => "\x1b[32m",
            Style::Warning => "\x1b[33m",
            Style::Bad => "\x1b[31m",
        }
    }
}

/// Whether there are colours.
#[derive(Clone, Copy)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    /// A text in its colour.
    pub(crate) fn text(self, style: Style, text: impl Display) -> String {
        if self.0 { format!("{}{text}\x1b[0m", style.begin()) } else { text.to_string() }
    }
}
