//! Rust values as [`Value`]s.

use crate::Value;

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
