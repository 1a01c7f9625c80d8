//! `--format`: which formats of a file are meant, by name or by id.

use std::fmt;
use std::str::FromStr;

use banyan_ndr::Format;

/// The fewest digits of an id that choose a format: a shorter text is too easily the beginning of another's.
const FEWEST_DIGITS: usize = 4;

/// A name, or the first digits of an id. Formats of one name differ in their ids.
#[derive(Clone)]
pub(crate) struct Choice(String);

impl Choice {
    /// Whether a format is meant.
    pub(crate) fn is(&self, format: &Format) -> bool {
        self.0 == format.name() || (self.0.len() >= FEWEST_DIGITS && format.id().to_string().starts_with(&self.0))
    }
}

impl FromStr for Choice {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Choice, Self::Err> {
        Ok(Choice(text.to_owned()))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The formats there are to choose from: names, and ids where several have the same name.
pub(crate) fn list(formats: &[Format]) -> String {
    let several = |name: &str| formats.iter().filter(|format| format.name() == name).count() > 1;
    let called = |format: &Format| match several(format.name()) {
        true => format!("{} ({})", format.name(), format.id()),
        false => format.name().to_owned(),
    };
    let mut names: Vec<String> = formats.iter().map(called).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { "no format at all".to_owned() } else { names.join(", ") }
}
