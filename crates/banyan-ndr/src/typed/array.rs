//! Fixed arrays. Arrays of arrays are one array of several dimensions.

use super::{Describer, Discoverer, Place, Read, Reader, Sink, Wire};
use crate::{DecodeError, Order, Type, Value};

// SAFETY: an array is its items one behind the other, without padding of its own, so all promises follow from theirs.
unsafe impl<T: Wire, const N: usize> Wire for [T; N] {
    const SIZE: usize = {
        assert!(N > 0, "an array in a record has at least one item");
        N * T::SIZE
    };
    const ALIGN: usize = T::ALIGN;
    const IN_PLACE: bool = T::IN_PLACE;
    const PLAIN: bool = T::PLAIN;
    const ANY_BITS: bool = T::ANY_BITS;
    const SHALLOW: bool = T::SHALLOW;

    fn describe(describer: &mut Describer) -> Type {
        let length = u32::try_from(N).expect("an array has fewer than 2^32 items");
        match T::describe(describer) {
            Type::Array { item, mut dims, order: Order::Row } => {
                dims.insert(0, length);
                Type::Array { item, dims, order: Order::Row }
            }
            item => Type::Array { item: Box::new(item), dims: vec![length], order: Order::Row },
        }
    }

    #[inline]
    fn write<'r>(&'r self, place: Place, out: &mut impl Sink<'r>) {
        if T::PLAIN {
            return out.put_plain(place, self);
        }
        for (index, item) in self.iter().enumerate() {
            item.write(place.part(index * T::SIZE), out);
        }
    }

    #[inline]
    fn check(bytes: &[u8]) -> Result<(), DecodeError> {
        super::memory::check_all::<T>(bytes)
    }

    fn to_value(&self) -> Value {
        Value::List(self.iter().map(T::to_value).collect())
    }
}

impl<'a, T: Read<'a>, const N: usize> Read<'a> for [T; N] {
    fn read(input: &Reader<'a>, at: usize) -> Result<Self, DecodeError> {
        if T::IN_PLACE {
            return input.in_place(at);
        }
        let mut failed = None;
        let items: [Option<T>; N] = std::array::from_fn(|index| {
            if failed.is_some() {
                return None;
            }
            T::read(input, at + index * T::SIZE)
                .map_err(|error| failed = Some(error.within(&format!("[{index}]"))))
                .ok()
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(items.map(|item| item.expect("none has failed"))),
        }
    }

    fn read_into(&mut self, input: &Reader<'a>, at: usize) -> Result<(), DecodeError> {
        if T::IN_PLACE {
            *self = input.in_place(at)?;
            return Ok(());
        }
        for (index, item) in self.iter_mut().enumerate() {
            item.read_into(input, at + index * T::SIZE).map_err(|error| error.within(&format!("[{index}]")))?;
        }
        Ok(())
    }

    fn discover(work: &mut Discoverer<'_, 'a>, at: usize) -> Result<(), DecodeError> {
        if T::SHALLOW {
            return Ok(());
        }
        (0..N).try_for_each(|index| T::discover(work, at + index * T::SIZE))
    }
}
