//! A value of any type, held in memory without a compiled type: what [`DynRecord`](crate::DynRecord) is made of,
//! what JSON and XML are read into, what a default is.

/// A value. Which [`Type`](crate::Type) it can be written as is decided when it is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing: an absent optional, a null pointer.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer that fits 128 bits with sign.
    Int(i128),
    /// An unsigned integer above [`i128::MAX`]; smaller ones are [`Value::Int`].
    UInt(u128),
    /// The bits of a 16-bit float.
    F16(u16),
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// A character.
    Char(char),
    /// The name of an enumeration's value. A value without a name is [`Value::Int`].
    Enum(String),
    /// Text. C strings that are not UTF-8 are [`Value::Bytes`].
    Str(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Items of an array or list. Arrays of several dimensions are lists of lists, outermost dimension first,
    /// whatever the order of their elements in memory.
    List(Vec<Value>),
    /// Fields by name, in order.
    Record(Vec<(String, Value)>),
    /// A case of a variant, with its payload.
    Case(String, Option<Box<Value>>),
    /// A shared value: a key into the [`DynRecord`](crate::DynRecord)'s table of shared values, which may form cycles.
    Shared(usize),
}

macro_rules! from_signed {
    ($($integer:ty),*) => { $(
        impl From<$integer> for Value {
            fn from(number: $integer) -> Value {
                Value::Int(i128::from(number))
            }
        }
    )* };
}

from_signed!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl From<u128> for Value {
    fn from(number: u128) -> Value {
        i128::try_from(number).map_or(Value::UInt(number), Value::Int)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Value {
        Value::from(number as u128)
    }
}

impl From<isize> for Value {
    fn from(number: isize) -> Value {
        Value::Int(number as i128)
    }
}

macro_rules! from_one {
    ($($rust:ty => $variant:ident),*) => { $(
        impl From<$rust> for Value {
            fn from(value: $rust) -> Value {
                Value::$variant(value.into())
            }
        }
    )* };
}

from_one!(bool => Bool, f32 => F32, f64 => F64, char => Char, &str => Str, String => Str, &String => Str);
from_one!(&[u8] => Bytes);

/// A list. Bytes given as a `Vec<u8>` become a list of numbers, which may stand for a blob too.
impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Value {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

impl Value {
    /// A record of fields by name.
    pub fn record<N: Into<String>>(fields: impl IntoIterator<Item = (N, Value)>) -> Value {
        Value::Record(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}
