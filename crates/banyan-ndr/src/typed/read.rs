//! Reading a body in a type's own native layout: every place a reference leads to is checked before it is used.
//!
//! A reader also keeps a budget: what spans and references lead to is together never more than the body has (shared
//! targets counted once), so a forged body cannot make a small message into a large value, nor a cycle into an
//! endless one.
//!
//! Bodies that lie as in memory are viewed where they are.

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::CStr;

use super::discover::Erased;
use super::sink::POINTER;
use super::{Discoverer, Read, Record, Wire, memory};
use crate::limits::DEPTH;
use crate::wire::ORIGIN;
use crate::{DecodeError, Format};

/// Values that are made and wait for their owners (by slot), or are shared by several (by target).
type Built = HashMap<(usize, TypeId), Erased, foldhash::fast::RandomState>;

/// Reads one body.
pub struct Reader<'a> {
    body: &'a [u8],
    /// Bytes that references may still lead to.
    budget: Cell<usize>,
    /// Whether what is not shallow is read from a work list, by a [`Discoverer`](super::Discoverer).
    pub(super) deferring: bool,
    /// Made when first needed: most records own what they hold.
    built: RefCell<Option<Built>>,
}

impl<'a> Reader<'a> {
    #[inline]
    pub(super) fn new(body: &'a [u8], deferring: bool) -> Reader<'a> {
        Reader { body, budget: Cell::new(body.len()), deferring, built: RefCell::new(None) }
    }

    /// Bytes of the fixed part.
    #[inline]
    pub fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.body[at..at + N]);
        bytes
    }

    /// A value that lies as in memory.
    #[inline]
    pub fn in_place<T: Wire>(&self, at: usize) -> Result<T, DecodeError> {
        memory::value(&self.body[at..at + T::SIZE])
    }

    #[inline]
    fn word(&self, at: usize) -> usize {
        usize::from_ne_bytes(self.bytes(at))
    }

    /// Where the reference at `at` leads to; `None` for null.
    #[inline]
    pub(super) fn reference(&self, at: usize) -> Result<Option<usize>, DecodeError> {
        match self.word(at) {
            0 => Ok(None),
            stored => match stored.checked_sub(ORIGIN) {
                Some(target) if target <= self.body.len() => Ok(Some(target)),
                _ => Err(self.outside(stored, 1)),
            },
        }
    }

    /// Whether the reference at `at` is null.
    #[inline]
    pub(super) fn is_null(&self, at: usize) -> bool {
        self.word(at) == 0
    }

    /// Where the reference at `at` leads to, which must not be null.
    #[inline]
    pub(super) fn some_reference(&self, at: usize) -> Result<usize, DecodeError> {
        self.reference(at)?.ok_or(DecodeError::Absent { path: String::new() })
    }

    /// The span at `at`: target and number of items.
    #[inline]
    pub(super) fn span(&self, at: usize) -> Result<(usize, usize), DecodeError> {
        match self.word(at + POINTER) {
            0 => Ok((0, 0)),
            count => Ok((self.reference(at)?.ok_or_else(|| self.outside(0, count))?, count)),
        }
    }

    /// The bytes of `count` items of `size` bytes at `target`, charged to the budget.
    #[inline]
    pub(super) fn target(&self, target: usize, count: usize, size: usize) -> Result<&'a [u8], DecodeError> {
        let bytes = count.checked_mul(size).and_then(|len| target.checked_add(len));
        let Some(bytes) = bytes.and_then(|end| self.body.get(target..end)) else {
            return Err(self.outside(target, count.saturating_mul(size)));
        };
        self.charge(bytes.len())?;
        Ok(bytes)
    }

    /// Bytes that [`target`](Self::target) has found and charged before.
    pub(super) fn charged(&self, target: usize, len: usize) -> &'a [u8] {
        &self.body[target..target + len]
    }

    /// The C string at `target`, charged to the budget with its NUL.
    pub(super) fn c_str(&self, target: usize) -> Result<&'a CStr, DecodeError> {
        let rest = self.body.get(target..).unwrap_or_default();
        // No further than the budget: many C strings must not each look through the whole body.
        let rest = &rest[..rest.len().min(self.budget.get())];
        let text = CStr::from_bytes_until_nul(rest).map_err(|_| DecodeError::Invalid {
            path: String::new(),
            found: "a text without an end".into(),
            wanted: "C string",
        })?;
        self.charge(text.count_bytes() + 1)?;
        Ok(text)
    }

    #[inline]
    fn charge(&self, bytes: usize) -> Result<(), DecodeError> {
        match self.budget.get().checked_sub(bytes) {
            Some(rest) => {
                self.budget.set(rest);
                Ok(())
            }
            None => Err(DecodeError::Overlap { path: String::new(), body: self.body.len() }),
        }
    }

    #[cold]
    fn outside(&self, target: usize, count: usize) -> DecodeError {
        DecodeError::OutOfBounds {
            path: String::new(),
            target: target as u64,
            count: count as u64,
            body: self.body.len(),
        }
    }

    /// Keeps a value that was made before its owner, under the slot it is referred to from.
    pub(super) fn keep<P>(&self, slot: usize, value: P) -> Result<(), DecodeError> {
        let key = (slot, typeid::of::<P>());
        match self.built.borrow_mut().get_or_insert_default().insert(key, Erased::new(value)) {
            None => Ok(()),
            // Two owners of the same slot: their places overlap.
            Some(_) => Err(DecodeError::Overlap { path: String::new(), body: self.body.len() }),
        }
    }

    /// Takes what was kept for a slot.
    pub(super) fn kept<P>(&self, slot: usize) -> Result<P, DecodeError> {
        let mut built = self.built.borrow_mut();
        let Some(kept) = built.as_mut().and_then(|built| built.remove(&(slot, typeid::of::<P>()))) else {
            return Err(DecodeError::Overlap { path: String::new(), body: self.body.len() });
        };
        // SAFETY: what is kept under the identity of `P` is a `P` but for lifetimes. All that a body is read into
        // borrows from that body alone, which lives for `'a`, whichever shorter lifetimes its owners call that.
        Ok(unsafe { kept.take() })
    }

    /// A shared value that was made before.
    pub(super) fn shared<P: Clone>(&self, target: usize) -> Option<P> {
        let built = self.built.borrow();
        // SAFETY: as in `kept`; and nothing with a lifetime changes behind shared borrows of values in records (see
        // `Wire`), so that it does not matter if the owners use different lifetimes: none can put anything in that
        // lives shorter than another believes.
        built.as_ref()?.get(&(target, typeid::of::<P>())).map(|kept| unsafe { kept.get::<P>() }.clone())
    }
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("body", &self.body.len()).field("budget", &self.budget).finish()
    }
}

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
