//! Pointers: `Box` owns what it leads to, `Rc` and `Arc` share it, and the sharing is kept on the way.

use std::rc::Rc;
use std::sync::Arc;

use super::discover::{Job, Step};
use super::sink::{Deferred, Entry, POINTER};
use super::text::not_in_place;
use super::{Describer, Discoverer, Place, Read, Reader, Sink, Wire, Writer};
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
            fn write<'r>(&'r self, place: Place, out: &mut impl Sink<'r>) {
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
            fn write_now<'r>(&'r self, slot: Place, _: Entry, out: &mut Writer<'r>) {
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

fn run_box<'a, T: Read<'a>>(work: &mut Discoverer<'_, 'a>, step: Step, job: Job<'a>) -> Result<(), DecodeError> {
    match step {
        Step::Enter => {
            work.build_later(job);
            T::discover(work, job.target)
        }
        Step::Build => work.input.keep(job.slot, Box::new(T::read(work.input, job.target)?)),
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

        fn $run<'a, T: Read<'a>>(work: &mut Discoverer<'_, 'a>, step: Step, job: Job<'a>) -> Result<(), DecodeError> {
            match step {
                Step::Enter => {
                    if !work.open::<$pointer<T>>(job.target)? {
                        return Ok(());
                    }
                    work.input.target(job.target, 1, T::SIZE)?;
                    work.build_later(job);
                    T::discover(work, job.target)
                }
                Step::Build => {
                    work.close::<$pointer<T>>(job.target);
                    work.input.keep(job.target, $pointer::new(T::read(work.input, job.target)?))
                }
            }
        }
    };
}

read_shared!(Rc, run_rc);
read_shared!(Arc, run_arc);
