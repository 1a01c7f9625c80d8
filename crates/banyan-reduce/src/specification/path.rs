//! Paths into records: `mesh.elems[*].energy`, `temps[3]`, `"odd.name".x`.
//!
//! Names joined by dots, each followed by any number of indices; `[*]` stands for every item of an array or list. A
//! path that ends in an array means every item of it. Pointers and optionals need no sign; a path goes through them.

use std::fmt;

use super::SpecificationError;

/// Steps of one path: deeper records are a mistake, or an attack.
const MAX_STEPS: usize = 64;

/// A way to one value of a record, or to many.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    pub(crate) steps: Vec<PathStep>,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PathStep {
    /// A field of a record, or a case of a variant.
    Name(String),
    /// One item.
    Item(usize),
    /// Every item, in row order where there are several dimensions.
    All,
}

impl Path {
    /// Reads a path that begins at `column` of a text, counted from one.
    pub(super) fn parse(text: &str, column: usize) -> Result<Path, SpecificationError> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let at = column + text[..text.len() - rest.len()].chars().count();
            let wrong = |reason| SpecificationError::Path { column: at, path: text.into(), reason };
            if steps.len() == MAX_STEPS {
                return Err(wrong("has more steps than any record is deep; shorten it"));
            }
            if let Some(inside) = rest.strip_prefix('[') {
                let (index, behind) = inside.split_once(']').ok_or(wrong("has a bracket that is never closed"))?;
                steps.push(index_step(index.trim()).ok_or(wrong("has an index that is neither a number nor *"))?);
                rest = behind;
                continue;
            }
            let name = match (steps.is_empty(), rest.strip_prefix('.')) {
                (true, None) => rest,
                (false, Some(name)) => name,
                (true, Some(_)) => return Err(wrong("begins with a dot")),
                (false, None) => return Err(wrong("lacks a dot between two names")),
            };
            let (name, behind) = split_name(name).map_err(wrong)?;
            if name.is_empty() {
                return Err(wrong("has an empty name"));
            }
            steps.push(PathStep::Name(name.to_owned()));
            rest = behind;
        }
        if steps.is_empty() {
            let reason = "is empty; name a field, as in load or mesh.elems[*].energy";
            return Err(SpecificationError::Path { column, path: text.into(), reason });
        }
        Ok(Path { steps })
    }
}

fn index_step(index: &str) -> Option<PathStep> {
    if index == "*" {
        return Some(PathStep::All);
    }
    index.bytes().all(|byte| byte.is_ascii_digit()).then(|| index.parse().ok().map(PathStep::Item))?
}

/// The name at the start of `text`, and what follows it.
fn split_name(text: &str) -> Result<(&str, &str), &'static str> {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split_once('"').ok_or("has a quote that is never closed");
    }
    let (name, behind) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    match name.contains(needs_quotes) {
        true => Err("has a sign that no name has; put the name in quotes"),
        false => Ok((name, behind)),
    }
}

/// Signs that mean something else in a specification.
fn needs_quotes(sign: char) -> bool {
    ".[],()\"".contains(sign) || sign.is_whitespace()
}

/// As it is written: the same path, the same text.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.steps.iter().enumerate() {
            match step {
                PathStep::Item(index) => write!(f, "[{index}]")?,
                PathStep::All => write!(f, "[*]")?,
                PathStep::Name(name) => {
                    let dot = if position == 0 { "" } else { "." };
                    if name.contains(needs_quotes) {
                        write!(f, "{dot}\"{name}\"")?;
                    } else {
                        write!(f, "{dot}{name}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for Path {
    type Err = SpecificationError;

    fn from_str(text: &str) -> Result<Path, SpecificationError> {
        Path::parse(text, 1)
    }
}
