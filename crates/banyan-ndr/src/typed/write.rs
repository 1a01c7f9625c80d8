//! Writing a body: the fixed part first, then what it refers to.
//!
//! Small things are copied into one buffer, large plain slices are only referred to. In recursive formats what lies
//! behind references waits in a work list, so that a list of a million nodes takes no stack. The first error is kept
//! and ends the work; nothing in between has to hand results around.

use std::collections::HashMap;

use super::{Record, Wire, memory};
use crate::EncodeError;
use crate::PointerWidth;
use crate::wire::ORIGIN;

/// Width of references on this machine.
pub const POINTER: usize = PointerWidth::NATIVE.bytes();

/// The longest body. No longer than one allocation can be on this machine, so that the lengths of two of them, what is
/// copied and what is passed by reference, can be added without overflow.
const MOST: usize = usize::MAX / 2 - ORIGIN;

/// Slices of at least this many bytes are passed by reference unless [`Scratch::set_threshold`] says otherwise:
/// below, one more piece for the system call costs more than the copy.
const THRESHOLD: usize = 4096;

/// Memory to encode into, kept from record to record.
#[derive(Debug)]
pub struct Scratch {
    pub(super) owned: Vec<u8>,
    pub(super) threshold: usize,
}

impl Scratch {
    /// Without memory yet.
    pub const fn new() -> Scratch {
        Scratch { owned: Vec::new(), threshold: THRESHOLD }
    }

    /// Sets from how many bytes on a plain slice is passed by reference instead of being copied.
    pub fn set_threshold(&mut self, bytes: usize) {
        self.threshold = bytes;
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch::new()
    }
}

/// A reserved, zeroed place for a fixed part.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Distance from the start of the body.
    at: usize,
    /// Position in the bytes the writer owns; behind slices passed by reference it is less than `at`.
    index: usize,
}

impl Place {
    /// The place of a part at an offset.
    #[inline]
    #[must_use]
    pub const fn part(self, offset: usize) -> Place {
        Place { at: self.at + offset, index: self.index + offset }
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
    fn write_now<'r>(&'r self, slot: Place, entry: Entry, out: &mut Writer<'r>);
}

/// Bytes the writer was given by reference, and how many of its own bytes come before them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'r> {
    pub(super) owned_before: usize,
    pub(super) bytes: &'r [u8],
}

/// Writes the body of one record that lives for `'r`.
pub struct Writer<'r> {
    /// Not borrowed: the compiler then knows that it begins empty.
    owned: Vec<u8>,
    /// What the body is longer than `owned`: the bytes in all segments, without those that were in `owned` before the
    /// body. Wraps.
    longer: usize,
    segments: Vec<Segment<'r>>,
    threshold: usize,
    /// Whether what is not shallow waits in the work list.
    deferring: bool,
    /// Apart, because it is looked at for every record and needed for few.
    rare: Option<Box<Rare<'r>>>,
}

/// What only recursive, shared or wrong records need.
#[derive(Default)]
struct Rare<'r> {
    deferred: Vec<(&'r dyn Deferred, Place, Entry)>,
    /// Where shared values lie, by their addresses.
    shared: HashMap<usize, usize, foldhash::fast::RandomState>,
    /// The first.
    error: Option<EncodeError>,
}

/// What a finished writer leaves.
pub(super) struct Written<'r> {
    pub(super) owned: Vec<u8>,
    pub(super) segments: Vec<Segment<'r>>,
    pub(super) body_len: usize,
    /// Boxed, because every record carries it and few have one.
    pub(super) error: Option<Box<EncodeError>>,
}

impl<'r> Writer<'r> {
    /// Writes `record` behind what is in `owned` already.
    #[inline]
    pub(super) fn run<T: Record>(record: &'r T, owned: Vec<u8>, threshold: usize) -> Written<'r> {
        let mut writer = Writer {
            longer: owned.len().wrapping_neg(),
            owned,
            segments: Vec::new(),
            threshold,
            deferring: !T::SHALLOW && T::format().is_recursive(),
            rare: None,
        };
        if let Some(place) = writer.reserve(T::SIZE, T::ALIGN) {
            record.write(place, &mut writer);
        }
        let error = if writer.rare.is_some() || writer.len() > MOST { writer.finish().map(Box::new) } else { None };
        let body_len = writer.len();
        let Writer { owned, segments, .. } = writer;
        Written { owned, segments, body_len, error }
    }

    /// Writes what was noted for later, and says what went wrong.
    #[inline(never)]
    fn finish(&mut self) -> Option<EncodeError> {
        while let Some(rare) = &mut self.rare
            && rare.error.is_none()
            && let Some((what, slot, entry)) = rare.deferred.pop()
        {
            what.write_now(slot, entry, self);
        }
        let len = self.len();
        if len > MOST {
            self.fail(EncodeError::TooLong(len));
        }
        self.rare.take()?.error
    }

    /// Puts bytes at a place.
    #[inline]
    pub fn put(&mut self, place: Place, bytes: &[u8]) {
        self.owned[place.index..place.index + bytes.len()].copy_from_slice(bytes);
    }

    /// Puts a plain value at a place as it lies in memory.
    #[inline]
    pub fn put_plain<T: Wire>(&mut self, place: Place, value: &T) {
        self.put(place, memory::bytes_of(value));
    }

    /// Ends the work with an error, unless there was one before.
    #[cold]
    pub fn fail(&mut self, error: EncodeError) {
        self.rare.get_or_insert_default().error.get_or_insert(error);
    }

    #[cold]
    fn fail_too_long(&mut self, end: Option<usize>) {
        self.fail(EncodeError::TooLong(end.unwrap_or(usize::MAX)));
    }

    /// Notes work for later.
    fn defer(&mut self, what: &'r dyn Deferred, slot: Place, entry: Entry) {
        self.rare.get_or_insert_default().deferred.push((what, slot, entry));
    }

    #[inline]
    fn len(&self) -> usize {
        self.owned.len().wrapping_add(self.longer)
    }

    /// Zeroed bytes at the end of the body. `None` when it gets too long; then the error is noted.
    #[inline]
    pub(super) fn reserve(&mut self, size: usize, align: usize) -> Option<Place> {
        let place = self.align(size, align)?;
        memory::append_zeros(&mut self.owned, size);
        Some(place)
    }

    /// Pads the end of the body for something of `size` bytes.
    #[inline]
    fn align(&mut self, size: usize, align: usize) -> Option<Place> {
        let len = self.len();
        let padding = len.wrapping_neg() & (align - 1);
        let end = len.checked_add(padding).and_then(|at| at.checked_add(size));
        if end.is_none_or(|end| end > MOST) {
            self.fail_too_long(end);
            return None;
        }
        memory::append_padding(&mut self.owned, padding, align);
        Some(Place { at: len + padding, index: self.owned.len() })
    }

    /// Appends bytes, or a reference to them when they are many. Returns where they lie in the body, or anything when
    /// it gets too long; then the error is noted.
    ///
    /// Short bytes in memory that is there already take no call; that they make the body too long is seen at its end.
    #[inline]
    pub(super) fn append(&mut self, bytes: &'r [u8], align: usize) -> usize {
        let len = self.len();
        let padding = len.wrapping_neg() & (align - 1);
        if bytes.len() < self.threshold && memory::append_short(&mut self.owned, padding, align, bytes) {
            return len + padding;
        }
        self.append_any(bytes, align)
    }

    // Apart, so that short bytes do not pay for its registers.
    #[inline(never)]
    fn append_any(&mut self, bytes: &'r [u8], align: usize) -> usize {
        let Some(place) = self.align(bytes.len(), align) else { return 0 };
        if bytes.len() < self.threshold {
            memory::append_bytes(&mut self.owned, bytes);
        } else {
            self.segments.push(Segment { owned_before: self.owned.len(), bytes });
            self.longer = self.longer.wrapping_add(bytes.len());
        }
        place.at
    }

    /// Enters a list in its slot: writes its items, or notes it as work for later when they could go deep.
    #[inline]
    pub(super) fn list<T: Wire>(&mut self, slot: Place, entry: Entry, items: &'r [T], whole: &'r dyn Deferred) {
        if items.is_empty() {
            // Null and no items: the zeros that are there.
        } else if self.deferring && !T::SHALLOW {
            self.defer(whole, slot, entry);
        } else {
            self.list_now(slot, entry, items);
        }
    }

    /// Writes the items of a list and enters it in its slot.
    #[inline]
    pub(super) fn list_now<T: Wire>(&mut self, slot: Place, entry: Entry, items: &'r [T]) {
        let target = if T::PLAIN { self.append(memory::slice_bytes(items), T::ALIGN) } else { self.items(items) };
        match entry {
            Entry::Reference => self.refer(slot, target),
            Entry::Span => self.span(slot, target, items.len()),
        }
    }

    /// Writes items that are not plain. Returns where they lie, as [`Writer::append`] does.
    fn items<T: Wire>(&mut self, items: &'r [T]) -> usize {
        let size = items.len().saturating_mul(T::SIZE);
        let Some(place) = self.reserve(size, T::ALIGN) else { return 0 };
        for (index, item) in items.iter().enumerate() {
            item.write(place.part(index * T::SIZE), self);
        }
        place.at
    }

    /// Writes what a pointer leads to, or notes it as work for later when it could go deep.
    #[inline]
    pub(super) fn target<T: Wire>(&mut self, slot: Place, whole: &'r dyn Deferred) {
        if self.deferring && !T::SHALLOW {
            self.defer(whole, slot, Entry::Reference);
        } else {
            whole.write_now(slot, Entry::Reference, self);
        }
    }

    /// Writes what an unshared pointer leads to.
    pub(super) fn target_now<T: Wire>(&mut self, slot: Place, value: &'r T) {
        if let Some(place) = self.reserve(T::SIZE, T::ALIGN) {
            self.refer(slot, place.at);
            value.write(place, self);
        }
    }

    /// Writes what a shared pointer leads to, the first time.
    pub(super) fn shared_now<T: Wire>(&mut self, slot: Place, value: &'r T) {
        let address = std::ptr::from_ref(value).addr();
        if let Some(at) = self.rare.as_ref().and_then(|rare| rare.shared.get(&address).copied()) {
            return self.refer(slot, at);
        }
        if let Some(place) = self.reserve(T::SIZE, T::ALIGN) {
            self.rare.get_or_insert_default().shared.insert(address, place.at);
            self.refer(slot, place.at);
            value.write(place, self);
        }
    }

    /// Appends bytes and enters them as a span.
    #[inline]
    pub(super) fn bytes(&mut self, slot: Place, bytes: &'r [u8]) {
        if !bytes.is_empty() {
            let target = self.append(bytes, 1);
            self.span(slot, target, bytes.len());
        }
    }

    #[inline]
    pub(super) fn refer(&mut self, slot: Place, target: usize) {
        self.put(slot, &(target + ORIGIN).to_ne_bytes());
    }

    #[inline]
    fn span(&mut self, slot: Place, target: usize, count: usize) {
        let mut span = [0; 2 * POINTER];
        span[..POINTER].copy_from_slice(&(target + ORIGIN).to_ne_bytes());
        span[POINTER..].copy_from_slice(&count.to_ne_bytes());
        self.put(slot, &span);
    }
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("len", &self.len())
            .field("segments", &self.segments.len())
            .finish_non_exhaustive()
    }
}
