//! Lists: any number of items behind a span. Fixed arrays lie where they stand; arrays of arrays are one array of several
//! dimensions.

use std::borrow::Cow;

use super::discover::{DiscoveryPhase, Job};
use super::sink::{Deferred, Entry, POINTER};
use super::text::not_in_place;
use super::{Describer, Discoverer, Read, Reader, Sink, Slot, Wire, Writer, memory};
use crate::{DecodeError, Order, Type, Value};

/// A type that holds a slice of items.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list",
    note = "use `Vec<T>`, `Box<[T]>`, `&[T]` or `Cow<[T]>`"
)]
pub trait List: Deferred {
    /// What it holds.
    type Item: Wire;
    /// All of them.
    fn items(&self) -> &[Self::Item];
}

/// A list that can be read from a body that lives for `'a`.
pub trait ReadList<'a>: List + Sized {
    /// Makes it of `count` items that lie at `target`, in `bytes`, which is that part of the body.
    fn from_items(input: &Reader<'a>, target: usize, bytes: &'a [u8]) -> Result<Self, DecodeError>;

    /// Notes the references in the item at `at`.
    fn discover_item(work: &mut Discoverer<'_, 'a>, at: usize) -> Result<(), DecodeError>;
}

macro_rules! lists {
    ($([$($generics:tt)*] $type:ty: [$item:ident $($bounds:tt)*];)*) => {$(
        impl<$($generics)* $item: Wire $($bounds)*> List for $type {
            type Item = $item;

            #[inline]
            fn items(&self) -> &[$item] {
                self
            }
        }

        impl<$($generics)* $item: Wire $($bounds)*> Deferred for $type {
            fn write_now<'r>(&'r self, slot: Slot, entry: Entry, out: &mut Writer<'r>) {
                out.list_now(slot, entry, self.items());
            }
        }

        // SAFETY: not `IN_PLACE`, so nothing is promised; nothing changes behind a borrow that does not in the items.
        unsafe impl<$($generics)* $item: Wire $($bounds)*> Wire for $type {
            const SIZE: usize = 2 * POINTER;
            const ALIGN: usize = POINTER;
            const IN_PLACE: bool = false;
            const PLAIN: bool = false;
            const ANY_BITS: bool = false;
            // Not asked whether the item is shallow: it may hold this very list.
            const SHALLOW: bool = $item::IN_PLACE;

            fn describe(describer: &mut Describer) -> Type {
                Type::List { item: Box::new($item::describe(describer)) }
            }

            #[inline]
            fn write<'r>(&'r self, place: Slot, out: &mut impl Sink<'r>) {
                out.list(place, Entry::Span, self.items(), self);
            }

            fn check(_: &[u8]) -> Result<(), DecodeError> {
                not_in_place()
            }

            fn to_value(&self) -> Value {
                Value::List(self.iter().map($item::to_value).collect())
            }
        }
    )*};
}

lists! {
    [] Vec<T>: [T];
    [] Box<[T]>: [T];
    ['a,] &'a [T]: [T];
    ['a,] Cow<'a, [T]>: [T + Clone];
}

impl<'a, T: Read<'a>> ReadList<'a> for Vec<T> {
    #[inline]
    fn from_items(input: &Reader<'a>, target: usize, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut items = Vec::with_capacity(bytes.len() / T::SIZE);
        read_items(&mut items, input, target, bytes)?;
        Ok(items)
    }

    #[inline]
    fn discover_item(work: &mut Discoverer<'_, 'a>, at: usize) -> Result<(), DecodeError> {
        T::discover(work, at)
    }
}

/// Appends the items that lie at `target`, in `bytes`.
fn read_items<'a, T: Read<'a>>(
    items: &mut Vec<T>,
    input: &Reader<'a>,
    target: usize,
    bytes: &[u8],
) -> Result<(), DecodeError> {
    if T::IN_PLACE {
        return memory::extend(items, bytes);
    }
    let count = bytes.len() / T::SIZE;
    items.reserve(count);
    for index in 0..count {
        let item = T::read(input, target + index * T::SIZE);
        items.push(item.map_err(|error| error.within(&format!("[{index}]")))?);
    }
    Ok(())
}

impl<'a, T: Read<'a>> ReadList<'a> for Box<[T]> {
    fn from_items(input: &Reader<'a>, target: usize, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Vec::from_items(input, target, bytes).map(Vec::into_boxed_slice)
    }

    fn discover_item(work: &mut Discoverer<'_, 'a>, at: usize) -> Result<(), DecodeError> {
        T::discover(work, at)
    }
}

impl<'i: 'a, 'a, T: Wire> ReadList<'i> for &'a [T] {
    #[inline]
    fn from_items(_: &Reader<'i>, _: usize, bytes: &'i [u8]) -> Result<Self, DecodeError> {
        const {
            assert!(
                T::IN_PLACE,
                "items with references cannot be borrowed from a body: read them into a `Vec`, or a `Cow`"
            );
        }
        if bytes.is_empty() { Ok(&[]) } else { memory::view_slice(bytes) }
    }

    fn discover_item(_: &mut Discoverer<'_, 'i>, _: usize) -> Result<(), DecodeError> {
        Ok(())
    }
}

impl<'i: 'a, 'a, T: Read<'i> + Clone> ReadList<'i> for Cow<'a, [T]> {
    fn from_items(input: &Reader<'i>, target: usize, bytes: &'i [u8]) -> Result<Self, DecodeError> {
        if T::IN_PLACE && bytes.as_ptr().cast::<T>().is_aligned() {
            return memory::view_slice(bytes).map(Cow::Borrowed);
        }
        Vec::from_items(input, target, bytes).map(Cow::Owned)
    }

    fn discover_item(work: &mut Discoverer<'_, 'i>, at: usize) -> Result<(), DecodeError> {
        T::discover(work, at)
    }
}

/// Reads the list of `count` items at `target` that the slot refers to.
#[inline]
pub(super) fn read_list<'a, L: ReadList<'a>>(
    input: &Reader<'a>,
    slot: usize,
    target: usize,
    count: usize,
) -> Result<L, DecodeError> {
    if input.deferring && !L::Item::SHALLOW && count > 0 {
        return input.kept(slot);
    }
    L::from_items(input, target, input.target(target, count, L::Item::SIZE)?)
}

/// Notes the list of `count` items at `target` that the slot refers to, unless it can be read at once.
pub(super) fn discover_list<'a, L: ReadList<'a>>(
    work: &mut Discoverer<'_, 'a>,
    slot: usize,
    target: usize,
    count: usize,
) -> Result<(), DecodeError> {
    if !L::Item::SHALLOW && count > 0 {
        work.input.target(target, count, L::Item::SIZE)?;
        work.enter(Job { slot, target, count, run: run_list::<L> });
    }
    Ok(())
}

fn run_list<'a, L: ReadList<'a>>(
    work: &mut Discoverer<'_, 'a>,
    step: DiscoveryPhase,
    job: Job<'a>,
) -> Result<(), DecodeError> {
    match step {
        DiscoveryPhase::Enter => {
            work.build_later(job);
            (0..job.count).try_for_each(|index| L::discover_item(work, job.target + index * L::Item::SIZE))
        }
        DiscoveryPhase::Build => {
            let bytes = work.input.charged(job.target, job.count * L::Item::SIZE);
            work.input.keep(job.slot, L::from_items(work.input, job.target, bytes)?)
        }
    }
}

macro_rules! read_lists {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Read<'i> for $type {
            #[inline]
            fn read(input: &Reader<'i>, at: usize) -> Result<Self, DecodeError> {
                let (target, count) = input.span(at)?;
                read_list(input, at, target, count)
            }

            fn discover(work: &mut Discoverer<'_, 'i>, at: usize) -> Result<(), DecodeError> {
                let (target, count) = work.input.span(at)?;
                discover_list::<Self>(work, at, target, count)
            }
        }
    )*};
}

read_lists! {
    ['i, T: Read<'i>] Box<[T]>;
    ['i: 'a, 'a, T: Wire] &'a [T];
    ['i: 'a, 'a, T: Read<'i> + Clone] Cow<'a, [T]>;
}

impl<'i, T: Read<'i>> Read<'i> for Vec<T> {
    #[inline]
    fn read(input: &Reader<'i>, at: usize) -> Result<Self, DecodeError> {
        let (target, count) = input.span(at)?;
        read_list(input, at, target, count)
    }

    fn read_into(&mut self, input: &Reader<'i>, at: usize) -> Result<(), DecodeError> {
        let (target, count) = input.span(at)?;
        if input.deferring && !T::SHALLOW {
            *self = read_list(input, at, target, count)?;
            return Ok(());
        }
        let bytes = input.target(target, count, T::SIZE)?;
        if T::IN_PLACE {
            self.clear();
            return memory::extend(self, bytes);
        }
        self.truncate(count);
        for (index, item) in self.iter_mut().enumerate() {
            let read = item.read_into(input, target + index * T::SIZE);
            read.map_err(|error| error.within(&format!("[{index}]")))?;
        }
        let kept = self.len() * T::SIZE;
        read_items(self, input, target + kept, &bytes[kept..])
    }

    fn discover(work: &mut Discoverer<'_, 'i>, at: usize) -> Result<(), DecodeError> {
        let (target, count) = work.input.span(at)?;
        discover_list::<Self>(work, at, target, count)
    }
}

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
    fn write<'r>(&'r self, place: Slot, out: &mut impl Sink<'r>) {
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
