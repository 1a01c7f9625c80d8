//! One number in a fixed place: the shortest way from a record to a scalar.
//!
//! For each pair of operation and type in memory the compiler makes a function of its own; a step is a pointer to it
//! and the place. This is what most reductions of small records are.

use banyan_ndr::{ByteOrder, Format, Type};

use super::cell::Cell;
use super::cell::scalar::Number;
use super::column::Column;
use super::input::Access;
use super::value::Kind;
use super::{Fault, Function};

type Run = fn(&mut Cell, &[u8], u32) -> Result<(), Fault>;

/// A step for one function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fast {
    run: Run,
    at: usize,
}

impl Fast {
    /// The step, where there is one.
    pub(super) fn new(function: &Function, column: Column, access: &Access, format: &Format) -> Option<Fast> {
        let Access::Place { at, ty } = access else { return None };
        let order = format.order();
        let run = match (column, ty) {
            (Column { kind: Kind::Integer, many: false }, Type::Int { width, signed }) => {
                integer(function, *width, *signed, order)
            }
            (Column { kind: Kind::Float, many: false }, Type::Float { width }) => float(function, *width, order),
            _ => None,
        };
        Some(Fast { run: run?, at: *at })
    }

    /// Takes the number out of a body whose fixed part is there.
    #[inline]
    pub(super) fn run(&self, cell: &mut Cell, body: &[u8], rank: u32) -> Result<(), Fault> {
        (self.run)(cell, &body[self.at..], rank)
    }
}

/// A number in memory.
trait Load {
    type Number: InCell;
    fn load(bytes: &[u8]) -> Self::Number;
}

/// A number that scalar cells are made of.
trait InCell: Number {
    fn cell(cell: &mut Cell) -> &mut super::cell::scalar::Scalar<Self>;
}

impl InCell for i128 {
    #[inline]
    fn cell(cell: &mut Cell) -> &mut super::cell::scalar::Scalar<i128> {
        match cell {
            Cell::Integer(scalar) => scalar,
            _ => unreachable!("the column is of integers"),
        }
    }
}

impl InCell for f64 {
    #[inline]
    fn cell(cell: &mut Cell) -> &mut super::cell::scalar::Scalar<f64> {
        match cell {
            Cell::Float(scalar) => scalar,
            _ => unreachable!("the column is of floats"),
        }
    }
}

/// Types in memory: each is its Rust type and byte order.
macro_rules! loads {
    ($($name:ident: $rust:ty, $from:ident => $number:ty;)*) => { $(
        struct $name;

        impl Load for $name {
            type Number = $number;

            #[inline]
            fn load(bytes: &[u8]) -> $number {
                let (bytes, _) = bytes.split_first_chunk().expect("the fixed part is there");
                <$number>::from(<$rust>::$from(*bytes))
            }
        }
    )* };
}

loads! {
    I8: i8, from_ne_bytes => i128;
    U8: u8, from_ne_bytes => i128;
    I16Little: i16, from_le_bytes => i128;
    U16Little: u16, from_le_bytes => i128;
    I32Little: i32, from_le_bytes => i128;
    U32Little: u32, from_le_bytes => i128;
    I64Little: i64, from_le_bytes => i128;
    U64Little: u64, from_le_bytes => i128;
    I16Big: i16, from_be_bytes => i128;
    U16Big: u16, from_be_bytes => i128;
    I32Big: i32, from_be_bytes => i128;
    U32Big: u32, from_be_bytes => i128;
    I64Big: i64, from_be_bytes => i128;
    U64Big: u64, from_be_bytes => i128;
    F32Little: f32, from_le_bytes => f64;
    F64Little: f64, from_le_bytes => f64;
    F32Big: f32, from_be_bytes => f64;
    F64Big: f64, from_be_bytes => f64;
}

fn integer(function: &Function, width: u8, signed: bool, order: ByteOrder) -> Option<Run> {
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

fn float(function: &Function, width: u8, order: ByteOrder) -> Option<Run> {
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

fn operation<L: Load>(function: &Function) -> Option<Run> {
    Some(match function {
        Function::Sum(_) | Function::ExactSum(_) | Function::Average(_) => add::<L>,
        Function::Minimum(_) => compare::<L, false>,
        Function::Maximum(_) => compare::<L, true>,
        _ => return None,
    })
}

fn add<L: Load>(cell: &mut Cell, bytes: &[u8], _: u32) -> Result<(), Fault> {
    L::Number::cell(cell).add(L::load(bytes), 1)
}

fn compare<L: Load, const LARGEST: bool>(cell: &mut Cell, bytes: &[u8], rank: u32) -> Result<(), Fault> {
    L::Number::cell(cell).compare::<LARGEST>(L::load(bytes), rank)
}
