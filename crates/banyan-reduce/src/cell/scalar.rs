//! One number of all: a sum, an average, the smallest or the largest.

use super::super::Fault;
use super::super::body::{Reader, align, present, put};
use super::super::groups::What;
use super::super::layout::Places;
use super::super::value::{Datum, Kind};

/// What is done with numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Sum,
    Average,
    Minimum,
    Maximum,
}

/// A number that sums and extremes are made of: `i128` or `f64`.
pub(crate) trait Number: Copy + PartialOrd {
    const KIND: Kind;
    const ZERO: Self;
    fn of(datum: Datum<'_>) -> Self;
    /// The sum, unless it overflows.
    fn plus(self, other: Self) -> Option<Self>;
    /// False for NaN, which is no candidate for an extreme.
    fn is_ordered(self) -> bool;
    fn to_float(self) -> f64;
    fn read(from: &Reader<'_>, at: usize) -> Self;
    fn write(self, body: &mut [u8], at: usize);
}

impl Number for i128 {
    const KIND: Kind = Kind::Integer;
    const ZERO: i128 = 0;

    #[inline]
    fn of(datum: Datum<'_>) -> i128 {
        datum.integer()
    }

    #[inline]
    fn plus(self, other: i128) -> Option<i128> {
        self.checked_add(other)
    }

    #[inline]
    fn is_ordered(self) -> bool {
        true
    }

    fn to_float(self) -> f64 {
        self as f64
    }

    #[inline]
    fn read(from: &Reader<'_>, at: usize) -> i128 {
        i128::from_ne_bytes(from.fixed(at))
    }

    #[inline]
    fn write(self, body: &mut [u8], at: usize) {
        put(body, at, self.to_ne_bytes());
    }
}

impl Number for f64 {
    const KIND: Kind = Kind::Float;
    // Adding -0 changes no float, not even -0.
    const ZERO: f64 = -0.0;

    #[inline]
    fn of(datum: Datum<'_>) -> f64 {
        datum.float()
    }

    #[inline]
    fn plus(self, other: f64) -> Option<f64> {
        Some(self + other)
    }

    #[inline]
    fn is_ordered(self) -> bool {
        !self.is_nan()
    }

    fn to_float(self) -> f64 {
        self
    }

    #[inline]
    fn read(from: &Reader<'_>, at: usize) -> f64 {
        f64::from_ne_bytes(from.fixed(at))
    }

    #[inline]
    fn write(self, body: &mut [u8], at: usize) {
        put(body, at, self.to_ne_bytes());
    }
}

/// The state of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scalar<N> {
    operation: Operation,
    value: N,
    /// Values so far.
    count: u64,
    /// Whose value an extreme is: the lowest rank of those that have it.
    who: u32,
}

impl<N: Number> Scalar<N> {
    pub(crate) fn new(operation: Operation) -> Scalar<N> {
        Scalar { operation, value: N::ZERO, count: 0, who: 0 }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        *self = Scalar::new(self.operation);
    }

    pub(crate) fn take(&mut self, value: N, rank: u32) -> Result<(), Fault> {
        match self.operation {
            Operation::Sum | Operation::Average => self.add(value, 1),
            Operation::Minimum => {
                self.compare::<false>(value, rank);
                Ok(())
            }
            Operation::Maximum => {
                self.compare::<true>(value, rank);
                Ok(())
            }
        }
    }

    fn add(&mut self, value: N, count: u64) -> Result<(), Fault> {
        let sum = self.value.plus(value).ok_or_else(overflow)?;
        self.set_sum(sum, count);
        Ok(())
    }

    /// Takes a value for an extreme.
    #[inline]
    pub(crate) fn compare<const LARGEST: bool>(&mut self, value: N, rank: u32) {
        let beyond = if LARGEST { value > self.value } else { value < self.value };
        let better = match self.count {
            0 => value.is_ordered(),
            _ => beyond || value == self.value && rank < self.who,
        };
        if better {
            (self.value, self.who, self.count) = (value, rank, 1);
        }
    }

    /// The sum so far.
    #[inline]
    pub(crate) fn value(&self) -> N {
        self.value
    }

    /// The sum with `count` values more.
    #[inline]
    pub(crate) fn set_sum(&mut self, sum: N, count: u64) {
        self.value = sum;
        self.count = self.count.saturating_add(count);
    }

    /// Places: value and count, or optional value and who.
    pub(crate) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>) -> Result<(), Fault> {
        match self.operation {
            Operation::Sum => self.add(N::read(from, at.field(0)), 1),
            Operation::Average => self.add(N::read(from, at.field(0)), from.u64(at.field(1))),
            Operation::Minimum | Operation::Maximum if from.flag(at.field(0))? => {
                let value = N::read(from, at.field(0) + align(N::KIND));
                if !value.is_ordered() {
                    return Err(Fault::partial("NaN is no extreme"));
                }
                self.take(value, from.rank(at.field(1))?)
            }
            Operation::Minimum | Operation::Maximum => Ok(()),
        }
    }

    /// Writes the state, or the result. In line: calls would double what writing a number costs.
    #[inline(always)]
    pub(crate) fn write(&self, body: &mut [u8], [first, second]: [usize; 2], what: What) {
        match self.operation {
            Operation::Sum | Operation::Average if what == What::Result => (*self).result(body, first),
            Operation::Sum => self.value.write(body, first),
            Operation::Average => {
                self.value.write(body, first);
                put(body, second, self.count.to_ne_bytes());
            }
            Operation::Minimum | Operation::Maximum if self.count > 0 => {
                let place = present(body, first, align(N::KIND));
                self.value.write(body, place);
                put(body, second, self.who.to_ne_bytes());
            }
            Operation::Minimum | Operation::Maximum => {}
        }
    }

    /// The result of a sum or an average, where it is not the state. Only roots have results: it shall not be in the way of
    /// what all nodes do. By value, so that a state which was just made can stay in registers.
    #[inline(never)]
    fn result(self, body: &mut [u8], at: usize) {
        match self.operation {
            Operation::Average if self.count > 0 => {
                let place = present(body, at, align(Kind::Float));
                put(body, place, (self.value.to_float() / self.count as f64).to_ne_bytes());
            }
            Operation::Average => {}
            // The sum of nothing, which in floats is -0, is shown as 0.
            _ if self.value == N::ZERO => {}
            _ => self.value.write(body, at),
        }
    }
}

/// A sum too large.
#[cold]
pub(crate) fn overflow() -> Fault {
    Fault::Overflow { name: String::new(), integer: "i128" }
}
