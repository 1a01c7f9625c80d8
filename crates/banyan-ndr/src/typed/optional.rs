//! `Option`: a flag and the value; of a pointer, just the pointer, null when there is none.

use super::layout::align_up;
use super::text::not_in_place;
use super::{Describer, Discoverer, Place, Read, Reader, Sink, Wire};
use crate::{DecodeError, Type, Value};

/// Where the value of an optional begins.
const fn value_at<T: Wire>() -> usize {
    align_up(1, T::ALIGN)
}

// SAFETY: not `IN_PLACE`, so nothing is promised; nothing changes behind a borrow that does not in `T`.
unsafe impl<T: Wire> Wire for Option<T> {
    const SIZE: usize = if T::REFERENCE { T::SIZE } else { align_up(value_at::<T>() + T::SIZE, T::ALIGN) };
    const ALIGN: usize = T::ALIGN;
    const IN_PLACE: bool = false;
    const PLAIN: bool = false;
    const ANY_BITS: bool = false;
    const SHALLOW: bool = T::SHALLOW;

    fn describe(describer: &mut Describer) -> Type {
        let fits = "an optional is smaller than 4 GiB";
        match T::describe(describer) {
            Type::Ref { item, nullable: false, shared } if T::REFERENCE => Type::Ref { item, nullable: true, shared },
            item if T::REFERENCE => item,
            item => Type::Optional {
                item: Box::new(item),
                value_at: u32::try_from(value_at::<T>()).expect(fits),
                size: u32::try_from(Self::SIZE).expect(fits),
            },
        }
    }

    #[inline]
    fn write<'r>(&'r self, place: Place, out: &mut impl Sink<'r>) {
        match self {
            None => {}
            Some(value) if T::REFERENCE => value.write(place, out),
            Some(value) => {
                out.put(place, &[1]);
                value.write(place.part(value_at::<T>()), out);
            }
        }
    }

    fn check(_: &[u8]) -> Result<(), DecodeError> {
        not_in_place()
    }

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_value)
    }
}

/// Where the value is, if there is one.
#[inline]
fn present<T: Wire>(input: &Reader<'_>, at: usize) -> Result<Option<usize>, DecodeError> {
    if T::REFERENCE {
        return Ok((!input.is_null(at)).then_some(at));
    }
    match input.bytes::<1>(at) {
        [0] => Ok(None),
        [1] => Ok(Some(at + value_at::<T>())),
        [other] => {
            Err(DecodeError::Invalid { path: String::new(), found: other.to_string(), wanted: "flag of an optional" })
        }
    }
}

impl<'a, T: Read<'a>> Read<'a> for Option<T> {
    #[inline]
    fn read(input: &Reader<'a>, at: usize) -> Result<Self, DecodeError> {
        present::<T>(input, at)?.map(|at| T::read(input, at)).transpose()
    }

    fn read_into(&mut self, input: &Reader<'a>, at: usize) -> Result<(), DecodeError> {
        match (self.as_mut(), present::<T>(input, at)?) {
            (Some(value), Some(at)) => value.read_into(input, at),
            _ => {
                *self = Self::read(input, at)?;
                Ok(())
            }
        }
    }

    fn discover(work: &mut Discoverer<'_, 'a>, at: usize) -> Result<(), DecodeError> {
        if T::SHALLOW {
            return Ok(());
        }
        present::<T>(work.input, at)?.map_or(Ok(()), |at| T::discover(work, at))
    }
}
