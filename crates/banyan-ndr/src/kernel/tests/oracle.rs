//! Programs run as their documentation reads: step by step, number by number, byte by byte, unmerged.

use std::cmp::Ordering;

use crate::ByteOrder;
use crate::kernel::program::{Instruction, Loss, Number, NumberKind, Program};
use crate::kernel::{StepError, StepErrorKind};

pub(super) fn run(program: &Program, src: &[u8], count: usize) -> Result<Vec<u8>, StepError> {
    let mut dst = vec![0xa5; program.dst_size * count];
    for item in 0..count {
        let (from, to) = (item * program.src_size, item * program.dst_size);
        steps(&program.steps, src, &mut dst, from, to).map_err(|(path, kind)| StepError { path, item, kind })?;
    }
    Ok(dst)
}

type OracleFailure = (u32, StepErrorKind);

fn steps(steps: &[Instruction], src: &[u8], dst: &mut [u8], from: usize, to: usize) -> Result<(), OracleFailure> {
    for one in steps {
        step(one, src, dst, from, to)?;
    }
    Ok(())
}

fn step(step: &Instruction, source: &[u8], target: &mut [u8], from: usize, to: usize) -> Result<(), OracleFailure> {
    match step {
        Instruction::Copy { src, dst, len } => {
            for i in 0..*len as usize {
                target[to + *dst as usize + i] = source[from + *src as usize + i];
            }
        }
        Instruction::Swap { src, dst, width, count } => {
            let width = usize::from(*width);
            for number in 0..*count as usize {
                for i in 0..width {
                    let at = number * width;
                    target[to + *dst as usize + at + i] = source[from + *src as usize + at + width - 1 - i];
                }
            }
        }
        Instruction::Zero { dst, len } => target[to + *dst as usize..][..*len as usize].fill(0),
        Instruction::Fill { dst, bytes } => target[to + *dst as usize..][..bytes.len()].copy_from_slice(bytes),
        Instruction::Number { src, dst, count, from: kind, to: wanted, loss, path } => {
            for i in 0..*count as usize {
                let at = from + *src as usize + i * usize::from(kind.width);
                let value = read(&source[at..][..usize::from(kind.width)], *kind);
                let bits = convert(value, *kind, *wanted, *loss).map_err(|kind| (*path, kind))?;
                let at = to + *dst as usize + i * usize::from(wanted.width);
                write(&mut target[at..][..usize::from(wanted.width)], wanted.order, bits);
            }
        }
        Instruction::Renumber { src, dst, count, from: kind, to: wanted, table, path } => {
            for i in 0..*count as usize {
                let at = from + *src as usize + i * usize::from(kind.width);
                let Exact::Integer { negative, magnitude } = read(&source[at..][..usize::from(kind.width)], *kind)
                else {
                    panic!("enumerations are integers")
                };
                let value = if negative { -(magnitude as i128) } else { magnitude as i128 };
                let Some((_, bits)) = table.iter().find(|(key, _)| *key == value) else {
                    return Err((*path, StepErrorKind::Unknown { value: value.to_string() }));
                };
                let at = to + *dst as usize + i * usize::from(wanted.width);
                write(&mut target[at..][..usize::from(wanted.width)], wanted.order, *bits as u128);
            }
        }
        Instruction::Require { src, path } => {
            if source[from + *src as usize] == 0 {
                return Err((*path, StepErrorKind::Absent));
            }
        }
        Instruction::IfPresent { src, dst, otherwise, steps: inner } => {
            if source[from + *src as usize] == 0 {
                target[to + *dst as usize..][..otherwise.len()].copy_from_slice(otherwise);
            } else {
                steps(inner, source, target, from, to)?;
            }
        }
        Instruction::Repeat { src, dst, count, src_stride, dst_stride, steps: inner } => {
            for i in 0..*count as usize {
                let from = from + *src as usize + i * *src_stride as usize;
                let to = to + *dst as usize + i * *dst_stride as usize;
                steps(inner, source, target, from, to)?;
            }
        }
        Instruction::Permute { src, dst, order, src_stride, dst_stride, steps: inner } => {
            for (i, taken) in order.iter().enumerate() {
                let from = from + *src as usize + *taken as usize * *src_stride as usize;
                let to = to + *dst as usize + i * *dst_stride as usize;
                steps(inner, source, target, from, to)?;
            }
        }
        Instruction::Shuffle { .. } => panic!("not planned"),
    }
    Ok(())
}

/// A number as what it stands for.
#[derive(Clone, Copy)]
enum Exact {
    Integer {
        negative: bool,
        magnitude: u128,
    },
    /// Not NaN, not infinite: significand times two to the exponent.
    Finite {
        negative: bool,
        significand: u64,
        exponent: i32,
    },
    Infinite {
        negative: bool,
    },
    /// The payload, its highest bit at bit 51.
    Nan {
        negative: bool,
        payload: u64,
    },
}

/// Bits of fraction and of exponent.
fn shape(width: u8) -> (u32, u32) {
    match width {
        2 => (10, 5),
        4 => (23, 8),
        _ => (52, 11),
    }
}

fn read(bytes: &[u8], number: Number) -> Exact {
    let digits: Vec<u8> = match number.order {
        ByteOrder::Big => bytes.to_vec(),
        ByteOrder::Little => bytes.iter().rev().copied().collect(),
    };
    let bits = digits.iter().fold(0_u128, |bits, digit| bits << 8 | u128::from(*digit));
    let sign = bits >> (8 * digits.len() - 1) == 1;
    match number.kind {
        NumberKind::Unsigned => Exact::Integer { negative: false, magnitude: bits },
        NumberKind::Bool => Exact::Integer { negative: false, magnitude: u128::from(bits != 0) },
        NumberKind::Signed if sign => {
            let ones = if digits.len() == 16 { 0 } else { u128::MAX << (8 * digits.len()) };
            Exact::Integer { negative: true, magnitude: (bits | ones).wrapping_neg() }
        }
        NumberKind::Signed => Exact::Integer { negative: false, magnitude: bits },
        NumberKind::Float => {
            let (fraction_bits, exponent_bits) = shape(number.width);
            let fraction = (bits & ((1 << fraction_bits) - 1)) as u64;
            let exponent = (bits >> fraction_bits) as i32 & ((1 << exponent_bits) - 1);
            let bias = (1 << (exponent_bits - 1)) - 1;
            let lowest = 1 - bias - fraction_bits as i32;
            if exponent == 0 {
                Exact::Finite { negative: sign, significand: fraction, exponent: lowest }
            } else if exponent < (1 << exponent_bits) - 1 {
                let significand = fraction | 1 << fraction_bits;
                Exact::Finite { negative: sign, significand, exponent: lowest + exponent - 1 }
            } else if fraction == 0 {
                Exact::Infinite { negative: sign }
            } else {
                Exact::Nan { negative: sign, payload: fraction << (52 - fraction_bits) }
            }
        }
    }
}

fn write(bytes: &mut [u8], order: ByteOrder, bits: u128) {
    let len = bytes.len();
    for (i, byte) in bytes.iter_mut().enumerate() {
        let place = if order == ByteOrder::Little { i } else { len - 1 - i };
        *byte = (bits >> (8 * place)) as u8;
    }
}

fn convert(value: Exact, from: Number, to: Number, loss: Loss) -> Result<u128, StepErrorKind> {
    // The same type keeps its bits, quiet NaN or not.
    if let (Exact::Nan { negative, payload }, true) = (value, from.kind == to.kind && from.width == to.width) {
        let (fraction_bits, exponent_bits) = shape(to.width);
        let exponent = ((1_u128 << exponent_bits) - 1) << fraction_bits;
        let sign = u128::from(negative) << (8 * u32::from(to.width) - 1);
        return Ok(sign | exponent | u128::from(payload >> (52 - fraction_bits)));
    }
    let (bits, lossless) = match to.kind {
        NumberKind::Unsigned | NumberKind::Signed => to_integer(value, to),
        NumberKind::Bool => {
            let (bits, lossless) = to_integer(value, Number { kind: NumberKind::Unsigned, width: 16, ..to });
            let nonzero = match value {
                Exact::Integer { magnitude, .. } => magnitude != 0,
                Exact::Finite { significand, .. } => significand != 0,
                Exact::Infinite { .. } => true,
                Exact::Nan { .. } => false,
            };
            (u128::from(nonzero), lossless && bits <= 1)
        }
        NumberKind::Float => to_float(value, to.width),
    };
    if lossless || loss == Loss::Saturate {
        return Ok(bits);
    }
    let letter = match to.kind {
        NumberKind::Unsigned => "u",
        NumberKind::Signed => "i",
        NumberKind::Float => "f",
        NumberKind::Bool => "bool",
    };
    let width = if to.kind == NumberKind::Bool { String::new() } else { (to.width as usize * 8).to_string() };
    Err(StepErrorKind::OutOfRange { value: text(value), wanted: format!("{letter}{width}") })
}

fn text(value: Exact) -> String {
    let sign = |negative| if negative { "-" } else { "" };
    match value {
        Exact::Integer { negative, magnitude } => format!("{}{magnitude}", sign(negative)),
        Exact::Finite { negative, significand, exponent } => {
            // In two steps: the lowest powers of two are not numbers of their own.
            let half = exponent / 2;
            let magnitude = significand as f64 * 2f64.powi(half) * 2f64.powi(exponent - half);
            (if negative { -magnitude } else { magnitude }).to_string()
        }
        Exact::Infinite { negative } => format!("{}inf", sign(negative)),
        Exact::Nan { .. } => "NaN".to_string(),
    }
}

/// The bits of the nearest integer in two's complement, and whether it is the number.
fn to_integer(value: Exact, to: Number) -> (u128, bool) {
    let signed = to.kind == NumberKind::Signed;
    let bits = 8 * u32::from(to.width);
    let most = if signed { u128::MAX >> (129 - bits) } else { u128::MAX >> (128 - bits) };
    let least = if signed { most + 1 } else { 0 };
    let (negative, magnitude, whole) = match value {
        Exact::Integer { negative, magnitude } => (negative, Some(magnitude), true),
        Exact::Nan { .. } => return (0, false),
        Exact::Infinite { negative } => (negative, None, false),
        Exact::Finite { negative, significand, exponent } => {
            let significand = u128::from(significand);
            if exponent >= 0 {
                let fits = significand == 0 || significand.leading_zeros() as i32 >= exponent;
                (negative, fits.then(|| significand.checked_shl(exponent as u32).unwrap_or(0)), true)
            } else {
                let whole = significand.checked_shr(-exponent as u32).unwrap_or(0);
                let back = whole.checked_shl(-exponent as u32).unwrap_or(0);
                (negative, Some(whole), back == significand)
            }
        }
    };
    let limit = if negative { least } else { most };
    let nearest = magnitude.map_or(limit, |magnitude| magnitude.min(limit));
    let exact = whole && magnitude == Some(nearest);
    (if negative { nearest.wrapping_neg() } else { nearest }, exact)
}

/// The bits of the nearest float, found by trying, and whether `Loss` has nothing against it.
fn to_float(value: Exact, width: u8) -> (u128, bool) {
    let (fraction_bits, exponent_bits) = shape(width);
    let infinity = ((1_u128 << exponent_bits) - 1) << fraction_bits;
    let sign = |negative: bool| u128::from(negative) << (8 * u32::from(width) - 1);
    let (negative, significand, exponent) = match value {
        Exact::Nan { negative, payload } => {
            let quiet = 1 << (fraction_bits - 1);
            return (sign(negative) | infinity | quiet | u128::from(payload >> (52 - fraction_bits)), true);
        }
        Exact::Infinite { negative } => return (sign(negative) | infinity, true),
        Exact::Integer { negative, magnitude } => (negative, magnitude, 0),
        Exact::Finite { negative, significand, exponent } => (negative, u128::from(significand), exponent),
    };
    // Positive floats are ordered as their bits: the largest that is not above the number is found by halving.
    let (mut low, mut high) = (0, infinity);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if compare(middle, width, significand, exponent) == Ordering::Greater { high = middle } else { low = middle }
    }
    let exact = compare(low, width, significand, exponent) == Ordering::Equal;
    let is_float = matches!(value, Exact::Finite { .. });
    // The middle between two floats has one more bit of fraction.
    let nearest = match compare_middle(low, width, significand, exponent) {
        Ordering::Less => low,
        Ordering::Greater => high,
        Ordering::Equal => low + (low & 1),
    };
    if nearest == infinity {
        return (sign(negative) | (infinity - 1), false);
    }
    (sign(negative) | nearest, exact || is_float)
}

/// Significand and exponent of a positive finite float, or of what would follow the largest.
fn parts(bits: u128, width: u8) -> (u128, i32) {
    let (fraction_bits, exponent_bits) = shape(width);
    let bias = (1 << (exponent_bits - 1)) - 1;
    let fraction = bits & ((1 << fraction_bits) - 1);
    let exponent = (bits >> fraction_bits) as i32;
    let lowest = 1 - bias - fraction_bits as i32;
    if exponent == 0 { (fraction, lowest) } else { (fraction | 1 << fraction_bits, lowest + exponent - 1) }
}

fn compare(bits: u128, width: u8, significand: u128, exponent: i32) -> Ordering {
    let (own, own_exponent) = parts(bits, width);
    compare_scaled(own, own_exponent, significand, exponent)
}

/// Compares the number with the middle between the float and the next one.
fn compare_middle(bits: u128, width: u8, significand: u128, exponent: i32) -> Ordering {
    let (own, own_exponent) = parts(bits, width);
    compare_scaled(2 * own + 1, own_exponent - 1, significand, exponent).reverse()
}

/// Compares `a` times two to `x` with `b` times two to `y`.
fn compare_scaled(a: u128, x: i32, b: u128, y: i32) -> Ordering {
    if a == 0 || b == 0 {
        return a.cmp(&b);
    }
    // The highest bits first, then all bits, moved to the top.
    let top = |value: u128, exponent: i32| 128 - value.leading_zeros() as i32 + exponent;
    top(a, x).cmp(&top(b, y)).then_with(|| (a << a.leading_zeros()).cmp(&(b << b.leading_zeros())))
}
