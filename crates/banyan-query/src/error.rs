//! What is wrong with a query, where in its text, and what to do.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Columns of a line that an error shows; longer lines are cut around the place.
const SHOWN: usize = 100;

/// Why a text is not a query, or why a query does not fit the events of a sensor.
///
/// It prints the problem, the line of the text with carets under the place, and the remedy:
///
/// ```text
/// column 12: solver.step has no field residul
///   select max(residul) from solver.step
///              ^^^^^^^
/// write residual; it has n, residual, level
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct QueryError {
    text: Arc<str>,
    range: Range<usize>,
    problem: Box<Problem>,
}

impl QueryError {
    pub(crate) fn new(text: &Arc<str>, fault: Fault) -> QueryError {
        QueryError { text: Arc::clone(text), range: fault.span.start..fault.span.end, problem: fault.problem }
    }

    /// The bytes of the query's text that are wrong. Empty where something is missing.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl std::error::Error for QueryError {}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.range.start.min(self.text.len());
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let line = &self.text[line_start..line_end];
        let column = self.text[line_start..start].chars().count();
        let end = self.range.end.clamp(start, line_end);
        let carets = self.text[start..end].chars().count().max(1);
        let is_long = line.chars().nth(SHOWN).is_some();
        let first = if is_long { column.saturating_sub(SHOWN / 2) } else { 0 };
        let shown: String = line.chars().map(printable).skip(first).take(SHOWN).collect();
        let carets = carets.min(SHOWN.saturating_sub(column - first)).max(1);
        // Names come from the text, and from formats of others.
        let on_a_line = |text: String| text.chars().map(printable).collect::<String>();
        let problem = on_a_line(self.problem.to_string());
        match self.text[..line_start].matches('\n').count() {
            0 => writeln!(f, "column {}: {problem}", column + 1)?,
            lines => writeln!(f, "line {}, column {}: {problem}", lines + 1, column + 1)?,
        }
        writeln!(f, "  {shown}")?;
        writeln!(f, "  {:1$}{2}", "", column - first, "^".repeat(carets))?;
        write!(f, "{}", on_a_line(self.problem.remedy()))
    }
}

/// Control characters command no terminal, and carets stand below what they mean.
fn printable(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}

/// A place in the text. All places are equal: expressions are the same wherever they stand.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Span {
    pub(crate) fn to(self, end: Span) -> Span {
        Span { start: self.start, end: end.end }
    }
}

/// A problem and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) span: Span,
    pub(crate) problem: Box<Problem>,
}

impl Fault {
    pub(crate) fn new(span: Span, problem: Problem) -> Fault {
        Fault { span, problem: problem.into() }
    }
}

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Something else stands where a word or sign should.
    #[error("{found} stands where {wanted} should")]
    Unexpected {
        /// What stands there.
        found: String,
        /// What should.
        wanted: String,
    },
    /// A character that begins no word or sign.
    #[error("{0:?} means nothing here")]
    Character(char),
    /// A text or name without an end.
    #[error("this {0} is never closed")]
    Open(&'static str),
    /// A number that is too large, or a duration that is none.
    #[error("{found} is not {wanted}")]
    Number {
        /// What stands there.
        found: String,
        /// What should.
        wanted: &'static str,
    },
    /// More than a bound allows.
    #[error("{what}: {found} are more than the {limit} allowed")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        found: usize,
        /// How many may be.
        limit: usize,
    },
    /// A function that is not there.
    #[error("there is no function {name}")]
    Function {
        /// Its name.
        name: String,
        /// The one with the most similar name.
        nearest: Option<String>,
    },
    /// The arguments of a function are others.
    #[error("{function} {reason}")]
    Arguments {
        /// The function.
        function: String,
        /// What is wrong with them.
        reason: String,
        /// How it is written.
        example: String,
    },
    /// The events of the sensor lack a field.
    #[error("{record} has no field {name}")]
    Field {
        /// The record that lacks it.
        record: String,
        /// The name.
        name: String,
        /// The field with the most similar name.
        nearest: Option<String>,
        /// Some of those that there are.
        known: Vec<String>,
    },
    /// A path that leads to something that is not one value.
    #[error("{path} is {found}")]
    Path {
        /// The path.
        path: String,
        /// What it leads to.
        found: String,
        /// What to write instead.
        remedy: String,
    },
    /// A value of another type than an operation takes.
    #[error("{found} stands where {wanted} should")]
    Type {
        /// What stands there.
        found: &'static str,
        /// What should.
        wanted: &'static str,
    },
    /// An aggregate where only values of one event are.
    #[error("{name} stands in {place}, where there is one event at a time")]
    Misplaced {
        /// The aggregate.
        name: String,
        /// Where.
        place: &'static str,
    },
    /// A value of one event where only aggregates and keys are.
    #[error("{name} differs from event to event, but there is one row for many events")]
    Ungrouped {
        /// The value.
        name: String,
    },
    /// A clause that this kind of query has no use for.
    #[error("{clause} needs {needed}")]
    Clause {
        /// The clause.
        clause: &'static str,
        /// What it needs.
        needed: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Two columns of the same name.
    #[error("two columns have the name {0}")]
    Twice(String),
    /// A pattern that is none.
    #[error("this is not a regular expression: {0}")]
    Pattern(String),
    /// A query whose results cannot be described.
    #[error("the results of this query have no format: {0}")]
    Format(String),
    /// A sensor that the query does not ask.
    #[error("the query does not ask {0}")]
    Sensor(String),
}

impl Problem {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Problem::Unexpected { found, wanted } => match (found.strip_prefix('"'), wanted.as_str()) {
                (Some(name), _) => format!("a text stands in single quotes: '{}'", name.trim_end_matches('"')),
                _ => "write for example: select max(ms) from solver.step where level > 2 group by host every 1s".into(),
            },
            Problem::Character(_) => {
                "put names with odd characters in double quotes, and texts in single quotes".into()
            }
            Problem::Open("text") => "end it with a single quote; a quote within it is doubled: 'it''s'".into(),
            Problem::Open(_) => "end it with a double quote".into(),
            Problem::Number { .. } => "durations are written as 250ms, 1s, 5m, 2h; numbers as 3, 2.5, 1e-3".into(),
            Problem::TooMany { .. } => "ask several queries".into(),
            Problem::Function { nearest: Some(nearest), .. } => format!("write {nearest}"),
            Problem::Function { .. } => crate::syntax::ALL_FUNCTIONS.into(),
            Problem::Arguments { example, .. } => format!("write it as {example}"),
            Problem::Field { nearest, known, .. } => match nearest {
                Some(nearest) => format!("write {nearest}; it has {}", known.join(", ")),
                None => format!("it has {}", known.join(", ")),
            },
            Problem::Path { remedy, .. } => remedy.clone(),
            Problem::Type { wanted: "a condition", .. } => "compare it with something: x > 0".into(),
            Problem::Type { found: "a condition", .. } => "conditions are joined by and, or, not".into(),
            Problem::Type { .. } => "numbers are compared with numbers, texts with texts in single quotes".into(),
            Problem::Misplaced { place: "where", .. } => "put conditions on aggregates behind having".into(),
            Problem::Misplaced { .. } => "aggregates stand behind select and having, and not within each other".into(),
            Problem::Ungrouped { name } => format!("aggregate it, as in max({name}), or write: group by {name}"),
            Problem::Clause { remedy, .. } => (*remedy).into(),
            Problem::Twice(name) => format!("give one another name: {name} as other"),
            Problem::Pattern(_) => "write for example: name matches '^node[0-9]+$'".into(),
            Problem::Format(_) => "ask for less: fewer bins, fewer aggregates".into(),
            Problem::Sensor(_) => "name it behind from".into(),
        }
    }
}

/// The most similar of some names, if it is similar at all.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
    let most = (name.chars().count() / 3).clamp(1, 3);
    let near = known.take(1000).filter(|other| other.len() < 100).map(|other| (distance(name, other), other));
    near.filter(|(distance, _)| *distance <= most).min().map(|(_, other)| other.to_owned())
}

/// Characters to change, insert or remove.
fn distance(one: &str, other: &str) -> usize {
    if one.len() > 100 {
        return usize::MAX;
    }
    let other: Vec<char> = other.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, character) in one.to_lowercase().chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for column in 0..other.len() {
            let changed = diagonal + usize::from(other[column] != character);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
