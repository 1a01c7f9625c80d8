//! What a record is written to: places for fixed parts, and room behind them for what they refer to.
//!
//! There are two of them. [`Quick`](super::write::Quick) takes most records; the [`Writer`] takes every one.

use super::{Wire, Writer, memory};
use crate::EncodeError;
use crate::PointerWidth;
use crate::wire::ORIGIN;

/// Width of references on this machine.
pub const POINTER: usize = PointerWidth::NATIVE.bytes();

/// The longest body. No longer than one allocation can be on this machine, so that the lengths of two of them, what is
/// copied and what is passed by reference, can be added without overflow.
pub(super) const MOST: usize = usize::MAX / 2 - ORIGIN;

/// A reserved, zeroed place for a fixed part.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    /// Distance from the start of the body.
    pub(super) at: usize,
    /// Position in the bytes the writer owns; behind slices passed by reference it is less than `at`.
    pub(super) index: usize,
}

impl Slot {
    /// The place of a part at an offset.
    #[inline]
    #[must_use]
    pub const fn part(self, offset: usize) -> Slot {
        Slot { at: self.at + offset, index: self.index + offset }
    }
}

/// How a list is entered in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Reference and count.
    Span,
    /// A reference only: other fields hold the count.
    Reference,
}

/// Something behind a reference that can be written later.
pub trait Deferred {
    /// Writes it and enters it in its slot.
    fn write_now<'r>(&'r self, slot: Slot, entry: Entry, out: &mut Writer<'r>);
}

/// Takes the values of one record that lives for `'r`. The first error ends the work; nothing in between has to hand
/// results around.
pub trait Sink<'r>: Sized {
    /// Puts bytes at a place.
    fn put(&mut self, place: Slot, bytes: &[u8]);

    /// Zeroed bytes at the end of the body; none after an error.
    fn reserve(&mut self, size: usize, align: usize) -> Option<Slot>;

    /// Appends bytes to the body. Returns where they lie in it, or anything after an error.
    fn append(&mut self, bytes: &'r [u8], align: usize) -> usize;

    /// Enters a list in its slot: writes its items, or notes it as work for later when they could go deep.
    fn list<T: Wire>(&mut self, slot: Slot, entry: Entry, items: &'r [T], whole: &'r dyn Deferred);

    /// Writes what a pointer leads to, or notes it as work for later when it could go deep.
    fn target<T: Wire>(&mut self, slot: Slot, whole: &'r dyn Deferred);

    /// Ends the work with an error, unless there was one before.
    fn fail(&mut self, error: EncodeError);

    /// Puts a plain value at a place as it lies in memory.
    #[inline]
    fn put_plain<T: Wire>(&mut self, place: Slot, value: &T) {
        self.put(place, memory::bytes_of(value));
    }

    /// Appends bytes and enters them as a span.
    #[inline]
    fn bytes(&mut self, slot: Slot, bytes: &'r [u8]) {
        if !bytes.is_empty() {
            let target = self.append(bytes, 1);
            self.span(slot, target, bytes.len());
        }
    }

    /// Writes the items of a list, one at least, and enters it in its slot.
    #[inline]
    fn list_now<T: Wire>(&mut self, slot: Slot, entry: Entry, items: &'r [T]) {
        let target = if T::PLAIN { self.append(memory::slice_bytes(items), T::ALIGN) } else { self.items(items) };
        match entry {
            Entry::Reference => self.refer(slot, target),
            Entry::Span => self.span(slot, target, items.len()),
        }
    }

    /// Writes items that are not plain. Returns where they lie, as [`Sink::append`] does.
    fn items<T: Wire>(&mut self, items: &'r [T]) -> usize {
        let size = items.len().saturating_mul(T::SIZE);
        let Some(place) = self.reserve(size, T::ALIGN) else { return 0 };
        for (index, item) in items.iter().enumerate() {
            item.write(place.part(index * T::SIZE), self);
        }
        place.at
    }

    /// Enters a reference.
    #[inline]
    fn refer(&mut self, slot: Slot, target: usize) {
        self.put(slot, &(target + ORIGIN).to_ne_bytes());
    }

    /// Enters a reference and a count.
    #[inline]
    fn span(&mut self, slot: Slot, target: usize, count: usize) {
        let mut span = [0; 2 * POINTER];
        span[..POINTER].copy_from_slice(&(target + ORIGIN).to_ne_bytes());
        span[POINTER..].copy_from_slice(&count.to_ne_bytes());
        self.put(slot, &span);
    }
}
