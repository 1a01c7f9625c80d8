//! Lists whose lengths stand in other fields of the same record: `#[record(length = …)]`. And the order of arrays.

use super::list::{List, ReadList, discover_list, read_list};
use super::sink::Entry;
use super::{Describer, Discoverer, Reader, Sink, Slot, Wire};
use crate::{DecodeError, EncodeError, Order, Type, Value};

/// An integer field that can hold a length.
#[diagnostic::on_unimplemented(message = "`{Self}` cannot hold a length", note = "a length field is an integer")]
pub trait Length: Wire + Copy {
    /// Its value; `None` when negative.
    fn length(self) -> Option<u128>;
}

macro_rules! lengths {
    ($($type:ty)*) => {$(
        impl Length for $type {
            fn length(self) -> Option<u128> {
                u128::try_from(self).ok()
            }
        }
    )*};
}

lengths!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

/// The value of a length field; the macro calls it so that a wrong type is reported at the field.
pub struct LengthOf;

impl LengthOf {
    /// The value of a length field.
    pub fn value<T: Length>(field: T) -> Option<u128> {
        field.length()
    }
}

/// The product, if none of the numbers is negative.
fn product(lengths: &[Option<u128>]) -> Option<u128> {
    lengths.iter().try_fold(1_u128, |product, length| product.checked_mul((*length)?))
}

/// Writes a list whose lengths stand in other fields, if they are right.
pub fn write_sized<'r, L: List + Wire>(
    list: &'r L,
    field: &'static str,
    lengths: &[Option<u128>],
    place: Slot,
    out: &mut impl Sink<'r>,
) {
    let items = list.items();
    let declared = product(lengths);
    if declared != Some(items.len() as u128) {
        let error =
            EncodeError::Length { field: field.into(), declared: declared.unwrap_or(u128::MAX), actual: items.len() };
        return out.fail(error);
    }
    out.list(place, Entry::Reference, items, list);
}

/// How many items the lengths say, and where the reference at `slot` says they are.
fn place_of(input: &Reader<'_>, slot: usize, lengths: &[Option<u128>]) -> Result<(usize, usize), DecodeError> {
    let count = product(lengths).and_then(|count| usize::try_from(count).ok()).ok_or(DecodeError::Invalid {
        path: String::new(),
        found: "a negative or huge number".into(),
        wanted: "length",
    })?;
    match count {
        0 => Ok((0, 0)),
        _ => Ok((input.some_reference(slot)?, count)),
    }
}

/// Reads a list whose lengths stand in other fields.
pub fn read_sized<'a, L: ReadList<'a>>(
    input: &Reader<'a>,
    slot: usize,
    lengths: &[Option<u128>],
) -> Result<L, DecodeError> {
    let (target, count) = place_of(input, slot, lengths)?;
    read_list(input, slot, target, count)
}

/// Notes a list whose lengths stand in other fields.
pub fn discover_sized<'a, L: ReadList<'a>>(
    work: &mut Discoverer<'_, 'a>,
    slot: usize,
    lengths: &[Option<u128>],
) -> Result<(), DecodeError> {
    let (target, count) = place_of(work.input, slot, lengths)?;
    discover_list::<L>(work, slot, target, count)
}

/// The value of a list whose lengths stand in other fields: lists of lists, outermost dimension first.
pub fn sized_to_value<L: List>(list: &L, lengths: &[Option<u128>], order: Order) -> Value {
    let lengths: Vec<usize> =
        lengths.iter().map(|length| length.and_then(|length| usize::try_from(length).ok()).unwrap_or(0)).collect();
    let items = list.items();
    let mut steps = vec![1; lengths.len()];
    match order {
        Order::Row => (1..lengths.len()).rev().for_each(|i| steps[i - 1] = steps[i] * lengths[i]),
        Order::Column => (1..lengths.len()).for_each(|i| steps[i] = steps[i - 1] * lengths[i - 1]),
    }
    nested(items, &lengths, &steps, 0)
}

fn nested<T: Wire>(items: &[T], lengths: &[usize], steps: &[usize], at: usize) -> Value {
    let Some((length, lengths)) = lengths.split_first() else {
        return items.get(at).map_or(Value::Null, T::to_value);
    };
    Value::List((0..*length).map(|index| nested(items, lengths, &steps[1..], at + index * steps[0])).collect())
}

/// The type of an array with the order of its elements changed.
pub fn with_order(ty: Type, order: Order) -> Type {
    match ty {
        Type::Array { item, dims, .. } => Type::Array { item, dims, order },
        other => other,
    }
}

/// The type of a list's items.
impl Describer {
    #[doc(hidden)]
    pub fn item_of<L: List>(&mut self) -> Box<Type> {
        Box::new(L::Item::describe(self))
    }
}
