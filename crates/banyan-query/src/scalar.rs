//! Values that expressions compute with, and what operations make of them.
//!
//! Everything is defined for every pair of values, so that nothing an event holds can stop a program. Where there is no
//! value to give, the value is missing.

use std::cmp::Ordering;

use banyan_ndr::Value;

use crate::syntax::{Arithmetic, Comparison, Function};

/// A value where it lies, or one that was computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar<'a> {
    Missing,
    Integer(i128),
    Float(f64),
    Truth(bool),
    Text(&'a str),
    Character(char),
}

impl<'a> Scalar<'a> {
    pub(crate) fn is_missing(self) -> bool {
        matches!(self, Scalar::Missing)
    }

    /// A number as a float, rounded to the nearest; truth is one.
    pub(crate) fn float(self) -> Option<f64> {
        match self {
            Scalar::Integer(number) => Some(number as f64),
            Scalar::Float(number) => Some(number),
            Scalar::Truth(truth) => Some(f64::from(u8::from(truth))),
            _ => None,
        }
    }

    /// A number, to keep; what is none is missing.
    pub(crate) fn to_number(self) -> Scalar<'static> {
        match self {
            Scalar::Integer(number) => Scalar::Integer(number),
            Scalar::Float(number) => Scalar::Float(number),
            Scalar::Truth(truth) => Scalar::Integer(truth.into()),
            _ => Scalar::Missing,
        }
    }

    /// A value of a result.
    pub(crate) fn of(value: &'a Value) -> Scalar<'a> {
        match value {
            Value::Int(number) => Scalar::Integer(*number),
            Value::F64(number) => Scalar::Float(*number),
            Value::F32(number) => Scalar::Float(f64::from(*number)),
            Value::Bool(truth) => Scalar::Truth(*truth),
            Value::Str(text) => Scalar::Text(text),
            Value::Char(character) => Scalar::Character(*character),
            _ => Scalar::Missing,
        }
    }

    /// The value, to keep.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Scalar::Missing => Value::Null,
            Scalar::Integer(number) => Value::Int(number),
            Scalar::Float(number) => Value::F64(canonical(number)),
            Scalar::Truth(truth) => Value::Bool(truth),
            Scalar::Text(text) => Value::Str(text.into()),
            Scalar::Character(character) => Value::Str(character.into()),
        }
    }
}

/// One NaN for all, as its bits depend on the processor, and 0 for -0, which is equal to it.
pub(crate) fn canonical(number: f64) -> f64 {
    if number.is_nan() { f64::NAN } else { number + 0.0 }
}

/// Two numbers as one kind.
enum Pair {
    Integers(i128, i128),
    Floats(f64, f64),
}

fn pair(left: Scalar<'_>, right: Scalar<'_>) -> Option<Pair> {
    let integer = |scalar| match scalar {
        Scalar::Integer(number) => Some(number),
        Scalar::Truth(truth) => Some(i128::from(truth)),
        _ => None,
    };
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => Some(Pair::Integers(left, right)),
        _ => Some(Pair::Floats(left.float()?, right.float()?)),
    }
}

/// Integers that overflow are missing, and so is what is left of a division by zero; floats follow IEEE 754.
#[inline]
pub(crate) fn compute<'a>(operation: Arithmetic, left: Scalar<'_>, right: Scalar<'_>) -> Scalar<'a> {
    match (left, right) {
        (Scalar::Float(left), Scalar::Float(right)) => Scalar::Float(floats(operation, left, right)),
        _ => mixed(operation, left, right),
    }
}

#[inline]
fn floats(operation: Arithmetic, left: f64, right: f64) -> f64 {
    match operation {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide => left / right,
        Arithmetic::Remainder => left % right,
    }
}

#[inline(never)]
fn mixed<'a>(operation: Arithmetic, left: Scalar<'_>, right: Scalar<'_>) -> Scalar<'a> {
    let integer = |result: Option<i128>| result.map_or(Scalar::Missing, Scalar::Integer);
    match (operation, pair(left, right)) {
        (_, None) => Scalar::Missing,
        (Arithmetic::Add, Some(Pair::Integers(left, right))) => integer(left.checked_add(right)),
        (Arithmetic::Subtract, Some(Pair::Integers(left, right))) => integer(left.checked_sub(right)),
        (Arithmetic::Multiply, Some(Pair::Integers(left, right))) => integer(left.checked_mul(right)),
        (Arithmetic::Divide, Some(Pair::Integers(left, right))) => Scalar::Float(left as f64 / right as f64),
        (Arithmetic::Remainder, Some(Pair::Integers(left, right))) => integer(left.checked_rem(right)),
        (operation, Some(Pair::Floats(left, right))) => Scalar::Float(floats(operation, left, right)),
    }
}

pub(crate) fn negate<'a>(of: Scalar<'_>) -> Scalar<'a> {
    match of {
        Scalar::Integer(number) => number.checked_neg().map_or(Scalar::Missing, Scalar::Integer),
        Scalar::Truth(truth) => Scalar::Integer(-i128::from(truth)),
        Scalar::Float(number) => Scalar::Float(-number),
        _ => Scalar::Missing,
    }
}

/// None where one is missing, or where they are of kinds that do not compare.
#[inline]
pub(crate) fn compare(comparison: Comparison, left: Scalar<'_>, right: Scalar<'_>) -> Option<bool> {
    match (left, right) {
        (Scalar::Float(left), Scalar::Float(right)) => Some(holds(comparison, left.partial_cmp(&right))),
        _ => compare_others(comparison, left, right),
    }
}

#[inline(never)]
fn compare_others(comparison: Comparison, left: Scalar<'_>, right: Scalar<'_>) -> Option<bool> {
    let mut one = [0; 4];
    let mut other = [0; 4];
    let order = match (text(&left, &mut one), text(&right, &mut other)) {
        (Some(left), Some(right)) => Some(left.cmp(right)),
        _ => match pair(left, right)? {
            Pair::Integers(left, right) => Some(left.cmp(&right)),
            Pair::Floats(left, right) => left.partial_cmp(&right),
        },
    };
    Some(holds(comparison, order))
}

/// Whether a comparison holds; NaN has no order.
#[inline]
pub(crate) fn holds(comparison: Comparison, order: Option<Ordering>) -> bool {
    match comparison {
        Comparison::Equal => order == Some(Ordering::Equal),
        Comparison::Unequal => order != Some(Ordering::Equal),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

/// A value as text, if it is one.
pub(crate) fn text<'s>(of: &'s Scalar<'_>, character: &'s mut [u8; 4]) -> Option<&'s str> {
    match of {
        Scalar::Text(text) => Some(text),
        Scalar::Character(one) => Some(one.encode_utf8(character)),
        _ => None,
    }
}

/// Functions of one value that need nothing else.
pub(crate) fn call<'a>(function: Function, of: Scalar<'_>) -> Scalar<'a> {
    match (function, of) {
        (Function::Exists, of) => Scalar::Truth(!of.is_missing()),
        (Function::Length, of) => match text(&of, &mut [0; 4]) {
            Some(text) => Scalar::Integer(text.chars().count() as i128),
            None => Scalar::Missing,
        },
        (Function::Abs, Scalar::Integer(number)) => number.checked_abs().map_or(Scalar::Missing, Scalar::Integer),
        (Function::Floor | Function::Ceil | Function::Round, Scalar::Integer(number)) => Scalar::Integer(number),
        (function, of) => match (function, of.float()) {
            (_, None) => Scalar::Missing,
            (Function::Abs, Some(number)) => Scalar::Float(number.abs()),
            (Function::Floor, Some(number)) => Scalar::Float(number.floor()),
            (Function::Ceil, Some(number)) => Scalar::Float(number.ceil()),
            (Function::Round, Some(number)) => Scalar::Float(number.round()),
            (Function::Sqrt, Some(number)) => Scalar::Float(number.sqrt()),
            // What looks back is computed before.
            (_, Some(_)) => Scalar::Missing,
        },
    }
}

/// Whether a text has the form of a pattern, in which `%` stands for any characters and `_` for one.
pub(crate) fn is_like(text: &str, pattern: &str) -> bool {
    let (mut at, mut rest) = (pattern, text);
    // Where to go on when the rest does not fit: behind the last `%`, one character later.
    let mut again: Option<(&str, &str)> = None;
    loop {
        let (first, next) = (at.chars().next(), rest.chars().next());
        match (first, next) {
            (None, None) => return true,
            (Some('%'), _) => {
                at = &at[1..];
                again = Some((at, rest));
                continue;
            }
            (Some(wanted), Some(found)) if wanted == '_' || wanted == found => {
                at = &at[wanted.len_utf8()..];
                rest = &rest[found.len_utf8()..];
                continue;
            }
            _ => {}
        }
        match again {
            Some((behind, from)) if !from.is_empty() => {
                let from = &from[from.chars().next().map_or(0, char::len_utf8)..];
                (at, rest, again) = (behind, from, Some((behind, from)));
            }
            _ => return false,
        }
    }
}
