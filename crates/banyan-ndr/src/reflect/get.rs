//! Values of a record as Rust types, with conversion where nothing is lost.

use super::item::{Item, Scalar};
use crate::dynamic::number::{as_float, as_integer, describe};
use crate::{DecodeError, DynRecord, Limits, Type, Value};

/// A Rust type that a value of a record can be asked for as.
///
/// Integers come from any number or enumeration value that they hold exactly, floats from any number they hold
/// (rounding a wider float is no loss, overflow is), `bool` from bools and from 0 and 1, texts from strings, C
/// strings and names of enumeration values and cases, bytes from blobs, strings and arrays of bytes in place.
/// `Option` is `None` for null. All go through pointers and optionals.
pub trait FromItem<'a>: Sized {
    /// The value, or an error that names field and value.
    fn from_item(item: Item<'a>) -> Result<Self, DecodeError>;
}

impl<'a> Item<'a> {
    /// The value as a Rust type.
    pub fn get<T: FromItem<'a>>(&self) -> Result<T, DecodeError> {
        T::from_item(*self)
    }

    /// The value without sharing: its parts copied out. Fails where the sharing cannot be expressed (a cycle) and
    /// where it is deeper than [`Limits::nesting`]; [`DynRecord::from_body`] keeps both.
    pub fn to_value(&self) -> Result<Value, DecodeError> {
        DynRecord::value_of(*self, &Limits::default())
    }

    /// Name and number of a number, bool, character or enumeration value.
    fn number(&self) -> Result<Value, DecodeError> {
        let item = self.deref()?;
        match item.scalar()? {
            Some(Scalar::Number(value)) => Ok(value),
            Some(Scalar::Enumeration(_, number)) => Ok(Value::Int(number)),
            None => Err(item.unfit(item.type_name(), "a number")),
        }
    }

    fn unfit(&self, value: String, wanted: &str) -> DecodeError {
        DecodeError::OutOfRange { path: self.name.into(), value, wanted: wanted.into() }
    }
}

macro_rules! integers {
    ($($integer:ident by $way:ident),*) => { $(
        impl FromItem<'_> for $integer {
            fn from_item(item: Item<'_>) -> Result<Self, DecodeError> {
                let value = item.number()?;
                as_integer(&value)
                    .and_then(|integer| integer.$way())
                    .and_then(|integer| $integer::try_from(integer).ok())
                    .ok_or_else(|| item.unfit(describe(&value), stringify!($integer)))
            }
        }
    )* };
}

integers!(i8 by to_signed, i16 by to_signed, i32 by to_signed, i64 by to_signed, i128 by to_signed, isize by to_signed);
integers!(u8 by to_unsigned, u16 by to_unsigned, u32 by to_unsigned, u64 by to_unsigned);
integers!(u128 by to_unsigned, usize by to_unsigned);

impl FromItem<'_> for f64 {
    fn from_item(item: Item<'_>) -> Result<Self, DecodeError> {
        let value = item.number()?;
        as_float(&value).ok_or_else(|| item.unfit(describe(&value), "f64"))
    }
}

impl FromItem<'_> for f32 {
    fn from_item(item: Item<'_>) -> Result<Self, DecodeError> {
        let value = item.number()?;
        let exact = matches!(value, Value::Int(_) | Value::UInt(_));
        let float = as_float(&value);
        float
            .filter(|float| if exact { f64::from(*float as f32) == *float } else { true })
            .map(|float| (float, float as f32))
            .filter(|(wide, narrow)| wide.is_infinite() || !narrow.is_infinite())
            .map(|(_, narrow)| narrow)
            .ok_or_else(|| item.unfit(describe(&value), "f32"))
    }
}

impl FromItem<'_> for bool {
    fn from_item(item: Item<'_>) -> Result<Self, DecodeError> {
        let value = item.number()?;
        match as_integer(&value).and_then(|integer| integer.to_unsigned()) {
            Some(truth @ (0 | 1)) => Ok(truth == 1),
            _ => Err(item.unfit(describe(&value), "bool")),
        }
    }
}

impl FromItem<'_> for char {
    fn from_item(item: Item<'_>) -> Result<Self, DecodeError> {
        match item.number()? {
            Value::Char(character) => Ok(character),
            other => Err(item.unfit(describe(&other), "char")),
        }
    }
}

impl<'a> FromItem<'a> for &'a str {
    fn from_item(item: Item<'a>) -> Result<Self, DecodeError> {
        let item = item.deref()?;
        match item.ty() {
            Type::Str => Ok(item.text()?.expect("a string is never null")),
            Type::CStr => item.text()?.ok_or_else(|| DecodeError::Absent { path: item.name.into() }),
            Type::Enum(_) => match item.scalar()? {
                Some(Scalar::Enumeration(Some(name), _)) => Ok(name),
                Some(Scalar::Enumeration(None, number)) => Err(item.invalid(number, "named value of the enumeration")),
                _ => unreachable!("it is an enumeration"),
            },
            Type::Variant(_) => Ok(item.case()?.expect("a variant has a case").0),
            _ => Err(item.unfit(item.type_name(), "text")),
        }
    }
}

impl FromItem<'_> for String {
    fn from_item(item: Item<'_>) -> Result<Self, DecodeError> {
        <&str>::from_item(item).map(str::to_owned)
    }
}

impl<'a> FromItem<'a> for &'a [u8] {
    fn from_item(item: Item<'a>) -> Result<Self, DecodeError> {
        let item = item.deref()?;
        if let Some(bytes) = item.text_bytes()? {
            return Ok(bytes);
        }
        item.byte_items()?.ok_or_else(|| item.unfit(item.type_name(), "bytes"))
    }
}

impl FromItem<'_> for Vec<u8> {
    fn from_item(item: Item<'_>) -> Result<Self, DecodeError> {
        <&[u8]>::from_item(item).map(<[u8]>::to_vec)
    }
}

impl FromItem<'_> for Value {
    fn from_item(item: Item<'_>) -> Result<Self, DecodeError> {
        item.to_value()
    }
}

impl<'a, T: FromItem<'a>> FromItem<'a> for Option<T> {
    fn from_item(item: Item<'a>) -> Result<Self, DecodeError> {
        match item.follow()? {
            None => Ok(None),
            Some(target) if matches!(target.ty(), Type::CStr) && target.is_null()? => Ok(None),
            Some(target) => T::from_item(target).map(Some),
        }
    }
}
