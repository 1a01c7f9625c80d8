//! Arrays, element by element: sums, averages, extremes.
//!
//! The loops are plain ones over numbers side by side, so that the compiler makes vector code of them. Numbers are
//! loaded from the sender's bytes in the sender's width and order; nothing is copied before.

use std::ops::Range;

use banyan_ndr::typed::F16;
use banyan_ndr::{ByteOrder, Type};

use super::super::Fault;
use super::super::body::{Reader, Writer};
use super::super::layout::Places;
use super::super::value::Datum;
use super::scalar::Operation;

/// A number of an array: `i64` or `f64`.
pub(crate) trait Element: Copy + PartialOrd + Default {
    fn of(datum: Datum<'_>) -> Result<Self, Fault>;
    /// Adds `others` to `sums`; false if any of them overflowed.
    fn add_all(sums: &mut [Self], others: impl Iterator<Item = Self>) -> bool;
    fn is_ordered(self) -> bool;
    fn to_float(self) -> f64;
    fn from_native(bytes: [u8; 8]) -> Self;
    fn to_native(self) -> [u8; 8];
    /// Calls `then` with the numbers in `bytes`; false where they must be taken one by one.
    fn load(ty: &Type, order: ByteOrder, bytes: &[u8], then: impl Taker<Self>) -> Option<Result<(), Fault>>;
}

/// What is done with numbers, however they were loaded.
pub(crate) trait Taker<E> {
    fn take(self, numbers: impl ExactSizeIterator<Item = E>) -> Result<(), Fault>;
}

/// Numbers of one type, loaded from bytes.
macro_rules! loaded {
    ($bytes:expr, $then:expr, $width:literal, $load:expr) => {
        Some($then.take($bytes.as_chunks::<$width>().0.iter().map(|bytes| $load(*bytes))))
    };
}

impl Element for f64 {
    fn of(datum: Datum<'_>) -> Result<f64, Fault> {
        Ok(datum.float())
    }

    #[inline]
    fn add_all(sums: &mut [f64], others: impl Iterator<Item = f64>) -> bool {
        sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        true
    }

    #[inline]
    fn is_ordered(self) -> bool {
        !self.is_nan()
    }

    fn to_float(self) -> f64 {
        self
    }

    #[inline]
    fn from_native(bytes: [u8; 8]) -> f64 {
        f64::from_ne_bytes(bytes)
    }

    #[inline]
    fn to_native(self) -> [u8; 8] {
        self.to_ne_bytes()
    }

    fn load(ty: &Type, order: ByteOrder, bytes: &[u8], then: impl Taker<f64>) -> Option<Result<(), Fault>> {
        use ByteOrder::{Big, Little};
        let Type::Float { width } = ty else { return None };
        match (width, order) {
            (8, Little) => loaded!(bytes, then, 8, f64::from_le_bytes),
            (8, Big) => loaded!(bytes, then, 8, f64::from_be_bytes),
            (4, Little) => loaded!(bytes, then, 4, |bytes| f64::from(f32::from_le_bytes(bytes))),
            (4, Big) => loaded!(bytes, then, 4, |bytes| f64::from(f32::from_be_bytes(bytes))),
            (2, Little) => loaded!(bytes, then, 2, |bytes| F16::from_bits(u16::from_le_bytes(bytes)).to_f64()),
            (2, Big) => loaded!(bytes, then, 2, |bytes| F16::from_bits(u16::from_be_bytes(bytes)).to_f64()),
            _ => None,
        }
    }
}

impl Element for i64 {
    fn of(datum: Datum<'_>) -> Result<i64, Fault> {
        let integer = datum.integer();
        i64::try_from(integer).map_err(|_| overflow())
    }

    #[inline]
    fn add_all(sums: &mut [i64], others: impl Iterator<Item = i64>) -> bool {
        // Overflow shows in the sign; looked at once at the end, it does not hold up the loop.
        let mut overflowed = 0;
        for (sum, other) in sums.iter_mut().zip(others) {
            let total = sum.wrapping_add(other);
            overflowed |= (*sum ^ total) & (other ^ total);
            *sum = total;
        }
        overflowed >= 0
    }

    #[inline]
    fn is_ordered(self) -> bool {
        true
    }

    fn to_float(self) -> f64 {
        self as f64
    }

    #[inline]
    fn from_native(bytes: [u8; 8]) -> i64 {
        i64::from_ne_bytes(bytes)
    }

    #[inline]
    fn to_native(self) -> [u8; 8] {
        self.to_ne_bytes()
    }

    fn load(ty: &Type, order: ByteOrder, bytes: &[u8], then: impl Taker<i64>) -> Option<Result<(), Fault>> {
        use ByteOrder::{Big, Little};
        let Type::Int { width, signed } = ty else { return None };
        match (width, signed, order) {
            (1, true, _) => loaded!(bytes, then, 1, |[byte]: [u8; 1]| i64::from(byte as i8)),
            (1, false, _) => loaded!(bytes, then, 1, |[byte]: [u8; 1]| i64::from(byte)),
            (2, true, Little) => loaded!(bytes, then, 2, |bytes| i64::from(i16::from_le_bytes(bytes))),
            (2, true, Big) => loaded!(bytes, then, 2, |bytes| i64::from(i16::from_be_bytes(bytes))),
            (2, false, Little) => loaded!(bytes, then, 2, |bytes| i64::from(u16::from_le_bytes(bytes))),
            (2, false, Big) => loaded!(bytes, then, 2, |bytes| i64::from(u16::from_be_bytes(bytes))),
            (4, true, Little) => loaded!(bytes, then, 4, |bytes| i64::from(i32::from_le_bytes(bytes))),
            (4, true, Big) => loaded!(bytes, then, 4, |bytes| i64::from(i32::from_be_bytes(bytes))),
            (4, false, Little) => loaded!(bytes, then, 4, |bytes| i64::from(u32::from_le_bytes(bytes))),
            (4, false, Big) => loaded!(bytes, then, 4, |bytes| i64::from(u32::from_be_bytes(bytes))),
            (8, true, Little) => loaded!(bytes, then, 8, i64::from_le_bytes),
            (8, true, Big) => loaded!(bytes, then, 8, i64::from_be_bytes),
            _ => None,
        }
    }
}

/// The state of an operation on each element.
#[derive(Debug, Clone)]
pub(crate) struct Elements<E> {
    operation: Operation,
    values: Vec<E>,
    /// Whose value each extreme is: the lowest rank of those that have it.
    who: Vec<u32>,
    /// Arrays so far.
    count: u64,
    /// [`ReductionLimits::elements`](super::super::ReductionLimits::elements).
    most: usize,
    /// Numbers of one array that do not lie side by side in their record, copied together.
    pub(super) scratch: Vec<u8>,
}

impl<E: Element> Elements<E> {
    pub(crate) fn new(operation: Operation, most: usize) -> Elements<E> {
        Elements { operation, values: Vec::new(), who: Vec::new(), count: 0, most, scratch: Vec::new() }
    }

    /// Keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.who.clear();
        self.count = 0;
    }

    fn tracks_who(&self) -> bool {
        matches!(self.operation, Operation::Minimum | Operation::Maximum)
    }

    /// Takes one array of a member.
    pub(crate) fn take(&mut self, numbers: impl ExactSizeIterator<Item = E>, rank: u32) -> Result<(), Fault> {
        self.combine(numbers, std::iter::repeat(rank), 1)
    }

    /// Takes numbers that lie side by side; false where they must be taken one by one.
    pub(crate) fn take_bytes(
        &mut self,
        ty: &Type,
        order: ByteOrder,
        bytes: &[u8],
        rank: u32,
    ) -> Option<Result<(), Fault>> {
        E::load(ty, order, bytes, TakeArray { elements: self, rank })
    }

    fn combine(
        &mut self,
        numbers: impl ExactSizeIterator<Item = E>,
        who: impl Iterator<Item = u32>,
        count: u64,
    ) -> Result<(), Fault> {
        if self.count == 0 {
            self.begin(numbers, who)?;
        } else if numbers.len() != self.values.len() {
            let (found, wanted) = (numbers.len(), self.values.len());
            return Err(Fault::Length { name: String::new(), found, wanted });
        } else {
            match self.operation {
                Operation::Sum | Operation::Average => {
                    if !E::add_all(&mut self.values, numbers) {
                        return Err(overflow());
                    }
                }
                Operation::Minimum => self.compare::<false>(numbers, who),
                Operation::Maximum => self.compare::<true>(numbers, who),
            }
        }
        self.count = self.count.saturating_add(count);
        Ok(())
    }

    fn begin(
        &mut self,
        numbers: impl ExactSizeIterator<Item = E>,
        who: impl Iterator<Item = u32>,
    ) -> Result<(), Fault> {
        let found = numbers.len();
        if found > self.most {
            let (name, limit) = (String::new(), self.most);
            return Err(Fault::Limit { name, what: "items of one array", found, limit, bound: "elements" });
        }
        if self.tracks_who() {
            self.who.extend(who.take(found));
        }
        self.values.extend(numbers);
        Ok(())
    }

    /// NaN yields to every number; of equals the lowest rank stays, whoever came first.
    fn compare<const LARGEST: bool>(&mut self, numbers: impl Iterator<Item = E>, who: impl Iterator<Item = u32>) {
        let kept = self.values.iter_mut().zip(&mut self.who);
        for ((value, owner), (number, rank)) in kept.zip(numbers.zip(who)) {
            let beyond = if LARGEST { number > *value } else { number < *value };
            let replaces_nan = !value.is_ordered() & number.is_ordered();
            let equal = (number == *value) | (!value.is_ordered() & !number.is_ordered());
            let better = beyond | replaces_nan | (equal & (rank < *owner));
            *value = if better { number } else { *value };
            *owner = if better { rank } else { *owner };
        }
    }

    /// Places: values, then who (of extremes), then count.
    pub(crate) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>) -> Result<(), Fault> {
        let count = from.u64(at.last());
        let numbers = from.numbers::<8>(at.field(0))?;
        if count == 0 {
            return Ok(());
        }
        let numbers = numbers.iter().map(|bytes| E::from_native(*bytes));
        if !self.tracks_who() {
            return self.combine(numbers, std::iter::repeat(0), count);
        }
        let who = from.ranks(at.field(1))?;
        if who.len() != numbers.len() {
            return Err(Fault::partial(format!("{} values belong to {} members", numbers.len(), who.len())));
        }
        self.combine(numbers, who, count)
    }

    pub(crate) fn partial(&self, out: &mut Writer<'_>, at: Places<'_>) {
        self.write(out, at);
        out.put(at.last(), self.count.to_ne_bytes());
    }

    pub(crate) fn result(&self, out: &mut Writer<'_>, at: Places<'_>) {
        let count = self.count as f64;
        match self.operation {
            Operation::Average => {
                out.numbers(at.field(0), self.values.iter().map(|value| (value.to_float() / count).to_ne_bytes()));
            }
            _ => self.write(out, at),
        }
    }

    fn write(&self, out: &mut Writer<'_>, at: Places<'_>) {
        out.numbers(at.field(0), self.values.iter().map(|value| value.to_native()));
        if self.tracks_who() {
            out.numbers(at.field(1), self.who.iter().map(|who| who.to_ne_bytes()));
        }
    }
}

/// Numbers of a piece of long arrays. Its sums stay in the second cache until all arrays were added; shorter pieces would be
/// over before the processor has foreseen where each array goes on.
const PIECE: usize = 16 << 10;

/// Arrays of which numbers are added in one pass over the sums: processors fetch a few ahead at the same time, not many.
const ABREAST: usize = 4;

impl Elements<f64> {
    /// Whether sums of arrays of this length are made [piece by piece](Self::add_in_pieces). Shorter ones stay in a cache anyway, and
    /// whatever is refused is left to [`take`](Self::take).
    pub(super) fn suits_pieces(&self, length: usize) -> bool {
        let fits = if self.count == 0 { length <= self.most } else { length == self.values.len() };
        fits && length > PIECE / 4 && !self.tracks_who()
    }

    /// Adds arrays that [suit](Self::suits_pieces), all of one length, as if they were taken one after the other: each sum is of the
    /// same numbers in the same order.
    pub(super) fn add_in_pieces(&mut self, arrays: &[&[[u8; 8]]]) {
        let length = arrays.first().map_or(0, |array| array.len());
        let is_first = self.count == 0;
        for begin in (0..length).step_by(PIECE) {
            let piece = begin..length.min(begin + PIECE);
            let mut arrays = arrays;
            if is_first && let Some(first) = arrays.split_off_first() {
                self.values.extend(first[piece.clone()].iter().map(|bytes| f64::from_ne_bytes(*bytes)));
            }
            let sums = &mut self.values[piece.clone()];
            let (groups, rest) = arrays.as_chunks::<ABREAST>();
            groups.iter().for_each(|group| add_abreast(sums, group, &piece));
            match *rest {
                [one] => add_abreast(sums, &[one], &piece),
                [one, two] => add_abreast(sums, &[one, two], &piece),
                [one, two, three] => add_abreast(sums, &[one, two, three], &piece),
                _ => {}
            }
        }
        self.count = self.count.saturating_add(arrays.len() as u64);
    }
}

/// Adds a piece of some arrays to its sums, number by number in the order of the arrays.
fn add_abreast<const COUNT: usize>(sums: &mut [f64], arrays: &[&[[u8; 8]]; COUNT], piece: &Range<usize>) {
    let numbers = arrays.map(|array| &array[piece.clone()][..sums.len()]);
    for (at, sum) in sums.iter_mut().enumerate() {
        *sum = numbers.iter().fold(*sum, |sum, numbers| sum + f64::from_ne_bytes(numbers[at]));
    }
}

struct TakeArray<'e, E> {
    elements: &'e mut Elements<E>,
    rank: u32,
}

impl<E: Element> Taker<E> for TakeArray<'_, E> {
    fn take(self, numbers: impl ExactSizeIterator<Item = E>) -> Result<(), Fault> {
        self.elements.take(numbers, self.rank)
    }
}

#[cold]
fn overflow() -> Fault {
    Fault::Overflow { name: String::new(), integer: "i64, the type of array elements" }
}
