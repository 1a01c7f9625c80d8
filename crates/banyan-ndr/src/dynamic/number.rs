//! Numbers and other values of fixed width: which [`Value`]s stand for which of them, and their bits.

use crate::{DefId, EnumerationDef, Format, Type, Value, half};

/// The integer a value is, if it is one: integers, floats without fraction, bools.
pub(crate) fn as_integer(value: &Value) -> Option<Integer> {
    Some(match value {
        Value::Int(number) => Integer::from_signed(*number),
        Value::UInt(number) => Integer { negative: false, magnitude: *number },
        Value::Bool(truth) => Integer { negative: false, magnitude: u128::from(*truth) },
        Value::F16(_) | Value::F32(_) | Value::F64(_) => Integer::from_float(as_float(value)?)?,
        _ => return None,
    })
}

/// The float a value is, if it is a number that a float holds exactly.
pub(crate) fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::F16(bits) => Some(half::to_f64(*bits)),
        Value::F32(number) => Some(f64::from(*number)),
        Value::F64(number) => Some(*number),
        Value::Int(number) => Some(*number as f64).filter(|float| Integer::from_float(*float) == as_integer(value)),
        Value::UInt(number) => Some(*number as f64).filter(|float| Integer::from_float(*float) == as_integer(value)),
        _ => None,
    }
}

/// An integer with room for all of `i128` and `u128`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Integer {
    negative: bool,
    magnitude: u128,
}

impl Integer {
    fn from_signed(number: i128) -> Integer {
        Integer { negative: number < 0, magnitude: number.unsigned_abs() }
    }

    fn from_float(number: f64) -> Option<Integer> {
        // 2^128 is the first magnitude that does not fit.
        if number.fract() != 0.0 || number.abs() >= 2f64.powi(128) {
            return None;
        }
        Some(Integer { negative: number < 0.0, magnitude: number.abs() as u128 })
    }

    /// As the two kinds of integer values.
    pub(crate) fn to_value(self) -> Value {
        match self.to_signed() {
            Some(number) => Value::Int(number),
            None => Value::UInt(self.magnitude),
        }
    }

    /// As a signed number, if it fits.
    pub(crate) fn to_signed(self) -> Option<i128> {
        if self.negative { 0i128.checked_sub_unsigned(self.magnitude) } else { i128::try_from(self.magnitude).ok() }
    }

    /// As an unsigned number, if it fits.
    pub(crate) fn to_unsigned(self) -> Option<u128> {
        (!self.negative).then_some(self.magnitude)
    }

    /// The low bits of its two's complement, if it fits an integer of `width` bytes.
    fn bits(self, width: u8, signed: bool) -> Option<u128> {
        let unused = 128 - 8 * u32::from(width);
        if signed {
            let number = self.to_signed()?;
            (number << unused >> unused == number).then_some(number as u128)
        } else {
            let number = self.to_unsigned()?;
            (number << unused >> unused == number).then_some(number)
        }
    }
}

/// The bits of a value of a type of fixed width, or why it has none.
pub(crate) fn to_bits(format: &Format, ty: &Type, value: &Value) -> Result<u128, String> {
    let refused = || format!("{} is no {}", describe(value), format.type_name(ty));
    match ty {
        Type::Int { width, signed } => {
            let integer = as_integer(value).filter(|_| !matches!(value, Value::Bool(_))).ok_or_else(refused)?;
            integer
                .bits(*width, *signed)
                .ok_or_else(|| format!("{} does not fit {}", describe(value), format.type_name(ty)))
        }
        Type::Float { width } => float_bits(*width, value).ok_or_else(refused),
        Type::Bool { .. } => match as_integer(value).and_then(Integer::to_unsigned) {
            Some(truth @ (0 | 1)) => Ok(truth),
            _ => Err(refused()),
        },
        Type::Char { width } => {
            let code = as_char(value).ok_or_else(refused)?;
            if *width == 1 && code > 0xff { Err(refused()) } else { Ok(u128::from(code)) }
        }
        Type::Enum(id) => {
            let number = enumeration_value(format, *id, value).ok_or_else(refused)?;
            Ok(number as u128)
        }
        _ => Err(refused()),
    }
}

fn float_bits(width: u8, value: &Value) -> Option<u128> {
    // The bits of a float of the same width are kept, those of a NaN too.
    Some(match (width, value) {
        (2, Value::F16(bits)) => u128::from(*bits),
        (4, Value::F32(number)) => u128::from(number.to_bits()),
        (8, Value::F64(number)) => u128::from(number.to_bits()),
        _ => {
            let number = as_float(value)?;
            let (bits, overflow) = match width {
                2 => {
                    let bits = half::from_f64(number);
                    (u128::from(bits), half::to_f64(bits).is_infinite())
                }
                4 => (u128::from((number as f32).to_bits()), (number as f32).is_infinite()),
                _ => (u128::from(number.to_bits()), false),
            };
            return (!(overflow && number.is_finite())).then_some(bits);
        }
    })
}

fn as_char(value: &Value) -> Option<u32> {
    match value {
        Value::Char(character) => Some(u32::from(*character)),
        Value::Str(text) => {
            let mut characters = text.chars();
            let first = characters.next()?;
            characters.next().is_none().then_some(u32::from(first))
        }
        _ => None,
    }
}

fn enumeration_value(format: &Format, id: DefId, value: &Value) -> Option<i128> {
    let enumeration = format.enumeration(id);
    match value {
        Value::Enum(name) | Value::Str(name) => format.value_of(id, name),
        // A number without a name may be sent too: C programs do.
        _ => as_integer(value)?.bits(enumeration.width, enumeration.signed).map(|bits| bits as i128),
    }
}

/// The value that bits of a type of fixed width stand for, or what they should have been.
pub(crate) fn from_bits(format: &Format, ty: &Type, bits: u128) -> Result<Value, &'static str> {
    Ok(match ty {
        Type::Int { width, signed: true } => {
            let unused = 128 - 8 * u32::from(*width);
            Value::Int((bits << unused) as i128 >> unused)
        }
        Type::Int { .. } => Integer { negative: false, magnitude: bits }.to_value(),
        Type::Float { width: 2 } => Value::F16(bits as u16),
        Type::Float { width: 4 } => Value::F32(f32::from_bits(bits as u32)),
        Type::Float { .. } => Value::F64(f64::from_bits(bits as u64)),
        Type::Bool { .. } if bits > 1 => return Err("bool"),
        Type::Bool { .. } => Value::Bool(bits == 1),
        Type::Char { .. } => Value::Char(u32::try_from(bits).ok().and_then(char::from_u32).ok_or("character")?),
        Type::Enum(id) => {
            let number = enumeration_number(format.enumeration(*id), bits);
            format.name_of(*id, number).map_or(Value::Int(number), |name| Value::Enum(name.into()))
        }
        _ => return Err("number"),
    })
}

/// An enumeration's value given by its bits.
pub(crate) fn enumeration_number(enumeration: &EnumerationDef, bits: u128) -> i128 {
    if !enumeration.signed {
        return bits as i128;
    }
    let unused = 128 - 8 * u32::from(enumeration.width);
    (bits << unused) as i128 >> unused
}

/// A value in a few words, for error messages.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::F16(bits) => half::to_f64(*bits).to_string(),
        Value::F32(number) => number.to_string(),
        Value::F64(number) => number.to_string(),
        Value::Char(character) => format!("{character:?}"),
        Value::Enum(name) => name.escape_debug().to_string(),
        Value::Str(text) if text.len() > 40 => format!("a string of {} bytes", text.len()),
        Value::Str(text) => format!("{text:?}"),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Value::List(items) => format!("a list of {} items", items.len()),
        Value::Record(fields) => format!("a record of {} fields", fields.len()),
        Value::Case(name, _) => format!("case {}", name.escape_debug()),
        Value::Shared(key) => format!("shared value {key}"),
    }
}
