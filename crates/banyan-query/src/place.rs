//! Places in records: where a value lies, what it is, and reading it.
//!
//! Records are hostile until read: every place and reference is checked against the body.

use banyan_ndr::reflect::Item;
use banyan_ndr::typed::F16;
use banyan_ndr::wire::Slots;
use banyan_ndr::{ByteOrder, DefId, Format, PointerWidth, RecordView, Type};

use crate::scalar::Scalar;
use crate::syntax::{FieldPath, Step};

/// The body of an event is not what its format says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadEvent;

/// Where in every record of a format a value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: u32,
    pub(crate) holds: Holds,
}

/// What lies at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
    F16,
    F32,
    F64,
    /// Of this width.
    Truth(u8),
    Character(u8),
    Enumeration(DefId),
    Text,
    CText,
}

impl Holds {
    pub(crate) fn of(ty: &Type) -> Option<Holds> {
        Some(match ty {
            Type::Int { width: 1, signed: true } => Holds::I8,
            Type::Int { width: 2, signed: true } => Holds::I16,
            Type::Int { width: 4, signed: true } => Holds::I32,
            Type::Int { width: 8, signed: true } => Holds::I64,
            Type::Int { signed: true, .. } => Holds::I128,
            Type::Int { width: 1, .. } => Holds::U8,
            Type::Int { width: 2, .. } => Holds::U16,
            Type::Int { width: 4, .. } => Holds::U32,
            Type::Int { width: 8, .. } => Holds::U64,
            Type::Int { .. } => Holds::U128,
            Type::Float { width: 2 } => Holds::F16,
            Type::Float { width: 4 } => Holds::F32,
            Type::Float { .. } => Holds::F64,
            Type::Bool { width } => Holds::Truth(*width),
            Type::Char { width } => Holds::Character(*width),
            Type::Enum(id) => Holds::Enumeration(*id),
            Type::Str => Holds::Text,
            Type::CStr => Holds::CText,
            _ => return None,
        })
    }

    /// Whether it is an integer that every program reads as one.
    pub(crate) fn is_integer(self) -> bool {
        matches!(
            self,
            Holds::I8
                | Holds::I16
                | Holds::I32
                | Holds::I64
                | Holds::I128
                | Holds::U8
                | Holds::U16
                | Holds::U32
                | Holds::U64
        )
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Holds::F16 | Holds::F32 | Holds::F64)
    }
}

/// The bytes of a number. The fixed part of the record is there, which was looked at before.
#[inline]
fn bytes<const N: usize>(body: &[u8], at: usize) -> [u8; N] {
    body[at..at + N].try_into().expect("as many bytes as were cut")
}

/// An integer in its place; 0 for what is none.
#[inline]
pub(crate) fn integer(body: &[u8], place: &Place) -> i128 {
    let at = place.at as usize;
    match place.holds {
        Holds::I8 => i128::from(body[at] as i8),
        Holds::I16 => i16::from_ne_bytes(bytes(body, at)).into(),
        Holds::I32 => i32::from_ne_bytes(bytes(body, at)).into(),
        Holds::I64 => i64::from_ne_bytes(bytes(body, at)).into(),
        Holds::I128 => i128::from_ne_bytes(bytes(body, at)),
        Holds::U8 => body[at].into(),
        Holds::U16 => u16::from_ne_bytes(bytes(body, at)).into(),
        Holds::U32 => u32::from_ne_bytes(bytes(body, at)).into(),
        Holds::U64 => u64::from_ne_bytes(bytes(body, at)).into(),
        _ => 0,
    }
}

/// The value in a place of a record in this machine's layout, whose fixed part is there.
#[inline]
pub(crate) fn read<'a>(format: &'a Format, body: &'a [u8], place: &Place) -> Result<Scalar<'a>, BadEvent> {
    let at = place.at as usize;
    Ok(match place.holds {
        holds if holds.is_integer() => Scalar::Integer(integer(body, place)),
        Holds::F32 => Scalar::Float(f32::from_ne_bytes(bytes(body, at)).into()),
        Holds::F64 => Scalar::Float(f64::from_ne_bytes(bytes(body, at))),
        _ => return seldom(format, body, place),
    })
}

#[inline(never)]
fn seldom<'a>(format: &'a Format, body: &'a [u8], place: &Place) -> Result<Scalar<'a>, BadEvent> {
    let at = place.at as usize;
    Ok(match place.holds {
        Holds::F16 => Scalar::Float(F16::from_bits(u16::from_ne_bytes(bytes(body, at))).to_f64()),
        Holds::U128 => {
            // What 127 bits cannot hold is nothing that can be computed with.
            i128::try_from(u128::from_ne_bytes(bytes(body, at))).map_or(Scalar::Missing, Scalar::Integer)
        }
        Holds::Truth(width) => match unsigned(body, at, width) {
            truth @ (0 | 1) => Scalar::Truth(truth == 1),
            _ => return Err(BadEvent),
        },
        Holds::Character(width) => {
            let code = u32::try_from(unsigned(body, at, width)).ok().and_then(char::from_u32);
            Scalar::Character(code.ok_or(BadEvent)?)
        }
        Holds::Enumeration(id) => {
            let number = enumerated(format, id, body, at);
            format.name_of(id, number).map_or(Scalar::Integer(number), Scalar::Text)
        }
        Holds::Text => {
            let (start, length) = SLOTS.span(body, at).map_err(|_| BadEvent)?;
            let end = start.checked_add(length).ok_or(BadEvent)?;
            text(body.get(start..end).ok_or(BadEvent)?)?
        }
        Holds::CText => match SLOTS.reference(body, at).map_err(|_| BadEvent)? {
            None => Scalar::Missing,
            Some(start) => {
                let rest = body.get(start..).ok_or(BadEvent)?;
                let end = rest.iter().position(|byte| *byte == 0).ok_or(BadEvent)?;
                text(&rest[..end])?
            }
        },
        _ => Scalar::Integer(integer(body, place)),
    })
}

/// The value of an enumeration's place.
pub(crate) fn enumerated(format: &Format, id: DefId, body: &[u8], at: usize) -> i128 {
    let enumeration = format.enumeration(id);
    let number = unsigned(body, at, enumeration.width);
    match enumeration.signed {
        true => {
            let unused = 64 - 8 * u32::from(enumeration.width);
            i128::from((number << unused) as i64 >> unused)
        }
        false => number.into(),
    }
}

fn text(bytes: &[u8]) -> Result<Scalar<'_>, BadEvent> {
    std::str::from_utf8(bytes).map(Scalar::Text).map_err(|_| BadEvent)
}

fn unsigned(body: &[u8], at: usize, width: u8) -> u64 {
    match width {
        1 => body[at].into(),
        2 => u16::from_ne_bytes(bytes(body, at)).into(),
        4 => u32::from_ne_bytes(bytes(body, at)).into(),
        _ => u64::from_ne_bytes(bytes(body, at)),
    }
}

/// References of records in this machine's layout.
const SLOTS: Slots = Slots { order: ByteOrder::NATIVE, pointer: PointerWidth::NATIVE };

/// The value that a path leads to, step by step. What is absent on the way is missing; so is an item that is not there.
pub(crate) fn walk<'a>(format: &'a Format, body: &'a [u8], path: &FieldPath) -> Result<Scalar<'a>, BadEvent> {
    let bad = |_| BadEvent;
    let mut item = RecordView::new(format, body).map_err(bad)?.root();
    for step in &path.steps {
        let Some(there) = item.follow().map_err(bad)? else { return Ok(Scalar::Missing) };
        item = match step {
            Step::Name(name) => match there.case().map_err(bad)? {
                Some((case, payload)) => match payload.filter(|_| case == name) {
                    Some(payload) => payload,
                    None => return Ok(Scalar::Missing),
                },
                None => there.field(name).map_err(bad)?,
            },
            Step::Item(index) => match *index < there.len().map_err(bad)? {
                true => there.index(*index).map_err(bad)?,
                false => return Ok(Scalar::Missing),
            },
        };
    }
    match item.follow().map_err(bad)? {
        Some(item) => at_end(format, body, item),
        None => Ok(Scalar::Missing),
    }
}

fn at_end<'a>(format: &'a Format, body: &'a [u8], item: Item<'a>) -> Result<Scalar<'a>, BadEvent> {
    let holds = Holds::of(item.ty()).filter(|_| !item.is_part()).ok_or(BadEvent)?;
    let at = u32::try_from(item.offset()).map_err(|_| BadEvent)?;
    let end = item.offset().checked_add(format.size_of(item.ty()));
    match end.is_some_and(|end| end <= body.len()) {
        true => read(format, body, &Place { at, holds }),
        false => Err(BadEvent),
    }
}
