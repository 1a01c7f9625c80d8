//! Texts, and bytes that are no numbers. A `Vec<u8>` is a list of small numbers, a [`ByteBuf`] is one thing.

use std::borrow::Cow;
use std::ffi::{CStr, CString};

use super::sink::POINTER;
use super::{Describer, Discoverer, Read, Reader, Sink, Slot, Wire};
use crate::{DecodeError, Type, Value};

macro_rules! reference_constants {
    ($size:expr) => {
        const SIZE: usize = $size;
        const ALIGN: usize = POINTER;
        const IN_PLACE: bool = false;
        const PLAIN: bool = false;
        const ANY_BITS: bool = false;
        const SHALLOW: bool = true;
    };
}

/// What is said of a type that lies elsewhere and so is never viewed in place.
pub fn not_in_place() -> Result<(), DecodeError> {
    Err(DecodeError::Invalid { path: String::new(), found: "a reference".into(), wanted: "value in place" })
}

macro_rules! strings {
    ($(($($lifetime:lifetime)?) $type:ty),*) => {$(
        // SAFETY: not `IN_PLACE`, so nothing is promised; text does not change behind a borrow.
        unsafe impl<$($lifetime)?> Wire for $type {
            reference_constants!(2 * POINTER);

            fn describe(_: &mut Describer) -> Type {
                Type::Str
            }

            #[inline]
            fn write<'r>(&'r self, place: Slot, out: &mut impl Sink<'r>) {
                out.bytes(place, self.as_bytes());
            }

            fn check(_: &[u8]) -> Result<(), DecodeError> {
                not_in_place()
            }

            fn to_value(&self) -> Value {
                Value::Str(self.to_string())
            }
        }
    )*};
}

strings!(() String, () Box<str>, ('a) &'a str, ('a) Cow<'a, str>);

macro_rules! read_strings {
    ($([$($lifetimes:tt)*] $type:ty: $from:expr;)*) => {$(
        impl<'i $($lifetimes)*> Read<'i> for $type {
            #[inline]
            fn read(input: &Reader<'i>, at: usize) -> Result<Self, DecodeError> {
                str_at(input, at).map($from)
            }

            #[inline]
            fn discover(_: &mut Discoverer<'_, 'i>, _: usize) -> Result<(), DecodeError> {
                Ok(())
            }
        }
    )*};
}

read_strings! {
    [] Box<str>: Box::from;
    [: 'a, 'a] &'a str: |text| text;
    [: 'a, 'a] Cow<'a, str>: Cow::Borrowed;
}

impl<'i> Read<'i> for String {
    #[inline]
    fn read(input: &Reader<'i>, at: usize) -> Result<Self, DecodeError> {
        str_at(input, at).map(String::from)
    }

    fn read_into(&mut self, input: &Reader<'i>, at: usize) -> Result<(), DecodeError> {
        let text = str_at(input, at)?;
        self.clear();
        self.push_str(text);
        Ok(())
    }

    #[inline]
    fn discover(_: &mut Discoverer<'_, 'i>, _: usize) -> Result<(), DecodeError> {
        Ok(())
    }
}

#[inline]
fn str_at<'i>(input: &Reader<'i>, at: usize) -> Result<&'i str, DecodeError> {
    let (target, count) = input.span(at)?;
    let bytes = input.target(target, count, 1)?;
    if is_ascii(bytes) {
        // SAFETY: what is ASCII is UTF-8.
        return Ok(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    checked(bytes)
}

/// Whether no byte has its highest bit set. Most text has none; the check of UTF-8 goes through short text byte by byte.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    const HIGHEST_BITS: u64 = 0x8080_8080_8080_8080;
    let (words, rest) = bytes.as_chunks();
    let all = words.iter().fold(0, |all, word| all | u64::from_ne_bytes(*word));
    // The last word overlaps the one before, if there is one.
    let last = match bytes.last_chunk() {
        Some(last) => u64::from_ne_bytes(*last),
        None => rest.iter().fold(0, |all, byte| all | u64::from(*byte)),
    };
    (all | last) & HIGHEST_BITS == 0
}

#[inline(never)]
fn checked(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|error| DecodeError::Invalid {
        path: String::new(),
        found: format!("a text with a bad byte at {}", error.valid_up_to()),
        wanted: "UTF-8",
    })
}

macro_rules! c_strings {
    ($([$($lifetime:lifetime)?] [$($lifetimes:tt)*] $type:ty: $from:expr;)*) => {$(
        // SAFETY: not `IN_PLACE`, so nothing is promised; text does not change behind a borrow.
        unsafe impl<$($lifetime)?> Wire for $type {
            reference_constants!(POINTER);
            const REFERENCE: bool = true;

            fn describe(_: &mut Describer) -> Type {
                Type::CStr
            }

            fn write<'r>(&'r self, place: Slot, out: &mut impl Sink<'r>) {
                let target = out.append(self.to_bytes_with_nul(), 1);
                out.refer(place, target);
            }

            fn check(_: &[u8]) -> Result<(), DecodeError> {
                not_in_place()
            }

            fn to_value(&self) -> Value {
                match self.to_str() {
                    Ok(text) => Value::Str(text.into()),
                    Err(_) => Value::Bytes(self.to_bytes().into()),
                }
            }
        }

        impl<'i $($lifetimes)*> Read<'i> for $type {
            fn read(input: &Reader<'i>, at: usize) -> Result<Self, DecodeError> {
                input.c_str(input.some_reference(at)?).map($from)
            }

            #[inline]
            fn discover(_: &mut Discoverer<'_, 'i>, _: usize) -> Result<(), DecodeError> {
                Ok(())
            }
        }
    )*};
}

c_strings! {
    [] [] CString: CString::from;
    ['a] [: 'a, 'a] &'a CStr: |text| text;
}

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
            fn write<'r>(&'r self, place: Slot, out: &mut impl Sink<'r>) {
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

#[cfg(test)]
mod tests {
    use super::is_ascii;

    #[test]
    fn a_high_bit_is_seen_wherever_it_is() {
        for length in 0..40 {
            let mut text = vec![b'x'; length];
            assert!(is_ascii(&text));
            for at in 0..length {
                text[at] = 0x80;
                assert!(!is_ascii(&text), "byte {at} of {length}");
                text[at] = b'x';
            }
        }
    }
}
