//! Programs run in the plainest way, one value after the other.
//!
//! Two uses: when a fast kernel fails at an item, this says where in the item (with the indices within its arrays) and
//! at which value; and it is what the fast ways are tested against. It runs programs as the planner writes them, not
//! merged ones.

use super::program::{Loss, Number, NumberKind, Program, Step};
use crate::ByteOrder;
use crate::wire::{read_int, read_uint, write_uint};

/// Where and why an item cannot be converted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failed {
    /// Index into [`Program::paths`].
    pub(crate) path: u32,
    /// The indices that belong into the `[]` of that path, outermost first.
    pub(crate) indices: Vec<usize>,
    pub(crate) cause: Cause,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cause {
    /// A number that the target cannot hold.
    OutOfRange { value: String, wanted: String },
    /// A value of an enumeration that the target does not know.
    Unknown { value: i128 },
    /// No value where there must be one.
    Absent,
}

/// Converts one item.
pub(crate) fn run(program: &Program, src: &[u8], dst: &mut [u8]) -> Result<(), Failed> {
    program.steps.iter().try_for_each(|step| run_step(step, src, dst))
}

fn run_step(step: &Step, src: &[u8], dst: &mut [u8]) -> Result<(), Failed> {
    match step {
        Step::Copy { src: from, dst: to, len } => {
            part_mut(dst, *to, *len).copy_from_slice(part(src, *from, *len));
        }
        Step::Swap { src: from, dst: to, width, count } => {
            let (from, to) = (numbers(src, *from, *width, *count), numbers_mut(dst, *to, *width, *count));
            for (from, to) in from.zip(to) {
                to.copy_from_slice(from);
                to.reverse();
            }
        }
        Step::Zero { dst: to, len } => part_mut(dst, *to, *len).fill(0),
        Step::Fill { dst: to, bytes } => part_mut(dst, *to, bytes.len() as u32).copy_from_slice(bytes),
        Step::Number { src: s, dst: d, count, from, to, loss, path } => {
            let numbers = numbers(src, *s, from.width, *count).zip(numbers_mut(dst, *d, to.width, *count));
            for (index, (s, d)) in numbers.enumerate() {
                let bits = convert(s, *from, *to, *loss).map_err(|cause| Failed {
                    path: *path,
                    indices: vec![index],
                    cause,
                })?;
                write_uint(d, bits, to.order);
            }
        }
        Step::Renumber { src: s, dst: d, count, from, to, table, path } => {
            let numbers = numbers(src, *s, from.width, *count).zip(numbers_mut(dst, *d, to.width, *count));
            for (index, (s, d)) in numbers.enumerate() {
                let value = integer(s, *from);
                let known = table.binary_search_by_key(&value, |(from, _)| *from).map_err(|_| Failed {
                    path: *path,
                    indices: vec![index],
                    cause: Cause::Unknown { value },
                })?;
                write_uint(d, table[known].1 as u128, to.order);
            }
        }
        Step::Require { src: flag, path } => {
            if src[*flag as usize] == 0 {
                return Err(Failed { path: *path, indices: Vec::new(), cause: Cause::Absent });
            }
        }
        Step::IfPresent { src: flag, dst: to, otherwise, steps } => {
            if src[*flag as usize] == 0 {
                part_mut(dst, *to, otherwise.len() as u32).copy_from_slice(otherwise);
            } else {
                steps.iter().try_for_each(|step| run_step(step, src, dst))?;
            }
        }
        Step::Repeat { src: s, dst: d, count, src_stride, dst_stride, steps } => {
            for index in 0..*count {
                let from = &src[(s + index * src_stride) as usize..];
                let to = &mut dst[(d + index * dst_stride) as usize..];
                run_element(steps, from, to, index as usize)?;
            }
        }
        Step::Permute { src: s, dst: d, order, src_stride, dst_stride, steps } => {
            for (index, number) in order.iter().enumerate() {
                let from = &src[(s + number * src_stride) as usize..];
                let to = &mut dst[(*d + index as u32 * dst_stride) as usize..];
                run_element(steps, from, to, index)?;
            }
        }
        Step::Shuffle { .. } => unreachable!("made by merging only"),
    }
    Ok(())
}

fn run_element(steps: &[Step], src: &[u8], dst: &mut [u8], index: usize) -> Result<(), Failed> {
    steps.iter().try_for_each(|step| run_step(step, src, dst)).map_err(|mut failed| {
        failed.indices.insert(0, index);
        failed
    })
}

fn part(bytes: &[u8], at: u32, len: u32) -> &[u8] {
    &bytes[at as usize..][..len as usize]
}

fn part_mut(bytes: &mut [u8], at: u32, len: u32) -> &mut [u8] {
    &mut bytes[at as usize..][..len as usize]
}

fn numbers(bytes: &[u8], at: u32, width: u8, count: u32) -> std::slice::ChunksExact<'_, u8> {
    part(bytes, at, u32::from(width) * count).chunks_exact(usize::from(width))
}

fn numbers_mut(bytes: &mut [u8], at: u32, width: u8, count: u32) -> std::slice::ChunksExactMut<'_, u8> {
    part_mut(bytes, at, u32::from(width) * count).chunks_exact_mut(usize::from(width))
}

fn integer(bytes: &[u8], number: Number) -> i128 {
    match number.kind {
        NumberKind::Signed => read_int(bytes, number.order),
        _ => read_uint(bytes, number.order) as i128,
    }
}

/// The bits of a number in another representation.
fn convert(bytes: &[u8], from: Number, to: Number, loss: Loss) -> Result<u128, Cause> {
    let saturate = loss == Loss::Saturate;
    let out_of_range = |value: String| Cause::OutOfRange { value, wanted: name(to) };
    if from.kind == NumberKind::Float {
        let value = read_float(bytes, from.order);
        return match to.kind {
            NumberKind::Float => narrow(value, to.width, saturate).ok_or_else(|| out_of_range(value.to_string())),
            _ => match whole(value, to) {
                (bits, true) => Ok(bits),
                (bits, false) if saturate => Ok(bits),
                _ => Err(out_of_range(value.to_string())),
            },
        };
    }
    let (negative, magnitude) = match from.kind {
        NumberKind::Signed => {
            let value = read_int(bytes, from.order);
            (value < 0, value.unsigned_abs())
        }
        NumberKind::Bool => (false, u128::from(read_uint(bytes, from.order) != 0)),
        _ => (false, read_uint(bytes, from.order)),
    };
    let (bits, fits) = match to.kind {
        NumberKind::Float => float_of(negative, magnitude, to.width),
        _ => integer_of(negative, magnitude, to),
    };
    if fits || saturate {
        return Ok(bits);
    }
    Err(out_of_range(format!("{}{magnitude}", if negative { "-" } else { "" })))
}

fn name(number: Number) -> String {
    let letter = match number.kind {
        NumberKind::Unsigned => 'u',
        NumberKind::Signed => 'i',
        NumberKind::Float => 'f',
        NumberKind::Bool => return "bool".into(),
    };
    format!("{letter}{}", 8 * u32::from(number.width))
}

/// The nearest integer of the target type towards zero, and whether it is the number itself.
fn integer_of(negative: bool, magnitude: u128, to: Number) -> (u128, bool) {
    if to.kind == NumberKind::Bool {
        return (u128::from(magnitude != 0), !negative && magnitude <= 1);
    }
    let all = u128::MAX >> (128 - 8 * u32::from(to.width));
    let most = match (to.kind, negative) {
        (NumberKind::Signed, false) => all >> 1,
        (NumberKind::Signed, true) => (all >> 1) + 1,
        (_, false) => all,
        (_, true) => 0,
    };
    let held = magnitude.min(most);
    (if negative { held.wrapping_neg() } else { held }, held == magnitude)
}

/// As [`integer_of`], of a float.
fn whole(value: f64, to: Number) -> (u128, bool) {
    if value.is_nan() {
        return (0, false);
    }
    let whole = value.trunc();
    let (bits, fits) = integer_of(whole < 0.0, whole.abs() as u128, to);
    (bits, fits && whole == value && whole.abs() < 2f64.powi(128))
}

/// The nearest float, and whether it is the number itself.
fn float_of(negative: bool, magnitude: u128, width: u8) -> (u128, bool) {
    let sign = if negative { -1.0 } else { 1.0 };
    let (bits, value) = match width {
        4 => {
            let value = (magnitude as f32).min(f32::MAX);
            (u128::from((value * sign as f32).to_bits()), f64::from(value))
        }
        8 => ((((magnitude as f64) * sign).to_bits()).into(), magnitude as f64),
        _ => {
            let half = half_from(magnitude as f64).min(LARGEST_HALF);
            (u128::from(half | if negative { 0x8000 } else { 0 }), half_to(half))
        }
    };
    (bits, value < 2f64.powi(128) && value as u128 == magnitude)
}

/// A float of another width; `None` when a finite one overflows and may not saturate.
fn narrow(value: f64, width: u8, saturate: bool) -> Option<u128> {
    let overflows = match width {
        2 => value.is_finite() && half_to(half_from(value)).is_infinite(),
        4 => value.is_finite() && (value as f32).is_infinite(),
        _ => false,
    };
    if overflows && !saturate {
        return None;
    }
    Some(match width {
        2 if overflows => u128::from(LARGEST_HALF | if value < 0.0 { 0x8000 } else { 0 }),
        2 => u128::from(half_from(value)),
        4 if overflows => u128::from(f32::MAX.copysign(value as f32).to_bits()),
        4 => u128::from((value as f32).to_bits()),
        _ => u128::from(value.to_bits()),
    })
}

fn read_float(bytes: &[u8], order: ByteOrder) -> f64 {
    let bits = read_uint(bytes, order);
    match bytes.len() {
        2 => half_to(bits as u16),
        4 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits as u64),
    }
}

/// Bits of the largest finite number of 16 bits, 65504.
const LARGEST_HALF: u16 = 0x7bff;

/// The value of a 16-bit float.
pub(crate) fn half_to(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// The nearest 16-bit float, ties to even.
pub(crate) fn half_from(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    let bits = if magnitude.is_nan() {
        0x7e00
    } else if magnitude >= 65520.0 {
        0x7c00
    } else if magnitude < 2f64.powi(-14) {
        (magnitude * 2f64.powi(24)).round_ties_even() as u16
    } else {
        let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
        let fraction = (magnitude * 2f64.powi(10 - exponent)).round_ties_even() as u16 - 1024;
        (((exponent + 15) as u16) << 10) + fraction
    };
    sign | bits
}
