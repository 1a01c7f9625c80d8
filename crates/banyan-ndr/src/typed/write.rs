//! Writing any body: the fixed part first, then what it refers to.
//!
//! Small things are copied into one buffer, large plain slices are only referred to. In recursive formats what lies
//! behind references waits in a work list, so that a list of a million nodes takes no stack. The first error is kept
//! and ends the work.
//!
//! Most records refer to nothing that refers further. These are written by [`Quick`], into memory that is there already.
//! It gives up where it would have to do more, and the [`Writer`] begins anew. As no call is given a reference to it, it
//! lies in registers.

use std::collections::HashMap;

use super::encode::{LentBytes, Passed};
use super::sink::{Deferred, Entry, MOST, Sink, Slot};
use super::{Record, Wire, memory};
use crate::EncodeError;

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

/// Writes a record behind what is in `out` already. Returns what is passed by reference; that and errors are boxed, so
/// that both are returned in registers.
#[inline]
pub(super) fn write<'r, T: Record>(
    record: &'r T,
    out: &mut Vec<u8>,
    threshold: usize,
) -> Result<Option<Box<Passed<'r>>>, Box<EncodeError>> {
    match write_quickly(record, out, threshold) {
        Some(passed) => Ok(passed),
        None => Writer::run(record, out, threshold),
    }
}

/// Writes the body of one record that lives for `'r`.
pub struct Writer<'r> {
    owned: Vec<u8>,
    /// What the body is longer than `owned`: the bytes passed by reference, without those that were in `owned` before
    /// the body. Wraps.
    longer: usize,
    passed: Option<Box<Passed<'r>>>,
    threshold: usize,
    /// Whether what is not shallow waits in the work list.
    deferring: bool,
    deferred: Vec<(&'r dyn Deferred, Slot, Entry)>,
    /// Where shared values lie, by their addresses.
    shared: HashMap<usize, usize, foldhash::fast::RandomState>,
    /// The first.
    error: Option<Box<EncodeError>>,
}

impl<'r> Writer<'r> {
    #[inline(never)]
    fn run<T: Record>(
        record: &'r T,
        out: &mut Vec<u8>,
        threshold: usize,
    ) -> Result<Option<Box<Passed<'r>>>, Box<EncodeError>> {
        let mut writer = Writer {
            longer: out.len().wrapping_neg(),
            owned: std::mem::take(out),
            passed: None,
            threshold,
            deferring: !T::SHALLOW && T::format().is_recursive(),
            deferred: Vec::new(),
            shared: HashMap::default(),
            error: None,
        };
        if let Some(place) = writer.reserve(T::SIZE, T::ALIGN) {
            record.write(place, &mut writer);
        }
        while writer.error.is_none()
            && let Some((what, slot, entry)) = writer.deferred.pop()
        {
            what.write_now(slot, entry, &mut writer);
        }
        *out = writer.owned;
        if T::SHALLOW {
            // The next record like this one is then a quick one.
            memory::make_room_for_padding(out);
        }
        writer.error.map_or(Ok(writer.passed), Err)
    }

    #[inline]
    fn len(&self) -> usize {
        self.owned.len().wrapping_add(self.longer)
    }

    /// Pads the end of the body for something of `size` bytes. `None` when it gets too long; then the error is noted.
    fn align(&mut self, size: usize, align: usize) -> Option<Slot> {
        let len = self.len();
        let padding = len.wrapping_neg() & (align - 1);
        let end = len.checked_add(padding).and_then(|at| at.checked_add(size));
        if end.is_none_or(|end| end > MOST) {
            self.fail(EncodeError::TooLong(end.unwrap_or(usize::MAX)));
            return None;
        }
        memory::append_zeros(&mut self.owned, padding);
        Some(Slot { at: len + padding, index: self.owned.len() })
    }

    /// Writes what an unshared pointer leads to.
    pub(super) fn target_now<T: Wire>(&mut self, slot: Slot, value: &'r T) {
        if let Some(place) = self.reserve(T::SIZE, T::ALIGN) {
            self.refer(slot, place.at);
            value.write(place, self);
        }
    }

    /// Writes what a shared pointer leads to, the first time.
    pub(super) fn shared_now<T: Wire>(&mut self, slot: Slot, value: &'r T) {
        let address = std::ptr::from_ref(value).addr();
        if let Some(at) = self.shared.get(&address).copied() {
            return self.refer(slot, at);
        }
        if let Some(place) = self.reserve(T::SIZE, T::ALIGN) {
            self.shared.insert(address, place.at);
            self.refer(slot, place.at);
            value.write(place, self);
        }
    }
}

impl<'r> Sink<'r> for Writer<'r> {
    #[inline]
    fn put(&mut self, place: Slot, bytes: &[u8]) {
        self.owned[place.index..place.index + bytes.len()].copy_from_slice(bytes);
    }

    fn reserve(&mut self, size: usize, align: usize) -> Option<Slot> {
        let place = self.align(size, align)?;
        memory::append_zeros(&mut self.owned, size);
        Some(place)
    }

    /// Many bytes are passed by reference.
    fn append(&mut self, bytes: &'r [u8], align: usize) -> usize {
        let Some(place) = self.align(bytes.len(), align) else { return 0 };
        if bytes.len() < self.threshold {
            self.owned.extend_from_slice(bytes);
        } else {
            self.passed = Some(Passed::with(self.passed.take(), LentBytes { owned_before: self.owned.len(), bytes }));
            self.longer = self.longer.wrapping_add(bytes.len());
        }
        place.at
    }

    fn list<T: Wire>(&mut self, slot: Slot, entry: Entry, items: &'r [T], whole: &'r dyn Deferred) {
        if items.is_empty() {
            // Null and no items: the zeros that are there.
        } else if self.deferring && !T::SHALLOW {
            self.deferred.push((whole, slot, entry));
        } else {
            self.list_now(slot, entry, items);
        }
    }

    fn target<T: Wire>(&mut self, slot: Slot, whole: &'r dyn Deferred) {
        if self.deferring && !T::SHALLOW {
            self.deferred.push((whole, slot, Entry::Reference));
        } else {
            whole.write_now(slot, Entry::Reference, self);
        }
    }

    fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert_with(|| Box::new(error));
    }
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Writes the body of one record, or gives up.
struct Quick<'r> {
    owned: Vec<u8>,
    /// What the body is longer than `owned`. Wraps.
    longer: usize,
    passed: Option<Box<Passed<'r>>>,
    threshold: usize,
    given_up: bool,
}

/// Appends a shallow record to `out`, if that is quick. Returns what is passed by reference then; otherwise `out` is as
/// before.
#[inline]
fn write_quickly<'r, T: Record>(record: &'r T, out: &mut Vec<u8>, threshold: usize) -> Option<Option<Box<Passed<'r>>>> {
    if !T::SHALLOW {
        return None;
    }
    let start = out.len();
    let longer = start.wrapping_neg();
    let mut quick = Quick { owned: std::mem::take(out), longer, passed: None, threshold, given_up: false };
    if let Some(place) = quick.reserve(T::SIZE, T::ALIGN) {
        record.write(place, &mut quick);
    }
    // What is copied is within one allocation, and so never too long alone.
    let too_long = quick.passed.is_some() && quick.end(1).0 > MOST;
    *out = quick.owned;
    if quick.given_up || too_long {
        out.truncate(start);
        return None;
    }
    Some(quick.passed)
}

impl<'r> Quick<'r> {
    /// How long the body is, and the padding that brings it to an alignment.
    #[inline]
    fn end(&self, align: usize) -> (usize, usize) {
        let len = self.owned.len().wrapping_add(self.longer);
        (len, len.wrapping_neg() & (align - 1))
    }

    /// Passes bytes by reference that come behind so much of the body.
    #[inline]
    fn pass(&mut self, bytes: &'r [u8], behind: usize) {
        if bytes.len() > MOST.saturating_sub(behind) {
            self.given_up = true;
            return;
        }
        let segment = LentBytes { owned_before: self.owned.len(), bytes };
        self.passed = Some(Passed::with(self.passed.take(), segment));
        self.longer = self.longer.wrapping_add(bytes.len());
    }
}

impl<'r> Sink<'r> for Quick<'r> {
    #[inline]
    fn put(&mut self, place: Slot, bytes: &[u8]) {
        self.owned[place.index..place.index + bytes.len()].copy_from_slice(bytes);
    }

    #[inline]
    fn reserve(&mut self, size: usize, align: usize) -> Option<Slot> {
        let (len, padding) = self.end(align);
        if !memory::append_zeros_within(&mut self.owned, padding, align, size) {
            self.given_up = true;
            return None;
        }
        Some(Slot { at: len + padding, index: self.owned.len() - size })
    }

    #[inline]
    fn append(&mut self, bytes: &'r [u8], align: usize) -> usize {
        let (len, padding) = self.end(align);
        let passes = bytes.len() >= self.threshold;
        let copied = if passes { &[] } else { bytes };
        if !memory::append_within(&mut self.owned, padding, align, copied) {
            self.given_up = true;
        } else if passes {
            self.pass(bytes, len + padding);
        }
        len + padding
    }

    #[inline]
    fn list<T: Wire>(&mut self, slot: Slot, entry: Entry, items: &'r [T], _: &'r dyn Deferred) {
        if !items.is_empty() {
            self.list_now(slot, entry, items);
        }
    }

    #[inline]
    fn target<T: Wire>(&mut self, _: Slot, _: &'r dyn Deferred) {
        self.given_up = true;
    }

    #[inline]
    fn fail(&mut self, _: EncodeError) {
        self.given_up = true;
    }
}
