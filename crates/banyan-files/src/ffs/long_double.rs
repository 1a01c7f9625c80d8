//! C's `long double`, read as the nearest `f64`.
//!
//! A description says how many bytes such a number has and in which order, not what they mean: 16 bytes are an x87
//! number on x86-64, a binary128 on Arm, Z and SPARC, two doubles on POWER. Where the size leaves one meaning, it is
//! taken; otherwise somebody who knows the machine must say ([`LongDouble`]). Nothing is guessed from the numbers.

use super::description::FloatForm;

/// What the 16 bytes of a `long double` mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongDouble {
    /// The 80 bits of the x87 processor, then padding: x86-64.
    X87,
    /// The IEEE 754 format of 128 bits: 64-bit Arm, IBM Z, SPARC, 64-bit RISC-V, 64-bit MIPS.
    Binary128,
    /// Two doubles whose sum is the number: PowerPC and POWER.
    DoubleDouble,
}

/// Bytes of the longest.
pub(super) const LONGEST: usize = 16;

impl LongDouble {
    /// What `width` bytes mean on a machine that writes floating-point numbers in `form`, if that can be known;
    /// otherwise why not, and what to do.
    pub(super) fn find(width: u32, form: FloatForm, told: Option<LongDouble>) -> Result<LongDouble, String> {
        match (width, form, told) {
            // No other processor has numbers of these sizes in this order.
            (10 | 12, FloatForm::Little, _) => Ok(LongDouble::X87),
            (16, FloatForm::Little, Some(told)) => Ok(told),
            (16, FloatForm::Big, Some(told @ (LongDouble::Binary128 | LongDouble::DoubleDouble))) => Ok(told),
            (16, FloatForm::Big, Some(LongDouble::X87)) => {
                Err("a long double of a big-endian machine, which cannot be an x87 number as was told; \
                     tell binary128 or double-double"
                    .into())
            }
            (16, FloatForm::Little | FloatForm::Big, None) => {
                Err("a long double of 16 bytes, and the description does not say what they mean; \
                     tell it: x87 (written on x86-64), binary128 (Arm, Z, SPARC) or double-double (POWER), \
                     by Reader::assume_long_doubles or --long-double"
                    .into())
            }
            _ => Err(format!(
                "a long double of {width} bytes in the order {form:?}, which no supported machine writes; \
                 write the file again with doubles"
            )),
        }
    }

    /// The nearest `f64`; of two, the even one. Infinities stay, and whatever is not a number becomes a quiet NaN.
    ///
    /// # Panics
    /// When there are fewer bytes than the meaning has, or more than 16: [`LongDouble::find`] says which go together.
    pub(super) fn to_f64(self, bytes: &[u8], form: FloatForm) -> f64 {
        let mut little = [0; LONGEST];
        match form {
            FloatForm::Big => bytes.iter().rev().zip(&mut little).for_each(|(from, to)| *to = *from),
            FloatForm::Little | FloatForm::Mixed => little[..bytes.len()].copy_from_slice(bytes),
        }
        let bits = u128::from_le_bytes(little);
        match self {
            LongDouble::X87 => from_x87(bits),
            LongDouble::Binary128 => from_binary128(bits),
            LongDouble::DoubleDouble => {
                // The larger comes first, on machines of either order.
                let (low, high) = (bits as u64, (bits >> 64) as u64);
                let (first, second) = if form == FloatForm::Big { (high, low) } else { (low, high) };
                from_double_double(f64::from_bits(first), f64::from_bits(second))
            }
        }
    }
}

/// The exponent that stands for what is no finite number, and the one that stands for 1.
const NOT_FINITE: u128 = 0x7fff;
const BIAS: i32 = 0x3fff;

fn from_x87(bits: u128) -> f64 {
    let (significand, exponent, negative) = (bits as u64, bits >> 64 & NOT_FINITE, bits >> 79 & 1 == 1);
    // Numbers without this bit are too small for an `f64`, or are what the processor calls invalid.
    let is_whole = significand >> 63 == 1;
    match exponent {
        0 => zero(negative),
        _ if !is_whole => not_a_number(negative, 0),
        NOT_FINITE if significand << 1 == 0 => infinity(negative),
        NOT_FINITE => not_a_number(negative, significand << 1),
        _ => nearest(negative, u128::from(significand) << 64, exponent as i32 - BIAS),
    }
}

fn from_binary128(bits: u128) -> f64 {
    let (fraction, exponent, negative) = (bits << 16, bits >> 112 & NOT_FINITE, bits >> 127 == 1);
    match exponent {
        // Smaller than anything an `f64` can tell from zero.
        0 => zero(negative),
        NOT_FINITE if fraction == 0 => infinity(negative),
        NOT_FINITE => not_a_number(negative, (fraction >> 64) as u64),
        _ => nearest(negative, 1 << 127 | fraction >> 1, exponent as i32 - BIAS),
    }
}

fn from_double_double(first: f64, second: f64) -> f64 {
    // What stands behind an infinity or a NaN means nothing.
    if first.is_finite() { first + second } else { first }
}

fn zero(negative: bool) -> f64 {
    if negative { -0.0 } else { 0.0 }
}

fn infinity(negative: bool) -> f64 {
    if negative { f64::NEG_INFINITY } else { f64::INFINITY }
}

/// A quiet NaN with the first bits of what distinguishes it.
fn not_a_number(negative: bool, fraction: u64) -> f64 {
    const QUIET: u64 = 0x7ff8 << 48;
    f64::from_bits(u64::from(negative) << 63 | QUIET | fraction >> 12)
}

/// The `f64` nearest to a number: its significant bits, the first of which is set and worth two to the `exponent`.
fn nearest(negative: bool, significand: u128, exponent: i32) -> f64 {
    const LARGEST: i32 = f64::MAX_EXP - 1;
    const SMALLEST: i32 = f64::MIN_EXP - 1;
    if exponent > LARGEST {
        return infinity(negative);
    }
    // A normal number keeps 53 bits; the smaller it is beyond that, the fewer.
    let dropped = (128 - f64::MANTISSA_DIGITS).saturating_add_signed((SMALLEST - exponent).max(0));
    if dropped > 128 {
        return zero(negative);
    }
    let kept = significand.checked_shr(dropped).unwrap_or(0) as u64;
    let rest = significand << (128 - dropped);
    const HALF: u128 = 1 << 127;
    let up = rest > HALF || (rest == HALF && kept & 1 == 1);
    // The first bit of a normal number adds one to the exponent below it, and so does rounding up to a power of two.
    let below = (exponent - SMALLEST).max(0) as u64;
    f64::from_bits(u64::from(negative) << 63 | ((below << 52) + kept + u64::from(up)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn x87(sign_and_exponent: u16, significand: u64) -> f64 {
        let bits = u128::from(sign_and_exponent) << 64 | u128::from(significand);
        LongDouble::X87.to_f64(&bits.to_le_bytes()[..10], FloatForm::Little)
    }

    fn binary128(bits: u128) -> f64 {
        let little = LongDouble::Binary128.to_f64(&bits.to_le_bytes(), FloatForm::Little);
        let big = LongDouble::Binary128.to_f64(&bits.to_be_bytes(), FloatForm::Big);
        assert_eq!(little.to_bits(), big.to_bits());
        little
    }

    fn double_double(first: f64, second: f64) -> f64 {
        let little = [first.to_le_bytes(), second.to_le_bytes()].concat();
        let big = [first.to_be_bytes(), second.to_be_bytes()].concat();
        let read = LongDouble::DoubleDouble.to_f64(&little, FloatForm::Little);
        assert_eq!(read.to_bits(), LongDouble::DoubleDouble.to_f64(&big, FloatForm::Big).to_bits());
        read
    }

    #[test]
    fn x87_numbers_are_read() {
        assert_eq!(x87(0x3fff, 1 << 63), 1.0);
        assert_eq!(x87(0xc000, 0xc90f_daa2_2168_c235), -std::f64::consts::PI);
        assert_eq!(x87(0x7ffe, u64::MAX), f64::INFINITY, "larger than any f64");
        assert_eq!(x87(0x8000, 0).to_bits(), (-0.0_f64).to_bits());
        assert_eq!(x87(0x0001, 1 << 63), 0.0, "smaller than any f64");
        assert_eq!((x87(0x7fff, 1 << 63), x87(0xffff, 1 << 63)), (f64::INFINITY, f64::NEG_INFINITY));
    }

    #[test]
    fn what_the_x87_calls_invalid_is_not_a_number() {
        for (exponent, significand) in [(0x3fff, 1), (0x7fff, 0), (0x7fff, 3 << 62), (0x7fff, 1 << 63 | 1)] {
            assert!(x87(exponent, significand).is_nan(), "{exponent:#x} {significand:#x}");
        }
    }

    #[test]
    fn binary128_numbers_are_read() {
        assert_eq!(binary128(0x3fff_0000_0000_0000_0000_0000_0000_0000), 1.0);
        assert_eq!(binary128(0xc000_921f_b544_42d1_8469_898c_c517_01b8), -std::f64::consts::PI);
        assert_eq!(binary128(0x7ffe_ffff_ffff_ffff_ffff_ffff_ffff_ffff), f64::INFINITY, "larger than any f64");
        assert_eq!(binary128(0x8000 << 112).to_bits(), (-0.0_f64).to_bits());
        assert_eq!(binary128(1), 0.0, "smaller than any f64");
        assert_eq!((binary128(0x7fff << 112), binary128(0xffff << 112)), (f64::INFINITY, f64::NEG_INFINITY));
        assert!(binary128(0x7fff << 112 | 1).is_nan());
    }

    #[test]
    fn the_bits_of_a_nan_are_kept_as_far_as_they_go() {
        let payload = 0x8_1234_5678_9abc_u64;
        let wanted = 0xfff0_u64 << 48 | payload;
        assert_eq!(x87(0xffff, 1 << 63 | payload << 11).to_bits(), wanted);
        assert_eq!(binary128(0xffff << 112 | u128::from(payload) << 60).to_bits(), wanted);
    }

    #[test]
    fn two_doubles_are_added() {
        assert_eq!(double_double(1.0, f64::EPSILON / 2.0), 1.0, "a tie goes to the even one");
        assert_eq!(double_double(1.0, f64::EPSILON / 1.9), 1.0 + f64::EPSILON);
        assert_eq!(double_double(f64::INFINITY, f64::NEG_INFINITY), f64::INFINITY);
        assert!(double_double(f64::NAN, 1.0).is_nan());
    }

    #[test]
    fn halves_go_to_the_even_neighbour_and_more_than_halves_up() {
        let one = 0x3fff_u128 << 112;
        let half = 1_u128 << 59;
        let next = 1.0 + f64::EPSILON;
        assert_eq!((binary128(one | half), binary128(one | (half + 1))), (1.0, next));
        assert_eq!((binary128(one | half << 1 | half), binary128(one | (half - 1))), (1.0 + 2.0 * f64::EPSILON, 1.0));
        assert_eq!(binary128(one | ((1 << 112) - 1)), 2.0, "up to the next power of two");
        assert_eq!((x87(0x3fff, 1 << 63 | 1 << 10), x87(0x3fff, 1 << 63 | 1 << 10 | 1)), (1.0, next));
        let largest = 0x43fe_u128 << 112 | ((1 << 112) - 1);
        assert_eq!((binary128(largest), binary128(largest - half)), (f64::INFINITY, f64::MAX));
    }

    #[test]
    fn the_smallest_numbers_round_like_all_others() {
        let smallest = f64::from_bits(1);
        let power = |exponent: i32| (0x3fff + exponent) as u128;
        assert_eq!(binary128(power(-1074) << 112), smallest);
        assert_eq!(binary128(power(-1075) << 112), 0.0, "half of it is a tie with zero");
        assert_eq!(binary128(power(-1075) << 112 | 1), smallest);
        assert_eq!(binary128(power(-1076) << 112 | ((1 << 112) - 1)), 0.0);
        assert_eq!(binary128(power(-1074) << 112 | 1 << 111), f64::from_bits(2), "one and a half");
        assert_eq!(binary128(power(-1023) << 112 | ((1 << 112) - 1)), f64::MIN_POSITIVE);
    }

    /// The bits of an `f64` as a binary128, exactly.
    fn widened(double: f64) -> u128 {
        let bits = double.to_bits();
        let (sign, exponent, fraction) = (u128::from(bits >> 63), (bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let (exponent, fraction) = match exponent {
            0 if fraction == 0 => (0, 0),
            0 => {
                let shift = fraction.leading_zeros() - 11;
                (0x3fff - 1022 - shift as i32, fraction << shift & ((1 << 52) - 1))
            }
            0x7ff => (0x7fff, fraction),
            _ => (exponent - 1023 + 0x3fff, fraction),
        };
        sign << 127 | (exponent as u128) << 112 | u128::from(fraction) << 60
    }

    proptest! {
        #[test]
        fn every_f64_is_read_back_from_its_wider_form(bits: u64) {
            let double = f64::from_bits(bits);
            prop_assume!(!double.is_nan());
            let wide = widened(double);
            prop_assert_eq!(binary128(wide).to_bits(), bits);
            prop_assert_eq!(double_double(double, 0.0).to_bits(), (double + 0.0).to_bits());
            if double.is_finite() && double != 0.0 {
                let significand = (1 << 63 | wide << 16 >> 65) as u64;
                prop_assert_eq!(x87((wide >> 112) as u16, significand).to_bits(), bits);
            }
        }

        #[test]
        fn a_little_more_or_less_than_an_f64_rounds_to_it(bits: u64, off in 1_u128..1 << 59) {
            let double = f64::from_bits(bits);
            prop_assume!(double.is_normal() && double.abs() > f64::MIN_POSITIVE);
            let wide = widened(double);
            prop_assert_eq!(binary128(wide + off).to_bits(), bits);
            // Below a power of two neighbours are twice as close.
            prop_assert_eq!(binary128(wide - off / 2).to_bits(), bits);
        }
    }
}
