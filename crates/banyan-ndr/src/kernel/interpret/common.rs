//! The conversions of numbers that are met most, without the detour that serves all of them.
//!
//! They know only values that fit: whatever does not is left to the careful way, which does all of it again.

use crate::ByteOrder;
use crate::kernel::number;
use crate::kernel::program::{Number, NumberKind};

/// Converts the numbers that fill `src` into those that fill `dst`. False where this is none of the conversions known
/// here, or a value does not fit; what was written is then unspecified.
pub(super) fn convert(src: &[u8], dst: &mut [u8], from: Number, to: Number) -> bool {
    use NumberKind::{Float, Signed, Unsigned};
    let swapped = [from, to].map(|number| number.order != ByteOrder::NATIVE);
    match ((from.kind, from.width), (to.kind, to.width)) {
        ((Signed, 4), (Signed, 8)) => each(src, dst, swapped, |x| Some(i64::from(i32::from_ne_bytes(x)).to_ne_bytes())),
        ((Signed, 8), (Signed, 4)) => {
            each(src, dst, swapped, |x| i32::try_from(i64::from_ne_bytes(x)).ok().map(i32::to_ne_bytes))
        }
        ((Unsigned, 8), (Unsigned, 4)) => {
            each(src, dst, swapped, |x| u32::try_from(u64::from_ne_bytes(x)).ok().map(u32::to_ne_bytes))
        }
        ((Signed, 4), (Float, 8)) => each(src, dst, swapped, |x| Some(f64::from(i32::from_ne_bytes(x)).to_ne_bytes())),
        ((Float, 4), (Float, 8)) => {
            each(src, dst, swapped, |x| Some(number::widen(u32::from_ne_bytes(x)).to_bits().to_ne_bytes()))
        }
        ((Float, 8), (Float, 4)) => each(src, dst, swapped, |x| single(f64::from_ne_bytes(x)).map(u32::to_ne_bytes)),
        _ => false,
    }
}

/// The bits of the nearest f32, unless a finite number becomes infinite.
fn single(value: f64) -> Option<u32> {
    let bits = number::narrow(value);
    let overflows = value.is_finite() && f32::from_bits(bits).is_infinite();
    (!overflows).then_some(bits)
}

/// Converts number by number, in native byte order. `swapped` says of source and target whether they have the other.
#[inline]
fn each<const FROM: usize, const TO: usize>(
    src: &[u8],
    dst: &mut [u8],
    swapped: [bool; 2],
    convert: impl Fn([u8; FROM]) -> Option<[u8; TO]>,
) -> bool {
    for (source, target) in src.as_chunks().0.iter().zip(dst.as_chunks_mut().0) {
        let mut bytes = *source;
        if swapped[0] {
            bytes.reverse();
        }
        let Some(mut bytes) = convert(bytes) else { return false };
        if swapped[1] {
            bytes.reverse();
        }
        *target = bytes;
    }
    true
}
