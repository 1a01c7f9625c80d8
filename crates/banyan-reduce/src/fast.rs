//! One number in a fixed place: the shortest way from a record to a scalar.
//!
//! For each pair of operation and type in memory the compiler makes a function of its own; a step is a pointer to it
//! and the place. It runs over all records of a wave that have the same format, so that one call serves them all. This
//! is what most reductions of small records are.

use std::hint::cold_path;
use std::ops::AddAssign;

use banyan_ndr::{ByteOrder, Format, Type};

use super::cell::Cell;
use super::cell::scalar::{Number, Operation, Scalar, overflow};
use super::column::Column;
use super::groups::What;
use super::input::Access;
use super::strip::{Rows, Strip};
use super::value::Kind;
use super::whole::{WholeRun, WholeStep};
use super::{Fault, Function, Part};

/// Takes the number at a place of each record; fails with the position of the record.
type TakeNumbers = fn(&mut Cell, &[Part<'_>], usize) -> Result<(), (usize, Fault)>;

/// Takes the number at a place of each row of a member, one a wave; none if a sum is too large.
type StripRun = fn(&mut Strip, Rows<'_>, usize, u32) -> Option<()>;

/// A step for one function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fast {
    runs: Runs,
    at: usize,
}

/// The same for some members of a wave, for the waves of a member, and for all members of a wave.
#[derive(Debug, Clone, Copy)]
struct Runs {
    members: TakeNumbers,
    waves: StripRun,
    whole: WholeRun,
}

impl Fast {
    /// The step, where there is one.
    pub(super) fn new(function: &Function, column: Column, access: &Access, format: &Format) -> Option<Fast> {
        let Access::Place { at, ty } = access else { return None };
        let order = format.order();
        let runs = match (column, ty) {
            (Column { kind: Kind::Integer, many: false }, Type::Int { width, signed }) => {
                integer(function, *width, *signed, order)
            }
            (Column { kind: Kind::Float, many: false }, Type::Float { width }) => float(function, *width, order),
            _ => None,
        };
        Some(Fast { runs: runs?, at: *at })
    }

    /// Takes the number out of each record; the fixed parts of all bodies are there.
    #[inline]
    pub(super) fn run(&self, cell: &mut Cell, parts: &[Part<'_>]) -> Result<(), (usize, Fault)> {
        (self.runs.members)(cell, parts, self.at)
    }

    /// Takes the number out of each row of a member; none where a single wave has to tell what is wrong.
    pub(super) fn run_waves(&self, strip: &mut Strip, rows: Rows<'_>, rank: u32) -> Option<()> {
        (self.runs.waves)(strip, rows, self.at, rank)
    }

    /// Takes the number out of all records of a wave.
    pub(super) fn whole(&self) -> WholeRun {
        self.runs.whole
    }

    /// Where the number lies in a record.
    pub(super) fn place(&self) -> usize {
        self.at
    }
}

/// A number in memory. Extremes are found among numbers as they are there, which is quicker than among wide ones.
trait Load {
    type Memory: Copy + PartialOrd + Into<Self::Number>;
    /// Holds the sum of as many of them as there are ranks.
    type Sum: From<Self::Memory> + Into<Self::Number> + AddAssign + Default;
    type Number: InCell;
    const BYTES: usize;
    /// The number that these bytes are.
    fn load(bytes: &[u8]) -> Self::Memory;
}

/// A number that scalar cells are made of.
trait InCell: Number {
    fn cell(cell: &mut Cell) -> &mut Scalar<Self>;
    fn strip(strip: &mut Strip) -> Option<&mut [Scalar<Self>]>;
    /// The sum with numbers of which no rank has more than one; none if it is too large. Floats are added one by one.
    fn plus_all<L: Load<Number = Self>>(self, parts: &[Part<'_>], at: usize) -> Option<Self>;
}

impl InCell for i128 {
    #[inline]
    fn cell(cell: &mut Cell) -> &mut Scalar<i128> {
        match cell {
            Cell::Integer(scalar) => scalar,
            _ => unreachable!("the column is of integers"),
        }
    }

    fn strip(strip: &mut Strip) -> Option<&mut [Scalar<i128>]> {
        match strip {
            Strip::Integer(scalars) => Some(scalars.waves()),
            _ => None,
        }
    }

    #[inline(always)]
    fn plus_all<L: Load<Number = i128>>(self, parts: &[Part<'_>], at: usize) -> Option<i128> {
        let (end, mut sum) = (at + L::BYTES, L::Sum::default());
        each(parts, |part| sum += L::Sum::from(L::load(&part.body[at..end])));
        self.checked_add(sum.into())
    }
}

impl InCell for f64 {
    #[inline]
    fn cell(cell: &mut Cell) -> &mut Scalar<f64> {
        match cell {
            Cell::Float(scalar) => scalar,
            _ => unreachable!("the column is of floats"),
        }
    }

    fn strip(strip: &mut Strip) -> Option<&mut [Scalar<f64>]> {
        match strip {
            Strip::Float(scalars) => Some(scalars.waves()),
            _ => None,
        }
    }

    #[inline(always)]
    fn plus_all<L: Load<Number = f64>>(self, parts: &[Part<'_>], at: usize) -> Option<f64> {
        let (end, mut sum) = (at + L::BYTES, self);
        each(parts, |part| sum += L::load(&part.body[at..end]).into());
        Some(sum)
    }
}

/// Types in memory: each is its Rust type and byte order, with what its sum and its cell are made of.
macro_rules! loads {
    ($($name:ident: $rust:ty, $from:ident => $sum:ty => $number:ty;)*) => { $(
        struct $name;

        impl Load for $name {
            type Memory = $rust;
            type Sum = $sum;
            type Number = $number;
            const BYTES: usize = size_of::<$rust>();

            #[inline]
            fn load(bytes: &[u8]) -> $rust {
                <$rust>::$from(*bytes.first_chunk().expect("as many bytes as it has"))
            }
        }
    )* };
}

loads! {
    I8: i8, from_ne_bytes => i64 => i128;
    U8: u8, from_ne_bytes => u64 => i128;
    I16Little: i16, from_le_bytes => i64 => i128;
    U16Little: u16, from_le_bytes => u64 => i128;
    I32Little: i32, from_le_bytes => i64 => i128;
    U32Little: u32, from_le_bytes => u64 => i128;
    I64Little: i64, from_le_bytes => i128 => i128;
    U64Little: u64, from_le_bytes => i128 => i128;
    I16Big: i16, from_be_bytes => i64 => i128;
    U16Big: u16, from_be_bytes => u64 => i128;
    I32Big: i32, from_be_bytes => i64 => i128;
    U32Big: u32, from_be_bytes => u64 => i128;
    I64Big: i64, from_be_bytes => i128 => i128;
    U64Big: u64, from_be_bytes => i128 => i128;
    F32Little: f32, from_le_bytes => f64 => f64;
    F64Little: f64, from_le_bytes => f64 => f64;
    F32Big: f32, from_be_bytes => f64 => f64;
    F64Big: f64, from_be_bytes => f64 => f64;
}

fn integer(function: &Function, width: u8, signed: bool, order: ByteOrder) -> Option<Runs> {
    use ByteOrder::{Big, Little};
    match (width, signed, order) {
        (1, true, _) => operation::<I8>(function),
        (1, false, _) => operation::<U8>(function),
        (2, true, Little) => operation::<I16Little>(function),
        (2, false, Little) => operation::<U16Little>(function),
        (4, true, Little) => operation::<I32Little>(function),
        (4, false, Little) => operation::<U32Little>(function),
        (8, true, Little) => operation::<I64Little>(function),
        (8, false, Little) => operation::<U64Little>(function),
        (2, true, Big) => operation::<I16Big>(function),
        (2, false, Big) => operation::<U16Big>(function),
        (4, true, Big) => operation::<I32Big>(function),
        (4, false, Big) => operation::<U32Big>(function),
        (8, true, Big) => operation::<I64Big>(function),
        (8, false, Big) => operation::<U64Big>(function),
        _ => None,
    }
}

fn float(function: &Function, width: u8, order: ByteOrder) -> Option<Runs> {
    use ByteOrder::{Big, Little};
    match (width, order) {
        // The state of an exact sum of floats is no scalar.
        _ if matches!(function, Function::ExactSum(_)) => None,
        (4, Little) => operation::<F32Little>(function),
        (4, Big) => operation::<F32Big>(function),
        (8, Little) => operation::<F64Little>(function),
        (8, Big) => operation::<F64Big>(function),
        _ => None,
    }
}

fn operation<L: Load>(function: &Function) -> Option<Runs> {
    Some(match function {
        Function::Sum(_) | Function::ExactSum(_) => {
            Runs { members: add::<L>, waves: add_waves::<L>, whole: add_whole::<L, false> }
        }
        Function::Average(_) => Runs { members: add::<L>, waves: add_waves::<L>, whole: add_whole::<L, true> },
        Function::Minimum(_) => extreme::<L, false>(),
        Function::Maximum(_) => extreme::<L, true>(),
        _ => return None,
    })
}

fn extreme<L: Load, const LARGEST: bool>() -> Runs {
    Runs { members: compare::<L, LARGEST>, waves: compare_waves::<L, LARGEST>, whole: compare_whole::<L, LARGEST> }
}

fn add_waves<L: Load>(strip: &mut Strip, rows: Rows<'_>, at: usize, _: u32) -> Option<()> {
    let end = at + L::BYTES;
    for (scalar, row) in L::Number::strip(strip)?.iter_mut().zip(rows.iter()) {
        let sum = scalar.value().plus(L::load(&row[at..end]).into())?;
        scalar.set_sum(sum, 1);
    }
    Some(())
}

fn compare_waves<L: Load, const LARGEST: bool>(strip: &mut Strip, rows: Rows<'_>, at: usize, rank: u32) -> Option<()> {
    let end = at + L::BYTES;
    for (scalar, row) in L::Number::strip(strip)?.iter_mut().zip(rows.iter()) {
        scalar.compare::<LARGEST>(L::load(&row[at..end]).into(), rank);
    }
    Some(())
}

/// Parts that are taken without a jump between them.
const BLOCK: usize = 4;

/// Looks at all parts in order. The end of a loop over a few is hard to foresee, and a wrong guess costs as much as
/// several of them: in blocks there is less of it.
#[inline(always)]
fn each<'p, 'a>(parts: &'p [Part<'a>], mut look: impl FnMut(&'p Part<'a>)) {
    let (blocks, rest) = parts.as_chunks::<BLOCK>();
    for block in blocks {
        for part in block {
            look(part);
        }
    }
    for part in rest {
        look(part);
    }
}

fn add<L: Load>(cell: &mut Cell, parts: &[Part<'_>], at: usize) -> Result<(), (usize, Fault)> {
    let scalar = L::Number::cell(cell);
    let Some(sum) = scalar.value().plus_all::<L>(parts, at) else {
        let end = at + L::BYTES;
        return Err((overflowing(scalar.value(), parts.iter().map(|part| L::load(&part.body[at..end]))), overflow()));
    };
    scalar.set_sum(sum, parts.len() as u64);
    Ok(())
}

fn add_whole<L: Load, const AVERAGE: bool>(parts: &[Part<'_>], step: &WholeStep, body: &mut [u8], what: What) {
    let mut scalar = Scalar::new(if AVERAGE { Operation::Average } else { Operation::Sum });
    let sum = L::Number::ZERO.plus_all::<L>(parts, step.place());
    scalar.set_sum(sum.expect("a number of at most eight bytes for each rank"), parts.len() as u64);
    scalar.write(body, step.fields(), what);
}

/// Which number makes a sum too large.
#[cold]
fn overflowing<N: Number>(mut sum: N, numbers: impl Iterator<Item = impl Into<N>>) -> usize {
    let is_too_large = |number: N| sum.plus(number).map(|next| sum = next).is_none();
    numbers.map(Into::into).position(is_too_large).unwrap_or_default()
}

fn compare<L: Load, const LARGEST: bool>(cell: &mut Cell, parts: &[Part<'_>], at: usize) -> Result<(), (usize, Fault)> {
    if let Some((best, who)) = best::<L, LARGEST>(parts, at) {
        L::Number::cell(cell).compare::<LARGEST>(best.into(), who);
    }
    Ok(())
}

fn compare_whole<L: Load, const LARGEST: bool>(parts: &[Part<'_>], step: &WholeStep, body: &mut [u8], what: What) {
    let mut scalar = Scalar::new(if LARGEST { Operation::Maximum } else { Operation::Minimum });
    if let Some((best, who)) = best::<L, LARGEST>(parts, step.place()) {
        scalar.compare::<LARGEST>(best.into(), who);
    }
    scalar.write(body, step.fields(), what);
}

/// The extreme, and whose it is. Of equal values within the parts the first is the one of the lowest rank.
#[inline(always)]
fn best<L: Load, const LARGEST: bool>(parts: &[Part<'_>], at: usize) -> Option<(L::Memory, u32)> {
    let end = at + L::BYTES;
    let value = |part: &Part<'_>| L::load(&part.body[at..end]);
    let is_ordered = |part: &&Part<'_>| L::Number::is_ordered(value(part).into());
    let mut whose = parts.iter().find(is_ordered)?;
    let mut best = value(whose);
    each(parts, |part| {
        let value = value(part);
        let is_beyond = if LARGEST { value > best } else { value < best };
        if is_beyond {
            // Of many values few are beyond all before. A guess is quicker than to wait for each comparison.
            cold_path();
            (best, whose) = (value, part);
        }
    });
    Some((best, whose.members.first().unwrap_or(u32::MAX)))
}
