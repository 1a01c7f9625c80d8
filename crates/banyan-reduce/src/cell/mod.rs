//! Cells: the state of one function over the values seen so far.
//!
//! Every cell can take values of a member's record, merge the state that another node sent, write its own state or its
//! result, and be cleared for the next wave. Places are given in the order of [`fields`].

mod elements;
mod exact;
mod exact_elements;
pub(super) mod fields;
mod histogram;
mod hyperloglog;
mod large;
pub(super) mod scalar;
mod sequence;
mod sets;
mod sketch;
#[cfg(test)]
mod tests;
mod top;

use banyan_ndr::{RecordView, Type};
use elements::Elements;
use exact::Exact;
use exact_elements::ExactElements;
use histogram::Histogram;
use hyperloglog::HyperLogLog;
use large::Large;
use scalar::{Number, Operation, Scalar};
use sequence::{Concatenation, First};
use sets::{Classes, Union};
use sketch::Sketch;
use top::Top;

use super::body::{Reader, Writer};
use super::column::Column;
use super::groups::What;
use super::input::Access;
use super::layout::Places;
use super::value::Kind;
use super::{Fault, Function, Part, ReductionLimits};

/// The state of a function.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    Count(u64),
    Integer(Scalar<i128>),
    Float(Scalar<f64>),
    Large(Large),
    /// Of a function whose field nobody has sent: why.
    Missing(Box<str>),
}

/// Who sent a record, and how it is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    pub(super) rank: u32,
    /// [`ReductionLimits::value_bytes`].
    pub(super) longest: usize,
}

impl Cell {
    /// The empty state of a function.
    pub(super) fn new(function: &Function, column: Column, limits: &ReductionLimits) -> Cell {
        let Column { kind, many } = column;
        if column.is_missing() {
            return Cell::Missing(Box::default());
        }
        let numbers = |operation| match (kind, many) {
            (Kind::Integer, false) => Cell::Integer(Scalar::new(operation)),
            (Kind::Integer, true) => Cell::Large(Large::Integers(Elements::new(operation, limits.elements))),
            (_, false) => Cell::Float(Scalar::new(operation)),
            (_, true) => Cell::Large(Large::Floats(Elements::new(operation, limits.elements))),
        };
        Cell::Large(match function {
            Function::Count(_) => return Cell::Count(0),
            Function::ExactSum(_) if kind == Kind::Float && many => Large::Exacts(ExactElements::new(limits.elements)),
            Function::ExactSum(_) if kind == Kind::Float => Large::Exact(Box::new(Exact::new())),
            Function::Sum(_) | Function::ExactSum(_) => return numbers(Operation::Sum),
            Function::Average(_) => return numbers(Operation::Average),
            Function::Minimum(_) => return numbers(Operation::Minimum),
            Function::Maximum(_) => return numbers(Operation::Maximum),
            Function::First(_) => Large::First(First::new(kind, many, limits.items)),
            Function::Concatenate(_) => Large::Concatenation(Concatenation::new(kind, limits.items)),
            Function::Top { count, .. } => Large::Top(Top::new(kind, *count as usize)),
            Function::Histogram { low, high, bins, .. } => Large::Histogram(Histogram::new(*low, *high, *bins)),
            Function::Quantile { shares, .. } => Large::Sketch(Box::new(Sketch::new()), shares.as_slice().into()),
            Function::Distinct(_) => Large::Distinct(HyperLogLog::new()),
            Function::Classes(_) => Large::Classes(Classes::new(kind, limits.items)),
            Function::Union(_) => Large::Union(Union::new(kind, limits.items)),
        })
    }

    /// Bytes that an empty cell takes, about: what a new group costs at once.
    pub(super) fn base_bytes(&self) -> usize {
        size_of::<Cell>()
            + match self {
                Cell::Large(Large::Exact(_)) => size_of::<Exact>(),
                Cell::Large(Large::Histogram(histogram)) => histogram.bytes(),
                Cell::Large(Large::Distinct(_)) => HyperLogLog::BYTES,
                Cell::Large(Large::Sketch(..)) => size_of::<Sketch>(),
                _ => 0,
            }
    }

    /// Ready for the next wave; keeps memory where that is worth it.
    #[inline]
    pub(super) fn clear(&mut self) {
        match self {
            Cell::Count(count) => *count = 0,
            Cell::Integer(scalar) => scalar.clear(),
            Cell::Float(scalar) => scalar.clear(),
            Cell::Large(large) => large.clear(),
            Cell::Missing(_) => {}
        }
    }

    /// Counts records.
    pub(super) fn count(&mut self, records: u64) {
        match self {
            Cell::Count(count) => *count = count.saturating_add(records),
            _ => unreachable!("only records are counted without a path"),
        }
    }

    /// Takes the values of a member's record that a path leads to.
    pub(super) fn take(&mut self, record: RecordView<'_>, access: &Access, sender: Sender) -> Result<(), Fault> {
        let rank = sender.rank;
        match self {
            Cell::Count(count) => access.each(record, &mut |_| {
                *count += 1;
                Ok(())
            }),
            Cell::Integer(scalar) => access.each(record, &mut |datum| scalar.take(Number::of(datum), rank)),
            Cell::Float(scalar) => access.each(record, &mut |datum| scalar.take(Number::of(datum), rank)),
            Cell::Large(large) => large.take(record, access, sender),
            Cell::Missing(_) => unreachable!("there is a field to take"),
        }
    }

    /// Takes nothing of a record that lacks the field.
    pub(super) fn miss(&mut self, why: &str) {
        if let Cell::Missing(known) = self {
            *known = why.into();
        }
    }

    /// Takes the first of these members' records at once, if that is faster; how many they were.
    pub(super) fn take_at_once(&mut self, parts: &[Part<'_>], access: &Access) -> usize {
        match (self, access) {
            (Cell::Large(Large::Floats(elements)), _) => large::add_at_once(elements, parts, access),
            (Cell::Large(Large::Exact(exact)), _) => large::add_exactly(exact, parts, access),
            (Cell::Count(count), Access::Place { ty: Type::Int { .. } | Type::Float { .. }, .. }) => {
                // Numbers in their places are always there.
                *count = count.saturating_add(parts.len() as u64);
                parts.len()
            }
            _ => 0,
        }
    }

    /// Merges the state at these places of a partial result.
    pub(super) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>, longest: usize) -> Result<(), Fault> {
        match self {
            Cell::Count(count) => {
                *count = count.saturating_add(from.u64(at.field(0)));
                Ok(())
            }
            Cell::Integer(scalar) => scalar.merge(from, at),
            Cell::Float(scalar) => scalar.merge(from, at),
            Cell::Large(large) => large.merge(from, at, longest),
            Cell::Missing(_) => unreachable!("there is a state to merge"),
        }
    }

    /// Writes the state, or the result, and is ready for the next wave.
    #[inline]
    pub(super) fn write(&mut self, out: &mut Writer<'_>, at: Places<'_>, what: What) {
        match self {
            Cell::Count(count) => {
                out.put(at.field(0), count.to_ne_bytes());
                *count = 0;
            }
            Cell::Integer(scalar) => {
                scalar.write(out.body(), at.ends(), what);
                scalar.clear();
            }
            Cell::Float(scalar) => {
                scalar.write(out.body(), at.ends(), what);
                scalar.clear();
            }
            Cell::Large(large) => {
                large.write(out, at, what);
                large.clear();
            }
            Cell::Missing(why) => out.bytes(at.field(0), why.as_bytes()),
        }
    }
}
