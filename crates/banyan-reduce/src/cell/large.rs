//! Cells of more than a number: arrays, lists, sets, sketches.
//!
//! What is done with them takes long enough for a call; in line it would make the loops over scalars slow.

use banyan_ndr::{ByteOrder, RecordView, Type};

use super::super::body::{Reader, Writer, align};
use super::super::groups::What;
use super::super::input::{Access, RunAccess};
use super::super::layout::Places;
use super::super::value::Kind;
use super::super::{Fault, Part};
use super::Sender;
use super::elements::{Element, Elements};
use super::exact::Exact;
use super::exact_elements::ExactElements;
use super::histogram::Histogram;
use super::hyperloglog::HyperLogLog;
use super::sequence::{Concatenation, First};
use super::sets::{Classes, Union};
use super::sketch::Sketch;
use super::top::Top;

/// The state of a function that keeps more than a number.
#[derive(Debug, Clone)]
pub(crate) enum Large {
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

impl Large {
    /// Ready for the next wave; keeps memory where that is worth it.
    #[inline(never)]
    pub(super) fn clear(&mut self) {
        match self {
            Large::Exact(exact) => **exact = Exact::new(),
            Large::Integers(elements) => elements.clear(),
            Large::Floats(elements) => elements.clear(),
            Large::Exacts(elements) => elements.clear(),
            Large::First(first) => first.clear(),
            Large::Concatenation(all) => all.clear(),
            Large::Top(top) => top.clear(),
            Large::Histogram(histogram) => histogram.clear(),
            Large::Sketch(sketch, _) => sketch.clear(),
            Large::Distinct(distinct) => distinct.clear(),
            Large::Classes(classes) => classes.clear(),
            Large::Union(union) => union.clear(),
        }
    }

    /// Takes the values of a member's record that a path leads to.
    pub(super) fn take(&mut self, record: RecordView<'_>, access: &Access, sender: Sender) -> Result<(), Fault> {
        let Sender { rank, longest } = sender;
        match self {
            Large::Exact(exact) => access.each(record, &mut |datum| {
                exact.add(datum.float());
                Ok(())
            }),
            Large::Integers(elements) => take_array(elements, record, access, rank),
            Large::Floats(elements) => take_array(elements, record, access, rank),
            Large::Exacts(elements) => match gathered::<f64>(record, access)? {
                Some(numbers) => elements.take(numbers.into_iter()),
                None => Ok(()),
            },
            Large::First(first) => first.take(record, access, sender),
            Large::Concatenation(all) => access.each(record, &mut |datum| all.take(datum, rank, longest)),
            Large::Top(top) => access.each(record, &mut |datum| {
                top.take(datum, rank);
                Ok(())
            }),
            Large::Histogram(histogram) => access.each(record, &mut |datum| {
                histogram.take(datum.float());
                Ok(())
            }),
            Large::Sketch(sketch, _) => access.each(record, &mut |datum| {
                sketch.take(datum.float());
                Ok(())
            }),
            Large::Distinct(distinct) => access.each(record, &mut |datum| {
                distinct.scratch.clear();
                datum.value(longest)?.canonical().digest(&mut distinct.scratch);
                distinct.take_scratch();
                Ok(())
            }),
            Large::Classes(classes) => access.each(record, &mut |datum| classes.take(datum, rank, longest)),
            Large::Union(union) => access.each(record, &mut |datum| union.take(datum, longest)),
        }
    }

    /// Merges the state at these places of a partial result.
    pub(super) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>, longest: usize) -> Result<(), Fault> {
        match self {
            Large::Exact(exact) => exact.merge_from(from, at.field(0), at.field(1)),
            Large::Integers(elements) => elements.merge(from, at),
            Large::Floats(elements) => elements.merge(from, at),
            Large::Exacts(elements) => elements.merge(from, at),
            Large::First(first) => first.merge(from, at, longest),
            Large::Concatenation(all) => all.merge(from, at, longest),
            Large::Top(top) => top.merge(from, at),
            Large::Histogram(histogram) => {
                histogram.merge(from, at);
                Ok(())
            }
            Large::Sketch(sketch, _) => sketch.merge(from, at),
            Large::Distinct(distinct) => distinct.merge(from, at),
            Large::Classes(classes) => classes.merge(from, at, longest),
            Large::Union(union) => union.merge(from, at, longest),
        }
    }

    /// Writes the state, or the result.
    #[inline(never)]
    pub(super) fn write(&mut self, out: &mut Writer<'_>, at: Places<'_>, what: What) {
        match what {
            What::Partial => self.partial(out, at),
            What::Result => self.result(out, at),
        }
    }

    fn partial(&mut self, out: &mut Writer<'_>, at: Places<'_>) {
        match self {
            Large::Exact(exact) => exact.write(out, at.field(0), at.field(1)),
            Large::Integers(elements) => elements.partial(out, at),
            Large::Floats(elements) => elements.partial(out, at),
            Large::Exacts(elements) => elements.partial(out, at),
            Large::First(first) => first.write(out, at),
            Large::Concatenation(all) => {
                all.settle();
                all.write(out, at);
            }
            Large::Top(top) => top.write(out, at),
            Large::Histogram(histogram) => histogram.write(out, at),
            Large::Sketch(sketch, _) => sketch.partial(out, at),
            Large::Distinct(distinct) => distinct.partial(out, at),
            Large::Classes(classes) => classes.partial(out, at),
            Large::Union(union) => union.write(out, at),
        }
    }

    fn result(&mut self, out: &mut Writer<'_>, at: Places<'_>) {
        match self {
            Large::Exact(exact) => out.put(at.field(0), exact.value().to_ne_bytes()),
            Large::Integers(elements) => elements.result(out, at),
            Large::Floats(elements) => elements.result(out, at),
            Large::Exacts(elements) => elements.result(out, at),
            Large::Sketch(sketch, shares) => {
                for (field, share) in shares.iter().enumerate() {
                    if let Some(value) = sketch.quantile(*share) {
                        let place = out.present(at.field(field), align(Kind::Float));
                        out.put(place, value.to_ne_bytes());
                    }
                }
            }
            Large::Distinct(distinct) => distinct.result(out, at),
            Large::Classes(classes) => classes.result(out, at),
            same => same.partial(out, at),
        }
    }
}

/// Adds this machine's own floats, one of each of these parts; how many they were.
pub(super) fn add_exactly(exact: &mut Exact, parts: &[Part<'_>], access: &Access) -> usize {
    let (Access::Place { at, ty: Type::Float { width: 8 } }, Some(first)) = (access, parts.first()) else { return 0 };
    if first.format.order() != ByteOrder::NATIVE {
        return 0;
    }
    for part in parts {
        let bytes = part.body[*at..].first_chunk().expect("as many bytes as a float has");
        exact.add(f64::from_ne_bytes(*bytes));
    }
    parts.len()
}

/// Arrays that are added at once, at most.
const AT_ONCE: usize = 16;

/// Adds long arrays of this machine's own numbers, the first of these parts, at once; how many they were.
pub(super) fn add_at_once(elements: &mut Elements<f64>, parts: &[Part<'_>], access: &Access) -> usize {
    let (Access::Run(access), Some(first)) = (access, parts.first()) else { return 0 };
    let Some(length) = own_numbers(first, access).map(<[_]>::len) else { return 0 };
    if !elements.suits_pieces(length) {
        return 0;
    }
    let mut arrays: [&[[u8; 8]]; AT_ONCE] = [&[]; AT_ONCE];
    let found = parts.iter().map_while(|part| own_numbers(part, access)).take_while(|array| array.len() == length);
    let count = arrays.iter_mut().zip(found).map(|(array, found)| *array = found).count();
    elements.add_in_pieces(&arrays[..count]);
    count
}

/// The numbers of a member's array, if they lie side by side as they do on this machine.
fn own_numbers<'a>(part: &Part<'a>, access: &'a RunAccess) -> Option<&'a [[u8; 8]]> {
    let run = access.run(RecordView::new(part.format, part.body).ok()?).ok()?;
    let is_own = run.order == ByteOrder::NATIVE && matches!(run.ty, Type::Float { width: 8 });
    Some(run.contiguous().filter(|_| is_own)?.as_chunks::<8>().0)
}

/// Bytes of arrays in the other byte order that are reversed before they are looked at, at most. The caches of processors
/// hold longer ones no more.
const MOST_REVERSED: usize = 256 << 10;

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
            Some(bytes) if run.is_reversed() && bytes.len() <= MOST_REVERSED => {
                // Vectors reverse faster than the compiler's loops over numbers, and what they made is still in the cache.
                let mut native = std::mem::take(&mut elements.scratch);
                native.resize(bytes.len(), 0);
                run.reverse(bytes, &mut native);
                let taken = elements.take_bytes(run.ty, ByteOrder::NATIVE, &native, rank);
                elements.scratch = native;
                taken
            }
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
