//! Integers, floats, characters and enumerations as text, in the forms that JSON and XML share.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use banyan_ndr::{DefId, F16, Format, Value};

/// What the infinities are called.
#[derive(Clone, Copy)]
pub(super) enum Infinity {
    /// `inf`, as in JSON.
    Lower,
    /// `INF`, as in XML Schema.
    Upper,
}

/// A float of `width` bytes as text: the shortest decimal that reads back the same, or a word for what has no digits.
/// `None` when the value is none of that width.
pub(super) fn float_text(value: &Value, width: u8, infinity: Infinity) -> Option<String> {
    Some(match (value, width) {
        (Value::F16(bits), 2) => {
            let value = F16::from_bits(*bits).to_f32();
            match value.is_finite() {
                true => format!("{value:?}"),
                false => special(f64::from(value), u64::from(*bits), 0x7e00, 4, infinity),
            }
        }
        (Value::F32(value), 4) if value.is_finite() => format!("{value:?}"),
        (Value::F32(value), 4) => {
            special(f64::from(*value), u64::from(value.to_bits()), u64::from(f32::NAN.to_bits()), 8, infinity)
        }
        (Value::F64(value), 8) if value.is_finite() => format!("{value:?}"),
        (Value::F64(value), 8) => special(*value, value.to_bits(), f64::NAN.to_bits(), 16, infinity),
        _ => return None,
    })
}

fn special(value: f64, bits: u64, plain_nan: u64, digits: usize, infinity: Infinity) -> String {
    let name = match infinity {
        Infinity::Lower => "inf",
        Infinity::Upper => "INF",
    };
    match value {
        _ if value.is_nan() && bits == plain_nan => "NaN".into(),
        _ if value.is_nan() => format!("NaN:{bits:0digits$x}"),
        _ if value < 0.0 => format!("-{name}"),
        _ => name.into(),
    }
}

/// Reads a float of `width` bytes from digits.
pub(super) fn parse_float(text: &str, width: u8) -> Result<Value, String> {
    let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    let wrong = || format!("{} is not a number", shown(text));
    let too_large = || format!("{} is too large for a float of {} bits", shown(text), 8 * u32::from(width));
    if !digits {
        return Err(wrong());
    }
    match width {
        2 => {
            let value: f64 = text.parse().map_err(|_| wrong())?;
            let value = F16::from_f64(value);
            value.to_f32().is_finite().then_some(Value::F16(value.to_bits())).ok_or_else(too_large)
        }
        4 => {
            let value: f32 = text.parse().map_err(|_| wrong())?;
            value.is_finite().then_some(Value::F32(value)).ok_or_else(too_large)
        }
        _ => {
            let value: f64 = text.parse().map_err(|_| wrong())?;
            value.is_finite().then_some(Value::F64(value)).ok_or_else(too_large)
        }
    }
}

/// Reads one of the words that stand for what has no digits.
pub(super) fn parse_float_word(word: &str, width: u8) -> Result<Value, String> {
    let float = |bits16: u16, value: f64| match width {
        2 => Value::F16(bits16),
        4 => Value::F32(value as f32),
        _ => Value::F64(value),
    };
    match word {
        "NaN" => Ok(match width {
            4 => Value::F32(f32::NAN),
            _ => float(0x7e00, f64::NAN),
        }),
        "inf" | "INF" => Ok(float(0x7c00, f64::INFINITY)),
        "-inf" | "-INF" => Ok(float(0xfc00, f64::NEG_INFINITY)),
        _ => word
            .strip_prefix("NaN:")
            .and_then(|bits| nan_of_bits(bits, width))
            .ok_or_else(|| format!("{} is not a number, NaN, inf or -inf", shown(word))),
    }
}

fn nan_of_bits(digits: &str, width: u8) -> Option<Value> {
    let bits = u64::from_str_radix(digits, 16).ok()?;
    match width {
        2 => {
            let bits = u16::try_from(bits).ok()?;
            F16::from_bits(bits).to_f32().is_nan().then_some(Value::F16(bits))
        }
        4 => Some(f32::from_bits(u32::try_from(bits).ok()?)).filter(|value| value.is_nan()).map(Value::F32),
        _ => Some(f64::from_bits(bits)).filter(|value| value.is_nan()).map(Value::F64),
    }
}

/// Reads an integer of `width` bytes.
pub(super) fn parse_int(text: &str, width: u8, signed: bool) -> Result<Value, String> {
    let bits = 8 * u32::from(width);
    let range = || format!("{} does not fit {}{bits}", shown(text), if signed { 'i' } else { 'u' });
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{} is no integer", shown(text)));
    }
    if signed || text.starts_with('-') {
        let value: i128 = text.parse().map_err(|_| range())?;
        let shift = 128 - bits;
        let fits = if signed { (value << shift) >> shift == value } else { value == 0 };
        return fits.then_some(Value::Int(value)).ok_or_else(range);
    }
    let value: u128 = text.parse().map_err(|_| range())?;
    if bits < 128 && value >> bits != 0 {
        return Err(range());
    }
    Ok(i128::try_from(value).map_or(Value::UInt(value), Value::Int))
}

/// Reads a number that stands for a value of an enumeration, with or without a name.
pub(super) fn parse_enum_number(text: &str, format: &Format, id: DefId) -> Result<Value, String> {
    let enumeration = format.enumeration(id);
    let value = parse_int(text, enumeration.width, enumeration.signed)?;
    let Value::Int(number) = value else { return Err(format!("{} is too large", shown(text))) };
    Ok(format.name_of(id, number).map_or(value, |name| Value::Enum(name.to_owned())))
}

/// Reads the name of an enumeration's value.
pub(super) fn parse_enum_name(name: &str, format: &Format, id: DefId) -> Result<Value, String> {
    match format.value_of(id, name) {
        Some(_) => Ok(Value::Enum(name.to_owned())),
        None => Err(format!("{} is no value of {}", shown(name), format.enumeration(id).name)),
    }
}

/// Reads a character of `width` bytes; those of one byte are the first 256.
pub(super) fn parse_char(text: &str, width: u8) -> Result<Value, String> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(char), None) if width == 4 || u32::from(char) < 256 => Ok(Value::Char(char)),
        (Some(_), None) => Err(format!("{} is no character of one byte", shown(text))),
        _ => Err(format!("{} is not one character", shown(text))),
    }
}

/// Bytes as base64 with padding.
pub(super) fn bytes_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Bytes from base64 with padding.
pub(super) fn parse_bytes(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| format!("is no base64: {error}"))
}

/// Outside text in an error message: quoted, and cut when long.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
