//! Values apart from the formats they came in: what is compared, kept and sent on.

use std::cmp::Ordering;
use std::fmt;

use banyan_ndr::Type;

use super::Fault;

/// What kind of values a function works on. All integers are one kind, whatever their widths; so are all floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Integer,
    Float,
    Bool,
    Text,
    Bytes,
    /// No value at all: nobody has sent a record with the field.
    Missing,
}

impl Kind {
    /// Those that values have.
    pub(super) const ALL: [Kind; 5] = [Kind::Integer, Kind::Float, Kind::Bool, Kind::Text, Kind::Bytes];

    /// How a value travels.
    pub(super) fn ty(self) -> Type {
        match self {
            Kind::Integer => Type::Int { width: 16, signed: true },
            Kind::Float => Type::Float { width: 8 },
            Kind::Bool => Type::Bool { width: 1 },
            // Why it is missing.
            Kind::Text | Kind::Missing => Type::Str,
            Kind::Bytes => Type::Bytes,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Integer => "an integer",
            Kind::Float => "a float",
            Kind::Bool => "a bool",
            Kind::Text => "a text",
            Kind::Bytes => "bytes",
            Kind::Missing => "missing",
        })
    }
}

/// A value where it lies in a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Datum<'a> {
    Integer(i128),
    Float(f64),
    Bool(bool),
    Char(char),
    /// A value of an enumeration, and its name.
    Named(i128, Option<&'a str>),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl Datum<'_> {
    /// As a number: truth is one, a named value its number. Texts have none; formats that hold them are refused before.
    #[inline]
    pub(super) fn integer(self) -> i128 {
        match self {
            Datum::Integer(value) | Datum::Named(value, _) => value,
            Datum::Bool(value) => value.into(),
            Datum::Float(value) => value as i128,
            Datum::Char(_) | Datum::Text(_) | Datum::Bytes(_) => 0,
        }
    }

    /// As [`Datum::integer`], rounded.
    #[inline]
    pub(super) fn float(self) -> f64 {
        match self {
            Datum::Float(value) => value,
            other => other.integer() as f64,
        }
    }

    /// As a value to keep, if it is not too long.
    pub(super) fn value(self, longest: usize) -> Result<Value, Fault> {
        let short = |bytes: &[u8]| match bytes.len() > longest {
            true => Err(too_long(bytes.len(), longest)),
            false => Ok(()),
        };
        Ok(match self {
            Datum::Integer(value) => Value::Integer(value),
            Datum::Float(value) => Value::Float(Float(value)),
            Datum::Bool(value) => Value::Bool(value),
            Datum::Char(character) => Value::Text(character.to_string().into()),
            Datum::Named(number, None) => Value::Text(number.to_string().into()),
            Datum::Named(_, Some(text)) | Datum::Text(text) => {
                short(text.as_bytes())?;
                Value::Text(text.into())
            }
            Datum::Bytes(bytes) => {
                short(bytes)?;
                Value::Bytes(bytes.into())
            }
        })
    }
}

#[cold]
fn too_long(found: usize, limit: usize) -> Fault {
    Fault::Limit { name: String::new(), what: "bytes of one value", found, limit, bound: "value_bytes" }
}

/// A value that is kept. Values of one kind have a total order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Integer(i128),
    Float(Float),
    Bool(bool),
    Text(Box<str>),
    Bytes(Box<[u8]>),
}

impl Value {
    /// The one that stands for all values equal to it: 0 for -0, one NaN for all. Otherwise which bits are kept would
    /// depend on who came first.
    pub(super) fn canonical(self) -> Value {
        match self {
            Value::Float(Float(float)) if float.is_nan() => Value::Float(Float(f64::NAN)),
            Value::Float(Float(0.0)) => Value::Float(Float(0.0)),
            other => other,
        }
    }

    /// Appends bytes that are the same on every machine, and differ for different values.
    pub(super) fn digest(&self, bytes: &mut Vec<u8>) {
        match self {
            Value::Integer(value) => bytes.extend_from_slice(&value.to_le_bytes()),
            Value::Float(Float(value)) => bytes.extend_from_slice(&value.to_bits().to_le_bytes()),
            Value::Bool(value) => bytes.push((*value).into()),
            Value::Text(text) => bytes.extend_from_slice(text.as_bytes()),
            Value::Bytes(value) => bytes.extend_from_slice(value),
        }
    }
}

/// A float in the total order of IEEE 754.
#[derive(Debug, Clone, Copy)]
pub(super) struct Float(pub(super) f64);

impl Ord for Float {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Float {}
