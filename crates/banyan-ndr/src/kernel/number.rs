//! One number: read and converted. The rules are those of [`Loss`]; records that are built by hand have milder ones
//! (`dynamic/number.rs`): an integer may lose digits in an `f32`, as decimal fractions do.

use super::StepErrorKind;
use super::program::{Loss, Number, NumberKind};
use crate::half;
use crate::wire::read_uint;

/// A number apart from its representation. Every float of up to 64 bits is an f64.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PlainNumber {
    Unsigned(u128),
    Signed(i128),
    Float(f64),
}

/// Reads a number of `from.width` bytes.
pub(super) fn read(bytes: &[u8], from: Number) -> PlainNumber {
    let bits = read_uint(bytes, from.order);
    match from.kind {
        NumberKind::Unsigned => PlainNumber::Unsigned(bits),
        NumberKind::Signed => {
            let unused = 128 - 8 * u32::from(from.width);
            PlainNumber::Signed((bits << unused) as i128 >> unused)
        }
        NumberKind::Bool => PlainNumber::Unsigned(u128::from(bits != 0)),
        NumberKind::Float => PlainNumber::Float(match from.width {
            2 => half::to_f64(bits as u16),
            4 => widen(bits as u32),
            _ => f64::from_bits(bits as u64),
        }),
    }
}

/// The bits of `value` as a `to`.
pub(crate) fn convert(value: PlainNumber, to: Number, loss: Loss) -> Result<u128, StepErrorKind> {
    let (nearest, exact) = match to.kind {
        NumberKind::Unsigned => nearest_unsigned(value, u128::MAX >> (128 - 8 * u32::from(to.width))),
        NumberKind::Signed => {
            let (nearest, exact) = nearest_signed(value, i128::MAX >> (128 - 8 * u32::from(to.width)));
            (nearest as u128, exact)
        }
        NumberKind::Float => nearest_float(value, to.width),
        NumberKind::Bool => nearest_bool(value),
    };
    if exact || loss == Loss::Saturate {
        return Ok(nearest);
    }
    let value = match value {
        PlainNumber::Unsigned(value) => value.to_string(),
        PlainNumber::Signed(value) => value.to_string(),
        PlainNumber::Float(value) => value.to_string(),
    };
    Err(StepErrorKind::OutOfRange { value, wanted: name(to) })
}

const TWO_TO_127: f64 = f64::from_bits((1023 + 127) << 52);

/// The nearest integer from 0 to `max`, and whether that is `value`.
fn nearest_unsigned(value: PlainNumber, max: u128) -> (u128, bool) {
    match value {
        PlainNumber::Unsigned(value) => (value.min(max), value <= max),
        PlainNumber::Signed(value) => match u128::try_from(value) {
            Ok(value) => (value.min(max), value <= max),
            Err(_) => (0, false),
        },
        PlainNumber::Float(value) => {
            // `as` cuts off the fraction, saturates, and makes NaN 0.
            let whole = value as u128;
            (whole.min(max), whole <= max && whole as f64 == value && value < 2.0 * TWO_TO_127)
        }
    }
}

/// The nearest integer from `-max - 1` to `max`, and whether that is `value`.
fn nearest_signed(value: PlainNumber, max: i128) -> (i128, bool) {
    let whole = match value {
        PlainNumber::Signed(value) => value,
        PlainNumber::Unsigned(value) => match i128::try_from(value) {
            Ok(value) => value,
            Err(_) => return (max, false),
        },
        PlainNumber::Float(value) => {
            let whole = value as i128;
            if whole as f64 != value || value >= TWO_TO_127 {
                return (whole.clamp(-max - 1, max), false);
            }
            whole
        }
    };
    let nearest = whole.clamp(-max - 1, max);
    (nearest, nearest == whole)
}

/// The bits of the nearest float, and whether nothing but a fraction's precision is lost.
fn nearest_float(value: PlainNumber, width: u8) -> (u128, bool) {
    let (bits, rounded, max) = match (width, value) {
        (4, value) => {
            let (bits, rounded) = nearest_single(value);
            (u64::from(bits), rounded, u64::from(f32::MAX.to_bits()))
        }
        (2, value) => {
            // Integers too large for f64 are beyond the largest half anyway, so rounding twice does no harm.
            let bits = half::from_f64(to_f64(value));
            (u64::from(bits), half::to_f64(bits), u64::from(half::MAX))
        }
        (_, value) => (to_f64(value).to_bits(), to_f64(value), f64::MAX.to_bits()),
    };
    let overflows = rounded.is_infinite() && value != PlainNumber::Float(rounded);
    let exact = match value {
        PlainNumber::Float(_) => !overflows,
        _ => !overflows && is_integer(rounded, value),
    };
    let sign = 1 << (8 * u32::from(width) - 1);
    let bits = if overflows { bits & sign | max } else { bits };
    (u128::from(bits), exact)
}

/// The bits of the f32 nearest to `value`, and its value.
fn nearest_single(value: PlainNumber) -> (u32, f64) {
    let bits = match value {
        PlainNumber::Unsigned(value) => (value as f32).to_bits(),
        PlainNumber::Signed(value) => (value as f32).to_bits(),
        PlainNumber::Float(value) => narrow(value),
    };
    (bits, widen(bits))
}

/// The f64 nearest to `value`.
fn to_f64(value: PlainNumber) -> f64 {
    match value {
        PlainNumber::Unsigned(value) => value as f64,
        PlainNumber::Signed(value) => value as f64,
        PlainNumber::Float(value) => value,
    }
}

/// Whether `float`, which came from rounding `integer`, still is that integer.
fn is_integer(float: f64, integer: PlainNumber) -> bool {
    match integer {
        PlainNumber::Unsigned(value) => float < 2.0 * TWO_TO_127 && float as u128 == value,
        PlainNumber::Signed(value) => float < TWO_TO_127 && float as i128 == value,
        PlainNumber::Float(_) => false,
    }
}

/// f32 to f64. The language leaves the bits of a NaN open; here they are what processors do: sign and payload stay, and
/// it becomes quiet.
pub(super) fn widen(bits: u32) -> f64 {
    let value = f32::from_bits(bits);
    if !value.is_nan() {
        return f64::from(value);
    }
    let (sign, payload) = (u64::from(bits >> 31), u64::from(bits & 0x7f_ffff));
    f64::from_bits(sign << 63 | f64::INFINITY.to_bits() | 1 << 51 | payload << 29)
}

/// f64 to the bits of the nearest f32, NaNs as in [`widen`].
pub(super) fn narrow(value: f64) -> u32 {
    if !value.is_nan() {
        return (value as f32).to_bits();
    }
    let bits = value.to_bits();
    (bits >> 63 << 31) as u32 | f32::INFINITY.to_bits() | 1 << 22 | (bits >> 29) as u32 & 0x7f_ffff
}

/// 0 or 1, and whether that is `value`.
fn nearest_bool(value: PlainNumber) -> (u128, bool) {
    match value {
        PlainNumber::Unsigned(value) => (u128::from(value != 0), value <= 1),
        PlainNumber::Signed(value) => (u128::from(value != 0), value == 0 || value == 1),
        PlainNumber::Float(value) => (u128::from(value != 0.0 && !value.is_nan()), value == 0.0 || value == 1.0),
    }
}

/// What people call the type.
fn name(number: Number) -> String {
    let letter = match number.kind {
        NumberKind::Unsigned => 'u',
        NumberKind::Signed => 'i',
        NumberKind::Float => 'f',
        NumberKind::Bool => return "bool".to_string(),
    };
    format!("{letter}{}", 8 * u32::from(number.width))
}
