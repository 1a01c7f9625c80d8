//! Exact sums against integers of any size.

use num_bigint::{BigInt, BigUint, Sign};
use proptest::prelude::*;

use super::super::exact::Exact;

/// A float in units of 2^-1074.
fn units(value: f64) -> BigInt {
    let bits = value.to_bits();
    let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    let magnitude = match exponent {
        0 => BigInt::from(fraction),
        _ => BigInt::from(fraction | 1 << 52) << (exponent - 1),
    };
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

/// The float nearest to so many units, ties to even.
fn nearest(sum: &BigInt) -> f64 {
    let magnitude = sum.magnitude();
    let bits = magnitude.bits();
    let cut = bits.saturating_sub(53);
    let mut kept: BigUint = magnitude >> cut;
    let rest = magnitude - (&kept << cut);
    let half = if cut == 0 { BigUint::ZERO } else { BigUint::from(1_u8) << (cut - 1) };
    if cut > 0 && (rest > half || rest == half && kept.bit(0)) {
        kept += 1_u8;
    }
    let kept = u64::try_from(kept).expect("53 bits, or one more");
    // In two steps, so that both factors are floats. Neither rounds: what is kept fits 53 bits.
    let scaled = kept as f64 * 2_f64.powi(-1000);
    let value = match cut.checked_sub(74) {
        Some(doublings) => (0..doublings).fold(scaled, |value, _| value * 2.0),
        None => scaled * 2_f64.powi(cut as i32 - 74),
    };
    if sum.sign() == Sign::Minus { -value } else { value }
}

fn finite() -> impl Strategy<Value = f64> {
    let bits = any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |value| value.is_finite());
    let near =
        (-1_000_000_i64..1_000_000, -60_i32..60).prop_map(|(value, exponent)| value as f64 * 2_f64.powi(exponent));
    let small = (0_u64..1 << 54).prop_map(f64::from_bits);
    let halves = (1_u64 << 52..1 << 53, 0_i32..3).prop_map(|(value, exponent)| value as f64 * 2_f64.powi(-exponent));
    prop_oneof![bits, near, small, halves]
}

fn exact(values: &[f64]) -> Exact {
    let mut sum = Exact::new();
    values.iter().for_each(|value| sum.add(*value));
    sum
}

proptest! {
    #[test]
    fn one_float_is_its_own_sum(value in finite()) {
        prop_assert_eq!(exact(&[value]).value(), value);
    }

    #[test]
    fn a_sum_is_the_exact_sum_rounded_once(values in prop::collection::vec(finite(), 0..40)) {
        let wanted: BigInt = values.iter().map(|value| units(*value)).sum();
        prop_assert_eq!(exact(&values).value().to_bits(), (nearest(&wanted) + 0.0).to_bits());
    }

    #[test]
    fn what_is_added_and_taken_away_leaves_nothing(values in prop::collection::vec(finite(), 0..20)) {
        let negated: Vec<f64> = values.iter().rev().map(|value| -value).collect();
        let all = [&values[..], &negated].concat();
        prop_assert_eq!(exact(&all), Exact::new());
    }
}

#[test]
fn the_largest_floats_add_up_beyond_all_floats_and_come_back() {
    assert_eq!(exact(&[f64::MAX, f64::MAX]).value(), f64::INFINITY);
    assert_eq!(exact(&[f64::MIN, f64::MIN]).value(), f64::NEG_INFINITY);
    assert_eq!(exact(&[f64::MAX, f64::MAX, f64::MIN, 1.0]).value(), f64::MAX);
    assert_eq!(exact(&[1e308, 1.0, -1e308]).value(), 1.0);
}

#[test]
fn infinities_and_nan_behave_as_in_a_sum() {
    assert_eq!(exact(&[f64::INFINITY, 1.0]).value(), f64::INFINITY);
    assert_eq!(exact(&[f64::NEG_INFINITY, f64::MAX]).value(), f64::NEG_INFINITY);
    assert!(exact(&[f64::INFINITY, f64::NEG_INFINITY]).value().is_nan());
    assert!(exact(&[f64::NAN, 1.0]).value().is_nan());
}
