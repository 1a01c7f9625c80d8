//! Finding records by time.

use std::ops::Bound;

use banyan_files::Time;
use proptest::prelude::*;

use super::oracle;
use super::samples::{any_sample, open, small_blocks, tick_at, write};

fn any_bound() -> impl Strategy<Value = Bound<Time>> {
    let time = (-120_i32..120).prop_map(|half| Time::from_f64(f64::from(half) / 2.0).unwrap());
    prop_oneof![time.clone().prop_map(Bound::Included), time.prop_map(Bound::Excluded), Just(Bound::Unbounded),]
}

proptest! {
    #[test]
    fn seeking_by_time_finds_what_looking_at_every_record_finds(
        samples in prop::collection::vec(any_sample(), 0..150),
        bounds in prop::collection::vec((any_bound(), any_bound()), 1..8),
        sorted in any::<bool>(),
    ) {
        let mut samples = samples;
        if sorted {
            samples.sort_by_key(|sample| sample.body.clone());
        }
        let file = write(&samples, small_blocks());
        for reader in [open(&file), open(oracle::without_index(&file))] {
            for range in &bounds {
                let every = reader.records(0).filter(|record| {
                    record.time.is_some_and(|time| std::ops::RangeBounds::contains(range, &time))
                });
                let sought = reader.seek_time(*range);
                prop_assert!(sought.map(|record| record.number).eq(every.map(|record| record.number)));
            }
        }
    }
}

#[test]
fn times_are_those_of_the_field_the_writer_was_told() {
    let file = write(&[tick_at(-7), tick_at(i64::MAX)], small_blocks());
    let times: Vec<_> = open(&file).records(0).map(|record| record.time.unwrap()).collect();
    assert_eq!(times, [Time::from(-7_i64), Time::from(i64::MAX)]);
}
