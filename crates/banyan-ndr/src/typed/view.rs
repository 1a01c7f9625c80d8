//! Receiving a body in a type's own layout: viewed where it lies, or read into a value.

use super::{Discoverer, Read, Reader, Record, Wire, memory};
use crate::limits::DEPTH;
use crate::{DecodeError, Format};

/// The record in a body, where it lies. Checks length, alignment, and the values of `bool`, `char` and enumerations;
/// a type without those costs the same at any size.
#[inline]
pub fn view_native<T: Wire>(body: &[u8]) -> Result<&T, DecodeError> {
    const {
        assert!(
            T::IN_PLACE,
            "this type holds references, optionals or enums with data, so it cannot be viewed in place: read it with `read_native`"
        );
    }
    memory::view(body)
}

/// Reads a record. Borrowed fields borrow from the body.
///
/// A recursive type is as deep as the sender wants, up to the default of [`Limits::depth`](crate::Limits::depth):
/// reading takes no stack for it, but Rust's own way of dropping a chain of boxes does.
#[inline]
pub fn read_native<'a, T: Record + Read<'a>>(body: &'a [u8]) -> Result<T, DecodeError> {
    read_native_to_depth(body, DEPTH)
}

/// [`read_native`] with another limit than [`Limits::depth`](crate::Limits::depth): for types whose `Drop` works
/// iteratively.
#[inline]
pub fn read_native_to_depth<'a, T: Record + Read<'a>>(body: &'a [u8], depth: usize) -> Result<T, DecodeError> {
    if T::IN_PLACE {
        check_size::<T>(body, body.len() == T::SIZE)?;
        return memory::value(body);
    }
    let format = T::format();
    check_size::<T>(body, fits::<T>(format, body))?;
    let input = Reader::new(body, format.is_recursive());
    prepare::<T>(&input, depth)?;
    T::read(&input, 0)
}

/// Reads a record into a value that is there already and keeps the memory of its strings and lists. After an error
/// the value is valid, but partly old and partly new. Depth is bounded as in [`read_native`].
pub fn read_native_into<'a, T: Record + Read<'a>>(value: &mut T, body: &'a [u8]) -> Result<(), DecodeError> {
    read_native_into_to_depth(value, body, DEPTH)
}

/// [`read_native_into`] with another limit than [`Limits::depth`](crate::Limits::depth).
pub fn read_native_into_to_depth<'a, T: Record + Read<'a>>(
    value: &mut T,
    body: &'a [u8],
    depth: usize,
) -> Result<(), DecodeError> {
    let format = T::format();
    check_size::<T>(body, fits::<T>(format, body))?;
    let input = Reader::new(body, format.is_recursive());
    prepare::<T>(&input, depth)?;
    value.read_into(&input, 0)
}

/// [`Format::fits`] for the format of `T`, whose size the compiler knows.
#[inline]
fn fits<T: Wire>(format: &Format, body: &[u8]) -> bool {
    if format.has_references() { body.len() >= T::SIZE } else { body.len() == T::SIZE }
}

#[inline]
fn prepare<'a, T: Read<'a>>(input: &Reader<'a>, depth: usize) -> Result<(), DecodeError> {
    if input.deferring { Discoverer::prepare::<T>(input, 0, depth) } else { Ok(()) }
}

#[inline]
fn check_size<T: Wire>(body: &[u8], fits: bool) -> Result<(), DecodeError> {
    if fits { Ok(()) } else { Err(DecodeError::Size { found: body.len(), wanted: T::SIZE }) }
}
