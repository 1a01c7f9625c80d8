//! Floating-point numbers of 16 bits, as bits: Rust has no such type yet.

/// An IEEE 754 binary16 number.
///
/// It is compared and hashed by its bits; convert to compare numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct F16(u16);

/// Bits of the fraction in `f32` that `F16` lacks.
const SHIFT: u32 = 23 - 10;

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
        let sign = u32::from(self.0 & 0x8000) << 16;
        let exponent = u32::from(self.0 >> 10) & 0x1f;
        let fraction = u32::from(self.0 & 0x3ff);
        let magnitude = match exponent {
            // Below the normal range: a multiple of 2^-24, which an `f32` holds exactly.
            0 => return f32::from_bits(sign | (fraction as f32 / 16_777_216.0).to_bits()),
            31 => 0xff << 23 | fraction << SHIFT,
            _ => (exponent + 127 - 15) << 23 | fraction << SHIFT,
        };
        f32::from_bits(sign | magnitude)
    }

    /// The nearest number, ties to even; infinite when too large.
    pub fn from_f32(number: f32) -> F16 {
        let bits = number.to_bits();
        let sign = (bits >> 16) as u16 & 0x8000;
        let magnitude = bits & 0x7fff_ffff;
        if magnitude > 0xff << 23 {
            // Not a number; the quiet bit keeps the fraction from becoming zero.
            return F16(sign | 0x7e00 | (magnitude >> SHIFT) as u16 & 0x3ff);
        }
        let rounded = match magnitude >> 23 {
            // From 65520 on it rounds to infinity, which the carry below would exceed.
            exponent if exponent > 127 + 15 => 0x7c00,
            exponent if exponent >= 127 - 14 => shift_rounding(magnitude - ((127 - 15) << 23), SHIFT),
            // Below the normal range: the fraction with its hidden bit, as a multiple of 2^-24.
            exponent if exponent >= 127 - 25 => {
                shift_rounding(magnitude & 0x7f_ffff | 0x80_0000, SHIFT + (127 - 14 - exponent))
            }
            _ => 0,
        };
        F16(sign | rounded as u16)
    }
}

/// Shifts to the right and rounds to the nearest, ties to even.
fn shift_rounding(bits: u32, shift: u32) -> u32 {
    let half = 1 << (shift - 1);
    let rest = bits & ((1 << shift) - 1);
    let whole = bits >> shift;
    whole + u32::from(rest > half || (rest == half && whole & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::F16;

    #[test]
    fn every_number_survives_the_way_to_f32_and_back() {
        for bits in 0..=u16::MAX {
            let number = F16::from_bits(bits);
            let wide = number.to_f32();
            if wide.is_nan() {
                assert!(F16::from_f32(wide).to_f32().is_nan());
            } else {
                assert_eq!(F16::from_f32(wide), number, "{wide}");
            }
        }
    }

    #[test]
    fn known_numbers() {
        let cases = [(1.0, 0x3c00), (-2.0, 0xc000), (65504.0, 0x7bff), (65519.9, 0x7bff), (65520.0, 0x7c00)];
        for (number, bits) in cases {
            assert_eq!(F16::from_f32(number).to_bits(), bits, "{number}");
        }
        assert_eq!(F16::from_f32(2f32.powi(-24)).to_bits(), 1);
        assert_eq!(F16::from_f32(2f32.powi(-25)).to_bits(), 0, "a tie goes to even");
        assert_eq!(F16::from_f32(2f32.powi(-25) * 1.01).to_bits(), 1);
        assert_eq!(F16::from_f32(f32::NEG_INFINITY).to_bits(), 0xfc00);
    }

    #[test]
    fn between_two_neighbours_the_nearer_is_chosen() {
        for bits in 0..0x7bff {
            let (low, high) = (F16::from_bits(bits).to_f32(), F16::from_bits(bits + 1).to_f32());
            let middle = (low + high) / 2.0;
            let even = if bits % 2 == 0 { bits } else { bits + 1 };
            assert_eq!(F16::from_f32(middle).to_bits(), even);
            assert_eq!(F16::from_f32(low + (high - low) * 0.25).to_bits(), bits);
            assert_eq!(F16::from_f32(low + (high - low) * 0.75).to_bits(), bits + 1);
        }
    }
}
