//! Floats of 16 bits, which Rust has no stable type for: from and to `f64`.

/// The value of the bits of a 16-bit float. Exact.
pub(crate) fn half_to_f64(bits: u16) -> f64 {
    let sign = u64::from(bits >> 15) << 63;
    let exponent = u64::from(bits >> 10) & 0x1f;
    let fraction = u64::from(bits) & 0x3ff;
    let magnitude = match exponent {
        0 => return f64::from_bits((fraction as f64 * 2f64.powi(-24)).to_bits() | sign),
        0x1f => 0x7ff << 52 | fraction << 42,
        _ => (exponent + 1023 - 15) << 52 | fraction << 42,
    };
    f64::from_bits(sign | magnitude)
}

/// The bits of the nearest 16-bit float, ties to even. Too large numbers become infinite.
pub(crate) fn half_from_f64(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 48) & 0x8000) as u16;
    if value.is_nan() {
        // The quiet bit is set so that a payload in the lost bits cannot turn it into an infinity.
        return sign | 0x7e00 | ((bits >> 42) & 0x3ff) as u16;
    }
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    if exponent > 15 {
        return sign | 0x7c00;
    }
    if exponent < -25 {
        return sign;
    }
    // How many bits of the significand are lost: more of them below the normal range.
    let lost = 42 + (-14 - exponent).max(0) as u32;
    let significand = (bits & ((1 << 52) - 1)) | 1 << 52;
    let kept = (significand >> lost) as u16;
    let rest = significand & ((1 << lost) - 1);
    let tie = 1u64 << (lost - 1);
    let up = rest > tie || (rest == tie && kept & 1 == 1);
    let base = if exponent < -14 { kept } else { (((exponent + 14) as u16) << 10) + kept };
    sign | (base + u16::from(up))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_16_bit_float_survives_the_way_to_f64_and_back() {
        for bits in 0..=u16::MAX {
            let back = half_from_f64(half_to_f64(bits));
            if half_to_f64(bits).is_nan() {
                assert!(half_to_f64(back).is_nan());
            } else {
                assert_eq!(back, bits);
            }
        }
    }

    #[test]
    fn numbers_between_two_16_bit_floats_round_to_even() {
        assert_eq!(half_from_f64(1.0), 0x3c00);
        assert_eq!(half_from_f64(65504.0), 0x7bff);
        assert_eq!(half_from_f64(65519.9), 0x7bff);
        assert_eq!(half_from_f64(65520.0), 0x7c00);
        assert_eq!(half_from_f64(2049.0), half_from_f64(2048.0));
        assert_eq!(half_from_f64(2051.0), half_from_f64(2052.0));
        assert_eq!(half_from_f64(2f64.powi(-25)), 0);
        assert_eq!(half_from_f64(2f64.powi(-25) * 1.01), 1);
        assert_eq!(half_from_f64(-0.0), 0x8000);
    }
}
