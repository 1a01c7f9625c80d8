//! One value of a record, read where it lies.

use banyan_ndr::typed::F16;
use banyan_ndr::wire::{Slots, read_int, read_uint};
use banyan_ndr::{ByteOrder, DecodeError, RecordView, Type};

use crate::value::{Datum, Kind};

/// What kind of value a type holds, for functions that take numbers and for functions that take any value.
pub(crate) fn kind(ty: &Type, as_number: bool) -> Option<Kind> {
    Some(match ty {
        Type::Int { .. } => Kind::Integer,
        Type::Float { .. } => Kind::Float,
        Type::Bool { .. } | Type::Enum(_) if as_number => Kind::Integer,
        _ if as_number => return None,
        Type::Bool { .. } => Kind::Bool,
        Type::Enum(_) | Type::Char { .. } | Type::Str | Type::CStr => Kind::Text,
        Type::Bytes => Kind::Bytes,
        _ => return None,
    })
}

/// The value of type `ty` at `at`; all bytes of its place lie in the body. `None` for a null C string.
pub(crate) fn datum<'a>(record: RecordView<'a>, ty: &Type, at: usize) -> Result<Option<Datum<'a>>, DecodeError> {
    let (format, order) = (record.format(), record.format().order());
    let bytes = |width: u8| &record.body()[at..at + usize::from(width)];
    Ok(Some(match ty {
        Type::Int { width, signed: true } => Datum::Integer(read_int(bytes(*width), order)),
        Type::Int { width, signed: false } => Datum::Integer(unsigned(bytes(*width), order)?),
        Type::Float { width } => Datum::Float(float(bytes(*width), order)),
        Type::Bool { width } => match read_uint(bytes(*width), order) {
            truth @ (0 | 1) => Datum::Bool(truth == 1),
            other => return Err(invalid(other, "truth value")),
        },
        Type::Char { width } => {
            let code = read_uint(bytes(*width), order);
            let character = u32::try_from(code).ok().and_then(char::from_u32);
            Datum::Char(character.ok_or_else(|| invalid(code, "character"))?)
        }
        Type::Enum(id) => {
            let enumeration = format.enumeration(*id);
            let bytes = bytes(enumeration.width);
            let number = if enumeration.signed { read_int(bytes, order) } else { read_uint(bytes, order) as i128 };
            Datum::Named(number, format.name_of(*id, number))
        }
        Type::Str => Datum::Text(text(span(record, at)?)?),
        Type::Bytes => Datum::Bytes(span(record, at)?),
        Type::CStr => match c_string(record, at)? {
            Some(bytes) => Datum::Text(text(bytes)?),
            None => return Ok(None),
        },
        _ => return Err(invalid(format.type_name(ty), "single value")),
    }))
}

/// Integers are kept as `i128`, which all but the largest of 16 bytes are.
fn unsigned(bytes: &[u8], order: ByteOrder) -> Result<i128, DecodeError> {
    let value = read_uint(bytes, order);
    i128::try_from(value).map_err(|_| DecodeError::OutOfRange {
        path: String::new(),
        value: value.to_string(),
        wanted: "i128".into(),
    })
}

fn float(bytes: &[u8], order: ByteOrder) -> f64 {
    let bits = read_uint(bytes, order);
    match bytes.len() {
        2 => F16::from_bits(bits as u16).to_f64(),
        4 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits as u64),
    }
}

pub(super) fn slots(record: RecordView<'_>) -> Slots {
    Slots { order: record.format().order(), pointer: record.format().pointer() }
}

fn span<'a>(record: RecordView<'a>, at: usize) -> Result<&'a [u8], DecodeError> {
    let body = record.body();
    let (target, count) = slots(record).span(body, at).map_err(|bad| outside(record, bad.stored, 1))?;
    let end = target.checked_add(count);
    end.and_then(|end| body.get(target..end)).ok_or_else(|| outside(record, target as u64, count as u64))
}

fn c_string<'a>(record: RecordView<'a>, at: usize) -> Result<Option<&'a [u8]>, DecodeError> {
    let target = slots(record).reference(record.body(), at).map_err(|bad| outside(record, bad.stored, 1))?;
    let Some(target) = target else { return Ok(None) };
    let rest = &record.body()[target..];
    let end = rest.iter().position(|byte| *byte == 0);
    end.map(|end| Some(&rest[..end])).ok_or_else(|| outside(record, target as u64, rest.len() as u64 + 1))
}

fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|error| invalid(error, "UTF-8 text"))
}

pub(super) fn outside(record: RecordView<'_>, target: u64, count: u64) -> DecodeError {
    DecodeError::OutOfBounds { path: String::new(), target, count, body: record.body().len() }
}

fn invalid(found: impl ToString, wanted: &'static str) -> DecodeError {
    DecodeError::Invalid { path: String::new(), found: found.to_string(), wanted }
}

/// Bytes of a number.
pub(super) fn width(ty: &Type) -> Option<usize> {
    match ty {
        Type::Int { width, .. } | Type::Float { width } => Some(usize::from(*width)),
        _ => None,
    }
}

/// The work that one record may cause: a byte of the body for each item that is met, and for each byte of text. Every
/// item of an honest record has bytes of its own; lists and texts that lie on each other would stop the agent.
pub(super) struct Budget {
    body: usize,
    left: usize,
}

impl Budget {
    pub(super) fn of(record: RecordView<'_>) -> Budget {
        Budget { body: record.body().len(), left: record.body().len() }
    }

    /// Takes what an item of a list costs, whatever it leads to.
    pub(super) fn take_item(&mut self) -> Result<(), DecodeError> {
        self.take(1)
    }

    /// Takes what the text of a value costs.
    pub(super) fn take_text(&mut self, datum: Datum<'_>) -> Result<(), DecodeError> {
        match datum {
            Datum::Text(text) => self.take(text.len()),
            Datum::Bytes(bytes) => self.take(bytes.len()),
            _ => Ok(()),
        }
    }

    fn take(&mut self, cost: usize) -> Result<(), DecodeError> {
        let left = self.left.checked_sub(cost);
        self.left = left.ok_or(DecodeError::Overlap { path: String::new(), body: self.body })?;
        Ok(())
    }
}
