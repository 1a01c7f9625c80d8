//! Writing most records: those that refer to nothing that refers further, into memory that is there already.
//!
//! It gives up where it would have to do more, and the [`Writer`](super::Writer) begins anew. As no call is given a
//! reference to it, it lies in registers.

use super::memory;
use super::passed::{Passed, Segment};
use super::sink::{Deferred, Entry, MOST, Place, Sink};
use super::{Record, Wire};
use crate::EncodeError;

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
pub(super) fn write<'r, T: Record>(
    record: &'r T,
    out: &mut Vec<u8>,
    threshold: usize,
) -> Option<Option<Box<Passed<'r>>>> {
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
        let segment = Segment { owned_before: self.owned.len(), bytes };
        self.passed = Some(Passed::with(self.passed.take(), segment));
        self.longer = self.longer.wrapping_add(bytes.len());
    }
}

impl<'r> Sink<'r> for Quick<'r> {
    #[inline]
    fn put(&mut self, place: Place, bytes: &[u8]) {
        self.owned[place.index..place.index + bytes.len()].copy_from_slice(bytes);
    }

    #[inline]
    fn reserve(&mut self, size: usize, align: usize) -> Option<Place> {
        let (len, padding) = self.end(align);
        if !memory::append_zeros_within(&mut self.owned, padding, align, size) {
            self.given_up = true;
            return None;
        }
        Some(Place { at: len + padding, index: self.owned.len() - size })
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
    fn list<T: Wire>(&mut self, slot: Place, entry: Entry, items: &'r [T], _: &'r dyn Deferred) {
        if !items.is_empty() {
            self.list_now(slot, entry, items);
        }
    }

    #[inline]
    fn target<T: Wire>(&mut self, _: Place, _: &'r dyn Deferred) {
        self.given_up = true;
    }

    #[inline]
    fn fail(&mut self, _: EncodeError) {
        self.given_up = true;
    }
}
