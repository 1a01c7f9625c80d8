//! How the values of a path are reached in records of one format.

use banyan_ndr::wire::{read_int, read_uint};
use banyan_ndr::{ByteOrder, DecodeError, RecordView, Type, reverse_numbers};

use super::datum::{self, Budget, datum, outside, slots};
use super::walk;
use crate::Fault;
use crate::specification::PathStep;
use crate::value::Datum;

/// The way to the values of a path.
#[derive(Debug)]
pub(crate) enum Access {
    /// One value in a fixed place.
    Place {
        /// Where it lies in every record.
        at: usize,
        /// What it is.
        ty: Type,
    },
    /// Items side by side.
    Run(RunAccess),
    /// Whatever else: step by step, through pointers and optionals.
    Walk(Vec<PathStep>),
}

/// The way to items side by side.
#[derive(Debug)]
pub(crate) struct RunAccess {
    /// Where the items, or the reference to them, stand in every record.
    pub(super) at: usize,
    pub(super) count: Count,
    /// Bytes from one item to the next.
    pub(super) stride: usize,
    /// Where in an item the value lies.
    pub(super) within: usize,
    /// What a value is.
    pub(super) ty: Type,
}

/// How many items there are.
#[derive(Debug)]
pub(super) enum Count {
    /// As many in every record, in this very place.
    Fixed(usize),
    /// The span says.
    Span,
    /// Other fields say: the number is the product of all.
    Fields(Vec<Length>),
}

/// One dimension of an array.
#[derive(Debug)]
pub(super) enum Length {
    Fixed(usize),
    Field { at: usize, width: u8, signed: bool },
}

/// Items side by side in one record; all of them lie in its body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    /// From the first value on.
    pub(crate) bytes: &'a [u8],
    pub(crate) count: usize,
    pub(crate) stride: usize,
    pub(crate) ty: &'a Type,
    pub(crate) order: ByteOrder,
}

impl Access {
    /// Calls `each` with every value, in order. Values that are absent are left out.
    pub(crate) fn each<'a>(
        &self,
        record: RecordView<'a>,
        each: &mut dyn FnMut(Datum<'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        match self {
            Access::Place { at, ty } => datum(record, ty, *at)?.map_or(Ok(()), each),
            Access::Run(run) => {
                let (start, count) = run.locate(record)?;
                let mut budget = Budget::of(record);
                for index in 0..count {
                    if let Some(datum) = datum(record, &run.ty, start + index * run.stride + run.within)? {
                        budget.take_text(datum)?;
                        each(datum)?;
                    }
                }
                Ok(())
            }
            Access::Walk(steps) => walk::walk(record, steps, each),
        }
    }

    /// Whether the record has the value at all, be it an array without items.
    pub(crate) fn is_present(&self, record: RecordView<'_>) -> Result<bool, Fault> {
        match self {
            Access::Walk(steps) => walk::is_present(record, steps),
            _ => Ok(true),
        }
    }
}

impl RunAccess {
    /// The items of a record.
    pub(crate) fn run<'a>(&'a self, record: RecordView<'a>) -> Result<Run<'a>, Fault> {
        let (start, count) = self.locate(record)?;
        let bytes = if count == 0 { &[] } else { &record.body()[start + self.within..] };
        Ok(Run { bytes, count, stride: self.stride, ty: &self.ty, order: record.format().order() })
    }

    /// Where the items begin and how many there are; all of them lie in the body.
    fn locate(&self, record: RecordView<'_>) -> Result<(usize, usize), DecodeError> {
        let body = record.body();
        let (start, count) = match &self.count {
            Count::Fixed(count) => return Ok((self.at, *count)),
            Count::Span => slots(record).span(body, self.at).map_err(|bad| outside(record, bad.stored, 1))?,
            Count::Fields(lengths) => {
                let count = product(record, lengths)?;
                let target = slots(record).reference(body, self.at).map_err(|bad| outside(record, bad.stored, 1))?;
                match (target, count) {
                    (_, 0) => (0, 0),
                    (Some(target), count) => (target, count),
                    (None, count) => return Err(outside(record, 0, count as u64)),
                }
            }
        };
        let end = count.checked_mul(self.stride).and_then(|bytes| start.checked_add(bytes));
        match end.is_some_and(|end| end <= body.len()) {
            true => Ok((start, count)),
            false => Err(outside(record, start as u64, count as u64)),
        }
    }
}

fn product(record: RecordView<'_>, lengths: &[Length]) -> Result<usize, DecodeError> {
    let order = record.format().order();
    lengths.iter().try_fold(1_usize, |product, length| {
        let length = match length {
            Length::Fixed(length) => Some(*length),
            Length::Field { at, width, signed } => {
                let bytes = &record.body()[*at..at + usize::from(*width)];
                let length =
                    if *signed { read_int(bytes, order).try_into().ok() } else { Some(read_uint(bytes, order)) };
                length.and_then(|length: u128| usize::try_from(length).ok())
            }
        };
        length.and_then(|length| product.checked_mul(length)).ok_or_else(|| outside(record, 0, u64::MAX))
    })
}

impl<'a> Run<'a> {
    /// The bytes of all values when nothing lies between them.
    pub(crate) fn contiguous(&self) -> Option<&'a [u8]> {
        let width = datum::width(self.ty)?;
        (self.stride == width).then(|| &self.bytes[..self.count * width])
    }

    /// Whether the values are numbers in the other byte order.
    pub(crate) fn is_reversed(&self) -> bool {
        self.order != ByteOrder::NATIVE && datum::width(self.ty).is_some_and(|width| matches!(width, 2 | 4 | 8))
    }

    /// Writes values that are [reversed](Self::is_reversed) in this machine's byte order.
    pub(crate) fn reverse(&self, values: &[u8], native: &mut [u8]) {
        if let Some(width) = datum::width(self.ty) {
            reverse_numbers(width as u8, values, native);
        }
    }

    /// Copies the values together, where something lies between them.
    pub(crate) fn gather(&self, into: &mut Vec<u8>) {
        into.clear();
        let Some(width) = datum::width(self.ty) else { return };
        for index in 0..self.count {
            into.extend_from_slice(&self.bytes[index * self.stride..index * self.stride + width]);
        }
    }
}
