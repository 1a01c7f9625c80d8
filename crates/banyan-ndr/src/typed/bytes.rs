//! Bytes that are no numbers: a picture, a file. A `Vec<u8>` is a list of small numbers, a [`ByteBuf`] is one thing.

use super::sink::POINTER;
use super::text::{not_in_place, reference_constants};
use super::{Describer, Discoverer, Place, Read, Reader, Sink, Wire};
use crate::{DecodeError, Type, Value};

/// Bytes, owned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct ByteBuf(pub Vec<u8>);

/// Bytes, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Bytes<'a>(pub &'a [u8]);

macro_rules! bytes {
    ($([$($lifetime:lifetime)?] [$($lifetimes:tt)*] $type:ty: $from:expr;)*) => {$(
        // SAFETY: not `IN_PLACE`, so nothing is promised; bytes do not change behind a borrow.
        unsafe impl<$($lifetime)?> Wire for $type {
            reference_constants!(2 * POINTER);

            fn describe(_: &mut Describer) -> Type {
                Type::Bytes
            }

            #[inline]
            fn write<'r>(&'r self, place: Place, out: &mut impl Sink<'r>) {
                out.bytes(place, &self.0);
            }

            fn check(_: &[u8]) -> Result<(), DecodeError> {
                not_in_place()
            }

            fn to_value(&self) -> Value {
                Value::Bytes(self.0.to_vec())
            }
        }

        impl<'i $($lifetimes)*> Read<'i> for $type {
            #[inline]
            fn read(input: &Reader<'i>, at: usize) -> Result<Self, DecodeError> {
                let (target, count) = input.span(at)?;
                input.target(target, count, 1).map($from)
            }

            #[inline]
            fn discover(_: &mut Discoverer<'_, 'i>, _: usize) -> Result<(), DecodeError> {
                Ok(())
            }
        }
    )*};
}

bytes! {
    [] [] ByteBuf: |bytes| ByteBuf(bytes.to_vec());
    ['a] [: 'a, 'a] Bytes<'a>: Bytes;
}
