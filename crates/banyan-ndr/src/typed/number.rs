//! Numbers, truth values and characters: they lie on the wire as in memory.

use super::{Describer, Discoverer, F16, Read, Reader, Sink, Slot, Wire};
use crate::{DecodeError, Type, Value};

/// A type that is its own memory, of which some bits may be invalid.
macro_rules! scalar {
    ($type:ty, $description:expr, any_bits: $any_bits:expr, $check:expr, $to_value:expr) => {
        // SAFETY: a number without padding or interior; `check` refuses what is no value.
        unsafe impl Wire for $type {
            const SIZE: usize = size_of::<$type>();
            const ALIGN: usize = size_of::<$type>();
            const IN_PLACE: bool = true;
            const PLAIN: bool = true;
            const ANY_BITS: bool = $any_bits;
            const SHALLOW: bool = true;

            fn describe(_: &mut Describer) -> Type {
                const WIDTH: u8 = size_of::<$type>() as u8;
                $description(WIDTH)
            }

            #[inline]
            fn write<'r>(&'r self, place: Slot, out: &mut impl Sink<'r>) {
                out.put_plain(place, self);
            }

            #[inline]
            fn check(bytes: &[u8]) -> Result<(), DecodeError> {
                $check(bytes)
            }

            fn to_value(&self) -> Value {
                $to_value(*self)
            }
        }

        impl<'a> Read<'a> for $type {
            #[inline]
            fn read(input: &Reader<'a>, at: usize) -> Result<Self, DecodeError> {
                input.in_place(at)
            }

            #[inline]
            fn discover(_: &mut Discoverer<'_, 'a>, _: usize) -> Result<(), DecodeError> {
                Ok(())
            }
        }
    };
}

macro_rules! integers {
    ($($type:ty: $signed:expr),*) => {$(
        scalar!(
            $type,
            |width| Type::Int { width, signed: $signed },
            any_bits: true,
            |_| Ok(()),
            |value| i128::try_from(value).map_or_else(|_| Value::UInt(value as u128), Value::Int)
        );
    )*};
}

integers!(i8: true, i16: true, i32: true, i64: true, i128: true, isize: true);
integers!(u8: false, u16: false, u32: false, u64: false, u128: false, usize: false);

scalar!(F16, |width| Type::Float { width }, any_bits: true, |_| Ok(()), |value: F16| Value::F16(value.to_bits()));
scalar!(f32, |width| Type::Float { width }, any_bits: true, |_| Ok(()), Value::F32);
scalar!(f64, |width| Type::Float { width }, any_bits: true, |_| Ok(()), Value::F64);
scalar!(bool, |width| Type::Bool { width }, any_bits: false, check_bool, Value::Bool);
scalar!(char, |width| Type::Char { width }, any_bits: false, check_char, Value::Char);

#[inline]
fn check_bool(bytes: &[u8]) -> Result<(), DecodeError> {
    if let [0 | 1] = bytes { Ok(()) } else { Err(invalid(format!("{bytes:?}"), "bool")) }
}

#[inline]
fn check_char(bytes: &[u8]) -> Result<(), DecodeError> {
    let number = bytes.try_into().map(u32::from_ne_bytes).unwrap_or(u32::MAX);
    if char::from_u32(number).is_some() { Ok(()) } else { Err(invalid(format!("{number:#x}"), "char")) }
}

#[cold]
fn invalid(found: String, wanted: &'static str) -> DecodeError {
    DecodeError::Invalid { path: String::new(), found, wanted }
}
