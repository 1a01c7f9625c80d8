//! Queries as text: one way of writing for each, which is read back as the same.

use std::fmt::{self, Display, Formatter, Write};

use crate::syntax::{
    AggregateKind, Binary, Context, Expression, FieldPath, Item, Items, NEGATE, NOT, Node, Step, Syntax, is_keyword,
};
use crate::token::{UNITS, is_first_of_name, is_of_name};

impl Display for Syntax {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("select ")?;
        match &self.items {
            Items::All => f.write_str("*")?,
            Items::Columns(items) => separated(f, items)?,
        }
        f.write_str(" from ")?;
        for (position, sensor) in self.sensors.iter().enumerate() {
            f.write_str(if position == 0 { "" } else { ", " })?;
            for (position, part) in sensor.name.split('.').enumerate() {
                f.write_str(if position == 0 { "" } else { "." })?;
                name(f, part)?;
            }
        }
        if let Some(filter) = &self.filter {
            write!(f, " where {filter}")?;
        }
        if !self.keys.is_empty() {
            f.write_str(" group by ")?;
            separated(f, &self.keys)?;
        }
        if let Some(window) = &self.window {
            f.write_str(" every ")?;
            duration(f, window.width)?;
            if let Some(slide) = window.slide {
                f.write_str(" sliding ")?;
                duration(f, slide)?;
            }
        }
        if let Some(having) = &self.having {
            write!(f, " having {having}")?;
        }
        if let Some((one_in, _)) = self.sample {
            write!(f, " sample 1 in {one_in}")?;
        }
        match self.limit {
            Some(limit) => write!(f, " limit {limit}"),
            None => Ok(()),
        }
    }
}

fn separated<T: Display>(f: &mut Formatter<'_>, all: &[T]) -> fmt::Result {
    for (position, one) in all.iter().enumerate() {
        write!(f, "{}{one}", if position == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.expression)?;
        match &self.name {
            Some(own) => {
                f.write_str(" as ")?;
                name(f, own)
            }
            None => Ok(()),
        }
    }
}

/// A name, in double quotes if it would be read as something else.
fn name(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    let is_plain = text.starts_with(is_first_of_name) && text.chars().all(is_of_name) && !is_keyword(text);
    if is_plain { f.write_str(text) } else { quoted(f, text, '"') }
}

fn quoted(f: &mut Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    f.write_char(quote)?;
    for character in text.chars() {
        f.write_char(character)?;
        if character == quote {
            f.write_char(quote)?;
        }
    }
    f.write_char(quote)
}

/// In the largest unit that gives a whole number.
fn duration(f: &mut Formatter<'_>, nanoseconds: i64) -> fmt::Result {
    let fits = |(_, unit): &&(&str, i64)| nanoseconds % unit == 0 && nanoseconds != 0;
    let (word, unit) = UNITS.iter().rev().find(fits).unwrap_or(&UNITS[0]);
    write!(f, "{}{word}", nanoseconds / unit)
}

/// Nanoseconds, as they are written.
pub(crate) struct Duration(pub(crate) i64);

impl Display for Duration {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        duration(f, self.0)
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.node {
            Node::Integer(number) => write!(f, "{number}"),
            // With point or exponent, so that it stays a float.
            Node::Float(number) => write!(f, "{number:?}"),
            Node::Text(text) => quoted(f, text, '\''),
            Node::Truth(truth) => write!(f, "{truth}"),
            Node::Duration(nanoseconds) => duration(f, *nanoseconds),
            Node::Field(path) => write!(f, "{path}"),
            Node::Context(context) => f.write_str(context.word()),
            Node::Not(of) => {
                f.write_str("not ")?;
                within(f, of, NOT)
            }
            Node::Negate(of) => {
                f.write_str("-")?;
                // Two signs in a row are hard to read.
                within(f, of, NEGATE + 1)
            }
            Node::Binary(operation, left, right) => {
                let strength = operation.strength();
                let is_comparison = matches!(operation, Binary::Compare(_));
                within(f, left, strength + u8::from(is_comparison))?;
                write!(f, " {} ", operation.word())?;
                within(f, right, strength + 1)
            }
            Node::Like(of, pattern) => pattern_of(f, of, "like", pattern),
            Node::Matches(of, pattern) => pattern_of(f, of, "matches", pattern),
            Node::Call(function, of) => write!(f, "{}({of})", function.word()),
            Node::Aggregate(aggregate) => {
                let of = aggregate.argument.as_deref();
                match (aggregate.kind, of) {
                    (AggregateKind::Top(most), Some(of)) => write!(f, "top({most}, {of})"),
                    (AggregateKind::Histogram { low, high, bins }, Some(of)) => {
                        write!(f, "hist({of}, {low:?}, {high:?}, {bins})")
                    }
                    (AggregateKind::Quantile(share), Some(of)) => match percent(share) {
                        Some(percent) => write!(f, "p{percent}({of})"),
                        None => write!(f, "quantile({share:?}, {of})"),
                    },
                    (kind, Some(of)) => write!(f, "{}({of})", kind.word()),
                    (kind, None) => write!(f, "{}()", kind.word()),
                }
            }
        }
    }
}

fn percent(share: f64) -> Option<u32> {
    (1..100).find(|percent| f64::from(*percent) / 100.0 == share)
}

fn pattern_of(f: &mut Formatter<'_>, of: &Expression, word: &str, pattern: &str) -> fmt::Result {
    within(f, of, 5)?;
    write!(f, " {word} ")?;
    quoted(f, pattern, '\'')
}

/// An operand of something that binds with this strength.
fn within(f: &mut Formatter<'_>, expression: &Expression, strength: u8) -> fmt::Result {
    let own = match &expression.node {
        Node::Binary(operation, ..) => operation.strength(),
        Node::Not(_) => NOT,
        Node::Negate(_) => NEGATE,
        Node::Like(..) | Node::Matches(..) => 4,
        Node::Integer(..0) => NEGATE,
        Node::Float(number) if number.is_sign_negative() => NEGATE,
        _ => u8::MAX,
    };
    if own < strength { write!(f, "({expression})") } else { write!(f, "{expression}") }
}

impl Display for FieldPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Alone, the name of a context column would be one.
        let [Step::Name(only)] = &self.steps[..] else { return path(f, &self.steps) };
        match Context::ALL.into_iter().any(|context| context.word() == only) {
            true => quoted(f, only, '"'),
            false => path(f, &self.steps),
        }
    }
}

fn path(f: &mut Formatter<'_>, steps: &[Step]) -> fmt::Result {
    for (position, step) in steps.iter().enumerate() {
        match step {
            Step::Item(index) => write!(f, "[{index}]")?,
            Step::Name(text) => {
                f.write_str(if position == 0 { "" } else { "." })?;
                name(f, text)?;
            }
        }
    }
    Ok(())
}
