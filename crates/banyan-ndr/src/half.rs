//! Half-precision floats (IEEE 754 binary16), of which only the bits are stored: Rust has no such type yet.
//!
//! Conversions, values and [`F16`] share one rule from and to `f64`. It rounds once, so that every machine gets the same
//! bits. The crate `half` goes through `f32` where the processor has an instruction for that, and rounds twice.

/// The number with the bits `bits`: always exact. NaNs keep sign and payload and become quiet.
pub(crate) fn to_f64(bits: u16) -> f64 {
    let sign = u64::from(bits >> 15) << 63;
    let exponent = u64::from(bits >> 10) & 0x1f;
    let fraction = u64::from(bits) & 0x3ff;
    match exponent {
        0 => {
            // A subnormal is `fraction` units of 2^-24, which f64 holds exactly.
            let magnitude = fraction as f64 * f64::from_bits((1023 - 24) << 52);
            f64::from_bits(magnitude.to_bits() | sign)
        }
        0x1f if fraction == 0 => f64::from_bits(sign | f64::INFINITY.to_bits()),
        0x1f => f64::from_bits(sign | f64::INFINITY.to_bits() | 1 << 51 | fraction << 42),
        _ => f64::from_bits(sign | (exponent + 1023 - 15) << 52 | fraction << 42),
    }
}

/// The bits of the nearest number, ties to the even one; infinity where that overflows.
pub(crate) fn from_f64(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    if value.is_nan() {
        return sign | 0x7e00 | (bits >> 42) as u16 & 0x3ff;
    }
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let significand = bits & ((1 << 52) - 1) | 1 << 52;
    if exponent > 15 {
        return sign | 0x7c00;
    }
    // How many low bits of the significand go away: 42 for normal numbers, more for subnormal ones. Beyond 54 nothing
    // is left, not even half a unit.
    let cut = 42 + (-14 - exponent).max(0);
    if cut > 54 {
        return sign;
    }
    let kept = (significand >> cut) as u16;
    let rest = significand & ((1 << cut) - 1);
    let tie = 1 << (cut - 1);
    let up = u16::from(rest > tie || (rest == tie && kept & 1 == 1));
    // A normal number's leading 1 adds one to the exponent written here; a carry out of the fraction does the same.
    let base = if exponent >= -14 { ((exponent + 14) as u16) << 10 } else { 0 };
    sign | (base + kept + up)
}

/// The largest finite number.
pub(crate) const MAX: u16 = 0x7bff;

/// An IEEE 754 binary16 number.
///
/// It is compared and hashed by its bits; convert to compare numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct F16(u16);

impl F16 {
    /// From its bits.
    pub const fn from_bits(bits: u16) -> F16 {
        F16(bits)
    }

    /// Its bits.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// The same number; exact.
    pub fn to_f32(self) -> f32 {
        to_f64(self.0) as f32
    }

    /// The nearest number, ties to even; infinite when too large.
    pub fn from_f32(number: f32) -> F16 {
        F16::from_f64(f64::from(number))
    }

    /// The same number; exact.
    pub fn to_f64(self) -> f64 {
        to_f64(self.0)
    }

    /// The nearest number, ties to even; infinite when too large.
    pub fn from_f64(number: f64) -> F16 {
        F16(from_f64(number))
    }
}

#[cfg(test)]
mod tests {
    use super::{from_f64, to_f64};

    #[test]
    fn every_half_survives_the_way_to_f64_and_back() {
        for bits in 0..=u16::MAX {
            let value = to_f64(bits);
            let quiet = if value.is_nan() { bits | 0x200 } else { bits };
            assert_eq!(from_f64(value), quiet, "{bits:#06x}");
        }
    }

    #[test]
    fn rounding_goes_to_the_nearest_half_and_ties_to_the_even_one() {
        for bits in 0..0x7bff_u16 {
            let (low, high) = (to_f64(bits), to_f64(bits + 1));
            let middle = (low + high) / 2.0;
            let even = if bits % 2 == 0 { bits } else { bits + 1 };
            assert_eq!(from_f64(middle), even, "{bits:#06x}");
            assert_eq!(from_f64(middle.next_down()), bits, "{bits:#06x}");
            assert_eq!(from_f64(-middle.next_up()), (bits + 1) | 0x8000, "{bits:#06x}");
        }
    }

    #[test]
    fn numbers_beyond_the_largest_half_become_infinite_and_tiny_ones_zero() {
        assert_eq!(from_f64(65519.99), 0x7bff);
        assert_eq!(from_f64(65520.0), 0x7c00);
        assert_eq!(from_f64(f64::MAX), 0x7c00);
        assert_eq!(from_f64(f64::NEG_INFINITY), 0xfc00);
        assert_eq!(from_f64(2f64.powi(-25)), 0);
        assert_eq!(from_f64(2f64.powi(-25).next_up()), 1);
        assert_eq!(from_f64(-f64::MIN_POSITIVE), 0x8000);
    }
}
