//! Pointers and `Option`.
//!
//! `Box` owns what it leads to, `Rc` and `Arc` share it, and the sharing is kept on the way. An `Option` is a flag and the
//! value; of a pointer it is just the pointer, null when there is none.

use std::rc::Rc;
use std::sync::Arc;

use super::describe::align_up;
use super::discover::{DiscoveryPhase, Job};
use super::sink::{Deferred, Entry, POINTER};
use super::text::not_in_place;
use super::{Describer, Discoverer, Read, Reader, Sink, Slot, Wire, Writer};
use crate::{DecodeError, Type, Value};

macro_rules! wire {
    ($pointer:ident, shared: $shared:expr, $write_now:ident) => {
        // SAFETY: not `IN_PLACE`, so nothing is promised; nothing changes behind a borrow that does not in `T`.
        unsafe impl<T: Wire> Wire for $pointer<T> {
            const SIZE: usize = POINTER;
            const ALIGN: usize = POINTER;
            const IN_PLACE: bool = false;
            const PLAIN: bool = false;
            const ANY_BITS: bool = false;
            // Not asked of `T`, which may hold this very pointer.
            const SHALLOW: bool = false;
            const REFERENCE: bool = true;

            fn describe(describer: &mut Describer) -> Type {
                Type::Ref { item: Box::new(T::describe(describer)), nullable: false, shared: $shared }
            }

            #[inline]
            fn write<'r>(&'r self, place: Slot, out: &mut impl Sink<'r>) {
                out.target::<T>(place, self);
            }

            fn check(_: &[u8]) -> Result<(), DecodeError> {
                not_in_place()
            }

            fn to_value(&self) -> Value {
                (**self).to_value()
            }
        }

        impl<T: Wire> Deferred for $pointer<T> {
            fn write_now<'r>(&'r self, slot: Slot, _: Entry, out: &mut Writer<'r>) {
                out.$write_now(slot, &**self);
            }
        }
    };
}

wire!(Box, shared: false, target_now);
wire!(Rc, shared: true, shared_now);
wire!(Arc, shared: true, shared_now);

impl<'a, T: Read<'a>> Read<'a> for Box<T> {
    fn read(input: &Reader<'a>, at: usize) -> Result<Self, DecodeError> {
        if input.deferring && !T::SHALLOW {
            return input.kept(at);
        }
        let target = input.some_reference(at)?;
        input.target(target, 1, T::SIZE)?;
        T::read(input, target).map(Box::new)
    }

    fn discover(work: &mut Discoverer<'_, 'a>, slot: usize) -> Result<(), DecodeError> {
        if !T::SHALLOW {
            let target = work.input.some_reference(slot)?;
            work.input.target(target, 1, T::SIZE)?;
            work.enter(Job { slot, target, count: 1, run: run_box::<T> });
        }
        Ok(())
    }
}

fn run_box<'a, T: Read<'a>>(
    work: &mut Discoverer<'_, 'a>,
    step: DiscoveryPhase,
    job: Job<'a>,
) -> Result<(), DecodeError> {
    match step {
        DiscoveryPhase::Enter => {
            work.build_later(job);
            T::discover(work, job.target)
        }
        DiscoveryPhase::Build => work.input.keep(job.slot, Box::new(T::read(work.input, job.target)?)),
    }
}

macro_rules! read_shared {
    ($pointer:ident, $run:ident) => {
        impl<'a, T: Read<'a>> Read<'a> for $pointer<T> {
            fn read(input: &Reader<'a>, at: usize) -> Result<Self, DecodeError> {
                let target = input.some_reference(at)?;
                if let Some(made) = input.shared(target) {
                    return Ok(made);
                }
                input.target(target, 1, T::SIZE)?;
                let made = $pointer::new(T::read(input, target)?);
                input.keep(target, made.clone())?;
                Ok(made)
            }

            fn discover(work: &mut Discoverer<'_, 'a>, slot: usize) -> Result<(), DecodeError> {
                if !T::SHALLOW {
                    let target = work.input.some_reference(slot)?;
                    work.enter(Job { slot, target, count: 1, run: $run::<T> });
                }
                Ok(())
            }
        }

        fn $run<'a, T: Read<'a>>(
            work: &mut Discoverer<'_, 'a>,
            step: DiscoveryPhase,
            job: Job<'a>,
        ) -> Result<(), DecodeError> {
            match step {
                DiscoveryPhase::Enter => {
                    if !work.open::<$pointer<T>>(job.target)? {
                        return Ok(());
                    }
                    work.input.target(job.target, 1, T::SIZE)?;
                    work.build_later(job);
                    T::discover(work, job.target)
                }
                DiscoveryPhase::Build => {
                    work.close::<$pointer<T>>(job.target);
                    work.input.keep(job.target, $pointer::new(T::read(work.input, job.target)?))
                }
            }
        }
    };
}

read_shared!(Rc, run_rc);
read_shared!(Arc, run_arc);

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
    fn write<'r>(&'r self, place: Slot, out: &mut impl Sink<'r>) {
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
