//! Sketches: how far off they are, and what they refuse.

use banyan_ndr::Buffer;
use proptest::prelude::*;

use super::super::hyperloglog::HyperLogLog;
use super::super::sketch::Sketch;
use crate::Fault;
use crate::body::{Reader, Writer};
use crate::layout::Places;

/// Bytes of a span, the only field of these bodies.
const SPAN: usize = 2 * size_of::<usize>();

/// Where it lies.
const ALONE: Places<'static> = Places::new(0, &[0]);

fn distinct(values: impl Iterator<Item = u64>) -> HyperLogLog {
    let mut sketch = HyperLogLog::new();
    for value in values {
        sketch.scratch.clear();
        sketch.scratch.extend_from_slice(&value.to_le_bytes());
        sketch.take_scratch();
    }
    sketch
}

fn written(write: impl FnOnce(&mut Writer<'_>)) -> Buffer {
    let mut body = Buffer::new();
    write(&mut Writer::new(&mut body, SPAN));
    body
}

fn estimate(sketch: &HyperLogLog) -> u64 {
    Reader::new(&written(|out| sketch.result(out, ALONE))).u64(0)
}

#[test]
fn distinct_counts_are_off_by_less_than_four_standard_errors() {
    for count in [0_u64, 1, 10, 100, 1_000, 10_000, 200_000] {
        for seed in 0..4 {
            let found = estimate(&distinct((0..count).map(|value| value + (seed << 40))));
            let off = found.abs_diff(count) as f64;
            assert!(off <= (0.065 * count as f64).max(1.0), "{found} instead of {count}");
        }
    }
}

#[test]
fn values_that_came_before_change_no_distinct_count() {
    assert_eq!(estimate(&distinct((0..5000).chain(0..5000))), estimate(&distinct(0..5000)));
}

proptest! {
    #[test]
    fn merged_distinct_counts_are_those_of_all_values(
        one in prop::collection::vec(any::<u64>(), 0..3000), other in prop::collection::vec(any::<u64>(), 0..50)
    ) {
        let mut merged = distinct(one.iter().copied());
        let body = written(|out| distinct(other.iter().copied()).partial(out, ALONE));
        merged.merge(&Reader::new(&body), ALONE).unwrap();
        let all = distinct(one.into_iter().chain(other));
        prop_assert_eq!(&written(|out| merged.partial(out, ALONE))[..], &written(|out| all.partial(out, ALONE))[..]);
    }

    #[test]
    fn any_bytes_are_a_distinct_count_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
        let body = written(|out| out.bytes(0, &bytes));
        let _ = HyperLogLog::new().merge(&Reader::new(&body), ALONE);
    }

    #[test]
    fn quantiles_are_off_by_one_percent_at_most(
        values in prop::collection::vec((1_u32..1_000_000, any::<bool>()), 1..300), share in 0.0..1.0_f64
    ) {
        let mut values: Vec<f64> =
            values.into_iter().map(|(value, negative)| f64::from(value) * if negative { -0.001 } else { 0.001 }).collect();
        let sketch = sketch(&values);
        values.sort_by(f64::total_cmp);
        let wanted = values[(share * (values.len() - 1) as f64) as usize];
        let found = sketch.quantile(share).unwrap();
        prop_assert!((found - wanted).abs() <= 0.0101 * wanted.abs(), "{} instead of {}", found, wanted);
    }

    #[test]
    fn merged_quantiles_are_those_of_all_values(
        one in prop::collection::vec(any::<f64>(), 0..200), other in prop::collection::vec(any::<f64>(), 0..50)
    ) {
        let mut merged = sketch(&one);
        let body = written(|out| sketch(&other).partial(out, ALONE));
        merged.merge(&Reader::new(&body), ALONE).unwrap();
        let all = sketch(&[&one[..], &other].concat());
        for share in [0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0] {
            prop_assert_eq!(merged.quantile(share), all.quantile(share));
        }
    }

    #[test]
    fn bytes_of_a_sketch_with_errors_are_refused_or_another_sketch(
        values in prop::collection::vec(-1e6..1e6_f64, 1..50),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut body = written(|out| sketch(&values).partial(out, ALONE));
        let start = SPAN.next_multiple_of(16);
        for (at, byte) in damage {
            let at = start + at.index(body.len() - start);
            body[at] = byte;
        }
        let mut merged = sketch(&values);
        if merged.merge(&Reader::new(&body), ALONE).is_ok() {
            merged.quantile(0.5);
        }
        let bytes = body[start..].to_vec();
        let short = written(|out| out.bytes(0, &bytes[..cut.index(bytes.len())]));
        let _ = Sketch::new().merge(&Reader::new(&short), ALONE);
    }
}

fn sketch(values: &[f64]) -> Sketch {
    let mut sketch = Sketch::new();
    values.iter().for_each(|value| sketch.take(*value));
    sketch
}

#[test]
fn nan_counts_nowhere_and_infinities_are_the_largest_floats() {
    let sketch = sketch(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!((sketch.quantile(0.0), sketch.quantile(1.0)), (Some(f64::MIN), Some(f64::MAX)));
    assert_eq!(self::sketch(&[f64::NAN]).quantile(0.5), None);
}

#[test]
fn a_sketch_of_another_accuracy_is_refused() {
    let mut other = sketches_ddsketch::DDSketch::new(sketches_ddsketch::Config::new(0.05, 2048, 1e-9));
    other.add(1.0);
    let body = written(|out| out.bytes(0, &other.to_java_bytes()));
    let error = Sketch::new().merge(&Reader::new(&body), ALONE).unwrap_err();
    assert_eq!(error, Fault::partial("no sketch of quantiles: another accuracy"));
}
