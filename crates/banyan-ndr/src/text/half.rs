//! 16-bit floats by value: their bits from and to the wider floats that text is made of.

/// The value of a 16-bit float; exact.
pub(super) fn half_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let fraction = u32::from(bits) & 0x3ff;
    let magnitude = match exponent {
        0 => (fraction as f32 / (1 << 24) as f32).to_bits(),
        0x1f => 0x7f80_0000 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

/// The 16-bit float nearest to a finite number, ties to even; `None` when it is too large.
pub(super) fn half_from_f64(value: f64) -> Option<u16> {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude >= 65520.0 || magnitude.is_nan() {
        return None;
    }
    // The exponent of the result's last place: subnormal numbers all have the smallest one.
    let exponent = (((magnitude.to_bits() >> 52) as i32) - 1023).max(-14);
    let places = (magnitude * 2f64.powi(10 - exponent)).round_ties_even() as u16;
    // Normal numbers have 1024 to 2048 places, of which the first 1024 are what the exponent field implies; a
    // carry to 2048 moves into that field by itself.
    let field = (exponent + 14) as u16;
    Some(sign | ((field << 10) + places))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_half_survives_the_way_through_f64() {
        for bits in 0..=u16::MAX {
            let value = half_to_f32(bits);
            if value.is_finite() {
                assert_eq!(half_from_f64(f64::from(value)), Some(bits), "{bits:#06x} = {value}");
            }
        }
    }

    #[test]
    fn numbers_between_two_halves_go_to_the_even_one() {
        assert_eq!(half_from_f64(2049.0), half_from_f64(2048.0));
        assert_eq!(half_from_f64(2051.0), half_from_f64(2052.0));
        assert_eq!(half_from_f64(65519.0), Some(0x7bff));
        assert_eq!(half_from_f64(65520.0), None);
    }
}
