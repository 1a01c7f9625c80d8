//! Bodies in this machine's own layout: written and read at known places.
//!
//! What is read comes from outside: places in the fixed part are known to be there, whatever lies behind a span is
//! checked before it is touched.

use std::cell::Cell;

use banyan_ndr::wire::Slots;
use banyan_ndr::{Buffer, ByteOrder, PointerWidth};
use banyan_ranks::RankSet;

use super::Fault;
use super::value::{Datum, Float, Kind, Value};

const SLOTS: Slots = Slots { order: ByteOrder::NATIVE, pointer: PointerWidth::NATIVE };

/// Bytes of a span.
const SPAN: usize = 2 * PointerWidth::NATIVE.bytes();

/// Lists begin at a multiple of this, which suits every type.
const LIST_ALIGN: usize = 16;

/// Writes a body: the fixed part first, lists behind it.
pub(super) struct Writer<'b> {
    out: &'b mut Buffer,
}

impl<'b> Writer<'b> {
    /// A body with a fixed part of zeros.
    pub(super) fn new(out: &'b mut Buffer, size: usize) -> Writer<'b> {
        out.clear();
        let mut writer = Writer { out };
        writer.append(size);
        writer
    }

    /// Zeros at the end.
    fn append(&mut self, len: usize) -> usize {
        let at = self.extend(len);
        self.out[at..].fill(0);
        at
    }

    /// Bytes at the end that are to be overwritten.
    fn extend(&mut self, len: usize) -> usize {
        let before = self.out.len();
        let at = before.next_multiple_of(LIST_ALIGN);
        self.out.set_len(at + len);
        self.out[before..at].fill(0);
        at
    }

    /// What was written so far.
    #[inline]
    pub(super) fn body(&mut self) -> &mut [u8] {
        self.out
    }

    #[inline]
    pub(super) fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        put(self.out, at, bytes);
    }

    pub(super) fn put_slice(&mut self, at: usize, bytes: &[u8]) {
        self.out[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// An optional value that is there: its flag, and where the value goes.
    #[inline]
    pub(super) fn present(&mut self, at: usize, align: usize) -> usize {
        present(self.out, at, align)
    }

    /// Room for `count` items of `size` bytes, zero, and the span at `at` that leads there.
    pub(super) fn reserve(&mut self, at: usize, count: usize, size: usize) -> usize {
        if count == 0 {
            return at;
        }
        let target = self.append(count * size);
        SLOTS.set_span(&mut self.out[at..], target, count);
        target
    }

    /// A list of numbers.
    pub(super) fn numbers<const N: usize>(&mut self, at: usize, numbers: impl ExactSizeIterator<Item = [u8; N]>) {
        let count = numbers.len();
        if count == 0 {
            return;
        }
        let target = self.extend(count * N);
        SLOTS.set_span(&mut self.out[at..], target, count);
        let (places, _) = self.out[target..].as_chunks_mut::<N>();
        places.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
    }

    pub(super) fn bytes(&mut self, at: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            let target = self.reserve(at, bytes.len(), 1);
            self.put_slice(target, bytes);
        }
    }

    /// A list of blobs or texts.
    pub(super) fn blobs<'v>(&mut self, at: usize, blobs: impl ExactSizeIterator<Item = &'v [u8]>) {
        let spans = self.reserve(at, blobs.len(), SPAN);
        blobs.enumerate().for_each(|(index, blob)| self.bytes(spans + index * SPAN, blob));
    }

    pub(super) fn value(&mut self, at: usize, value: &Value) {
        match value {
            Value::Integer(value) => self.put(at, value.to_ne_bytes()),
            Value::Float(Float(value)) => self.put(at, value.to_ne_bytes()),
            Value::Bool(value) => self.put(at, [u8::from(*value)]),
            Value::Text(text) => self.bytes(at, text.as_bytes()),
            Value::Bytes(bytes) => self.bytes(at, bytes),
        }
    }

    /// A list of values of one kind.
    pub(super) fn values<'v>(&mut self, at: usize, kind: Kind, values: impl ExactSizeIterator<Item = &'v Value>) {
        let size = size(kind);
        let target = self.reserve(at, values.len(), size);
        values.enumerate().for_each(|(index, value)| self.value(target + index * size, value));
    }
}

/// Writes bytes to a body.
#[inline]
pub(super) fn put<const N: usize>(body: &mut [u8], at: usize, bytes: [u8; N]) {
    body[at..at + N].copy_from_slice(&bytes);
}

/// An optional value that is there: its flag, and where the value goes.
#[inline]
pub(super) fn present(body: &mut [u8], at: usize, align: usize) -> usize {
    body[at] = 1;
    at + align
}

/// Bytes that a value takes in its place.
fn size(kind: Kind) -> usize {
    match kind {
        Kind::Integer => 16,
        Kind::Float => 8,
        Kind::Bool => 1,
        Kind::Text | Kind::Bytes | Kind::Missing => SPAN,
    }
}

/// The alignment of a value, which is where it begins in an optional.
pub(super) fn align(kind: Kind) -> usize {
    match kind {
        Kind::Text | Kind::Bytes | Kind::Missing => SPAN / 2,
        other => size(other),
    }
}

/// Reads a body whose fixed part is known to be there.
pub(super) struct Reader<'a> {
    body: &'a [u8],
    /// Bytes that lists may still have. Those of an honest body do not overlap, so together they are no longer than the
    /// body; without this bound a short body with many references to one list would cost any time and memory.
    budget: Cell<usize>,
    /// Whom a partial result may name, if that is known: those who contributed to it.
    members: Option<&'a RankSet>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(body: &'a [u8]) -> Reader<'a> {
        Reader { body, budget: Cell::new(body.len()), members: None }
    }

    /// Reads a partial result that these members contributed to: it names nobody else.
    pub(super) fn of_members(body: &'a [u8], members: &'a RankSet) -> Reader<'a> {
        Reader { members: Some(members), ..Reader::new(body) }
    }

    /// The rank of a contributor, in the fixed part.
    #[inline]
    pub(super) fn rank(&self, at: usize) -> Result<u32, Fault> {
        self.contributor(self.u32(at))
    }

    /// The ranks of contributors in a list.
    pub(super) fn ranks(&self, at: usize) -> Result<impl ExactSizeIterator<Item = u32> + use<'a>, Fault> {
        let ranks = self.numbers::<4>(at)?.iter().map(|bytes| u32::from_ne_bytes(*bytes));
        ranks.clone().try_for_each(|rank| self.contributor(rank).map(|_| ()))?;
        Ok(ranks)
    }

    /// A set of contributors, as it is encoded.
    pub(super) fn rank_set(&self, bytes: &[u8]) -> Result<RankSet, Fault> {
        let ranks = match RankSet::decode(bytes) {
            Ok((ranks, taken)) if taken == bytes.len() => ranks,
            Ok(_) => return Err(Fault::partial("something stands behind a set of members")),
            Err(error) => return Err(Fault::partial(error.to_string())),
        };
        match self.members {
            Some(members) if !ranks.is_subset(members) => Err(Fault::Stranger(ranks.difference(members))),
            _ => Ok(ranks),
        }
    }

    #[inline]
    fn contributor(&self, rank: u32) -> Result<u32, Fault> {
        match self.members {
            Some(members) if !members.contains(rank) => Err(Fault::Stranger(RankSet::from_iter([rank]))),
            _ => Ok(rank),
        }
    }

    /// Bytes in the fixed part.
    #[inline]
    pub(super) fn fixed<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.body[at..at + N]);
        bytes
    }

    #[inline]
    pub(super) fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.fixed(at))
    }

    #[inline]
    pub(super) fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.fixed(at))
    }

    pub(super) fn slice(&self, at: usize, len: usize) -> &'a [u8] {
        &self.body[at..at + len]
    }

    /// A truth value, or the flag of an optional.
    #[inline]
    pub(super) fn flag(&self, at: usize) -> Result<bool, Fault> {
        match self.body[at] {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Fault::partial(format!("{other} is no truth value"))),
        }
    }

    /// The place and the number of the items of a list, all of which lie in the body.
    pub(super) fn list(&self, at: usize, size: usize) -> Result<(usize, usize), Fault> {
        let (target, count) = SLOTS
            .span(self.body, at)
            .map_err(|bad| Fault::partial(format!("a reference leads to {}, out of the body", bad.stored)))?;
        let bytes = count.checked_mul(size);
        let end = bytes.and_then(|bytes| target.checked_add(bytes));
        let left = bytes.and_then(|bytes| self.budget.get().checked_sub(bytes));
        match (end.is_some_and(|end| end <= self.body.len()), left) {
            (true, Some(left)) => {
                self.budget.set(left);
                Ok((target, count))
            }
            (true, None) => Err(Fault::partial("its lists lie on each other")),
            (false, _) => Err(Fault::partial(format!("a list of {count} items reaches beyond the body"))),
        }
    }

    /// The items of a list of numbers.
    pub(super) fn numbers<const N: usize>(&self, at: usize) -> Result<&'a [[u8; N]], Fault> {
        let (target, count) = self.list(at, N)?;
        Ok(self.body[target..target + count * N].as_chunks().0)
    }

    pub(super) fn bytes(&self, at: usize) -> Result<&'a [u8], Fault> {
        let (target, count) = self.list(at, 1)?;
        Ok(&self.body[target..target + count])
    }

    pub(super) fn text(&self, at: usize) -> Result<&'a str, Fault> {
        std::str::from_utf8(self.bytes(at)?).map_err(|_| Fault::partial("a text is not UTF-8"))
    }

    /// A value of a kind in its place.
    pub(super) fn datum(&self, at: usize, kind: Kind) -> Result<Datum<'a>, Fault> {
        Ok(match kind {
            Kind::Integer => Datum::Integer(i128::from_ne_bytes(self.fixed(at))),
            Kind::Float => Datum::Float(f64::from_ne_bytes(self.fixed(at))),
            Kind::Bool => Datum::Bool(self.flag(at)?),
            Kind::Text | Kind::Missing => Datum::Text(self.text(at)?),
            Kind::Bytes => Datum::Bytes(self.bytes(at)?),
        })
    }

    /// The values of a list.
    pub(super) fn values(
        &self,
        at: usize,
        kind: Kind,
    ) -> Result<impl ExactSizeIterator<Item = Result<Datum<'a>, Fault>>, Fault> {
        let size = size(kind);
        let (target, count) = self.list(at, size)?;
        Ok((0..count).map(move |index| self.datum(target + index * size, kind)))
    }
}
