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
pub(super) mod scalar;
mod sequence;
mod sets;
mod sketch;
#[cfg(test)]
mod tests;
mod top;

use banyan_ndr::RecordView;
use elements::{Element, Elements};
use exact::Exact;
use exact_elements::ExactElements;
use histogram::Histogram;
use hyperloglog::HyperLogLog;
use scalar::{Number, Operation, Scalar};
use sequence::{Concatenation, First};
use sets::{Classes, Union};
use sketch::Sketch;
use top::Top;

use super::body::{Reader, Writer, align};
use super::column::Column;
use super::input::Access;
use super::value::Kind;
use super::{Fault, Function, ReductionLimits};

/// The state of a function.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    Count(u64),
    Integer(Scalar<i128>),
    Float(Scalar<f64>),
    Exact(Box<Exact>),
    Integers(Elements<i64>),
    Floats(Elements<f64>),
    Exacts(ExactElements),
    First(First),
    Concatenation(Concatenation),
    Top(Top),
    Histogram(Histogram),
    Sketch(Box<Sketch>, Box<[f64]>),
    Distinct(HyperLogLog),
    Classes(Classes),
    Union(Union),
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
        let numbers = |operation| match (kind, many) {
            (Kind::Integer, false) => Cell::Integer(Scalar::new(operation)),
            (Kind::Integer, true) => Cell::Integers(Elements::new(operation, limits.elements)),
            (_, false) => Cell::Float(Scalar::new(operation)),
            (_, true) => Cell::Floats(Elements::new(operation, limits.elements)),
        };
        match function {
            Function::Count(_) => Cell::Count(0),
            Function::ExactSum(_) if kind == Kind::Float && many => Cell::Exacts(ExactElements::new(limits.elements)),
            Function::ExactSum(_) if kind == Kind::Float => Cell::Exact(Box::new(Exact::new())),
            Function::Sum(_) | Function::ExactSum(_) => numbers(Operation::Sum),
            Function::Average(_) => numbers(Operation::Average),
            Function::Minimum(_) => numbers(Operation::Minimum),
            Function::Maximum(_) => numbers(Operation::Maximum),
            Function::First(_) => Cell::First(First::new(kind, many, limits.items)),
            Function::Concatenate(_) => Cell::Concatenation(Concatenation::new(kind, limits.items)),
            Function::Top { count, .. } => Cell::Top(Top::new(kind, *count as usize)),
            Function::Histogram { low, high, bins, .. } => Cell::Histogram(Histogram::new(*low, *high, *bins)),
            Function::Quantile { shares, .. } => Cell::Sketch(Box::new(Sketch::new()), shares.as_slice().into()),
            Function::Distinct(_) => Cell::Distinct(HyperLogLog::new()),
            Function::Classes(_) => Cell::Classes(Classes::new(kind, limits.items)),
            Function::Union(_) => Cell::Union(Union::new(kind, limits.items)),
        }
    }

    /// Bytes that an empty cell takes, about: what a new group costs at once.
    pub(super) fn base_bytes(&self) -> usize {
        size_of::<Cell>()
            + match self {
                Cell::Exact(_) => size_of::<Exact>(),
                Cell::Histogram(histogram) => histogram.bytes(),
                Cell::Distinct(_) => HyperLogLog::BYTES,
                Cell::Sketch(..) => size_of::<Sketch>(),
                _ => 0,
            }
    }

    /// Ready for the next wave; keeps memory where that is worth it.
    pub(super) fn clear(&mut self) {
        match self {
            Cell::Count(count) => *count = 0,
            Cell::Integer(scalar) => scalar.clear(),
            Cell::Float(scalar) => scalar.clear(),
            Cell::Exact(exact) => **exact = Exact::new(),
            Cell::Integers(elements) => elements.clear(),
            Cell::Floats(elements) => elements.clear(),
            Cell::Exacts(elements) => elements.clear(),
            Cell::First(first) => first.clear(),
            Cell::Concatenation(all) => all.clear(),
            Cell::Top(top) => top.clear(),
            Cell::Histogram(histogram) => histogram.clear(),
            Cell::Sketch(sketch, _) => sketch.clear(),
            Cell::Distinct(distinct) => distinct.clear(),
            Cell::Classes(classes) => classes.clear(),
            Cell::Union(union) => union.clear(),
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
        let Sender { rank, longest } = sender;
        match self {
            Cell::Count(count) => access.each(record, &mut |_| {
                *count += 1;
                Ok(())
            }),
            Cell::Integer(scalar) => access.each(record, &mut |datum| scalar.take(Number::of(datum), rank)),
            Cell::Float(scalar) => access.each(record, &mut |datum| scalar.take(Number::of(datum), rank)),
            Cell::Exact(exact) => access.each(record, &mut |datum| {
                exact.add(datum.float());
                Ok(())
            }),
            Cell::Integers(elements) => take_array(elements, record, access, rank),
            Cell::Floats(elements) => take_array(elements, record, access, rank),
            Cell::Exacts(elements) => match gathered::<f64>(record, access)? {
                Some(numbers) => elements.take(numbers.into_iter()),
                None => Ok(()),
            },
            Cell::First(first) => first.take(record, access, sender),
            Cell::Concatenation(all) => access.each(record, &mut |datum| all.take(datum, rank, longest)),
            Cell::Top(top) => access.each(record, &mut |datum| {
                top.take(datum, rank);
                Ok(())
            }),
            Cell::Histogram(histogram) => access.each(record, &mut |datum| {
                histogram.take(datum.float());
                Ok(())
            }),
            Cell::Sketch(sketch, _) => access.each(record, &mut |datum| {
                sketch.take(datum.float());
                Ok(())
            }),
            Cell::Distinct(distinct) => access.each(record, &mut |datum| {
                distinct.scratch.clear();
                datum.value(longest)?.canonical().digest(&mut distinct.scratch);
                distinct.take_scratch();
                Ok(())
            }),
            Cell::Classes(classes) => access.each(record, &mut |datum| classes.take(datum, rank, longest)),
            Cell::Union(union) => access.each(record, &mut |datum| union.take(datum, longest)),
        }
    }

    /// Merges the state at these places of a partial result.
    pub(super) fn merge(&mut self, from: &Reader<'_>, at: &[usize], longest: usize) -> Result<(), Fault> {
        match self {
            Cell::Count(count) => {
                *count = count.saturating_add(from.u64(at[0]));
                Ok(())
            }
            Cell::Integer(scalar) => scalar.merge(from, at),
            Cell::Float(scalar) => scalar.merge(from, at),
            Cell::Exact(exact) => exact.merge_from(from, at[0], at[1]),
            Cell::Integers(elements) => elements.merge(from, at),
            Cell::Floats(elements) => elements.merge(from, at),
            Cell::Exacts(elements) => elements.merge(from, at),
            Cell::First(first) => first.merge(from, at, longest),
            Cell::Concatenation(all) => all.merge(from, at, longest),
            Cell::Top(top) => top.merge(from, at),
            Cell::Histogram(histogram) => {
                histogram.merge(from, at);
                Ok(())
            }
            Cell::Sketch(sketch, _) => sketch.merge(from, at),
            Cell::Distinct(distinct) => distinct.merge(from, at),
            Cell::Classes(classes) => classes.merge(from, at, longest),
            Cell::Union(union) => union.merge(from, at, longest),
        }
    }

    /// Writes the state.
    pub(super) fn partial(&mut self, out: &mut Writer<'_>, at: &[usize]) {
        match self {
            Cell::Count(count) => out.put(at[0], count.to_ne_bytes()),
            Cell::Integer(scalar) => scalar.partial(out, at),
            Cell::Float(scalar) => scalar.partial(out, at),
            Cell::Exact(exact) => exact.write(out, at[0], at[1]),
            Cell::Integers(elements) => elements.partial(out, at),
            Cell::Floats(elements) => elements.partial(out, at),
            Cell::Exacts(elements) => elements.partial(out, at),
            Cell::First(first) => first.write(out, at),
            Cell::Concatenation(all) => {
                all.settle();
                all.write(out, at);
            }
            Cell::Top(top) => top.write(out, at),
            Cell::Histogram(histogram) => histogram.write(out, at),
            Cell::Sketch(sketch, _) => sketch.partial(out, at),
            Cell::Distinct(distinct) => distinct.partial(out, at),
            Cell::Classes(classes) => classes.partial(out, at),
            Cell::Union(union) => union.write(out, at),
        }
    }

    /// Writes the result.
    pub(super) fn result(&mut self, out: &mut Writer<'_>, at: &[usize]) {
        match self {
            Cell::Integer(scalar) => scalar.result(out, at),
            Cell::Float(scalar) => scalar.result(out, at),
            Cell::Exact(exact) => out.put(at[0], exact.value().to_ne_bytes()),
            Cell::Integers(elements) => elements.result(out, at),
            Cell::Floats(elements) => elements.result(out, at),
            Cell::Exacts(elements) => elements.result(out, at),
            Cell::Sketch(sketch, shares) => {
                for (share, at) in shares.iter().zip(at) {
                    if let Some(value) = sketch.quantile(*share) {
                        let place = out.present(*at, align(Kind::Float));
                        out.put(place, value.to_ne_bytes());
                    }
                }
            }
            Cell::Distinct(distinct) => distinct.result(out, at),
            Cell::Classes(classes) => classes.result(out, at),
            same => same.partial(out, at),
        }
    }
}

/// Takes an array of a member: straight from its bytes where they lie side by side, one by one otherwise.
fn take_array<E: Element>(
    elements: &mut Elements<E>,
    record: RecordView<'_>,
    access: &Access,
    rank: u32,
) -> Result<(), Fault> {
    if let Access::Run(run) = access {
        let run = run.run(record)?;
        let taken = match run.contiguous() {
            Some(bytes) => elements.take_bytes(run.ty, run.order, bytes, rank),
            None => {
                let mut bytes = std::mem::take(&mut elements.scratch);
                run.gather(&mut bytes);
                let taken = elements.take_bytes(run.ty, run.order, &bytes, rank);
                elements.scratch = bytes;
                taken
            }
        };
        if let Some(result) = taken {
            return result;
        }
    }
    match gathered(record, access)? {
        Some(numbers) => elements.take(numbers.into_iter(), rank),
        None => Ok(()),
    }
}

/// All numbers of an array; none where the array is absent.
fn gathered<E: Element>(record: RecordView<'_>, access: &Access) -> Result<Option<Vec<E>>, Fault> {
    if !access.is_present(record)? {
        return Ok(None);
    }
    let mut numbers = Vec::new();
    access.each(record, &mut |datum| {
        numbers.push(E::of(datum)?);
        Ok(())
    })?;
    Ok(Some(numbers))
}
