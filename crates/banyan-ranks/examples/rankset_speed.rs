//! What sets of ranks cost: their bytes, and the time to unite, write and read them.
//!
//! ```text
//! cargo run --release -p banyan-ranks --example rankset_speed
//! ```

#![expect(clippy::print_stdout, reason = "figures for people")]

use std::time::{Duration, Instant};

use banyan_ranks::RankSet;

/// The best of some runs.
fn best<T>(mut work: impl FnMut() -> T) -> (Duration, T) {
    let mut run = || {
        let begin = Instant::now();
        let result = work();
        (begin.elapsed(), result)
    };
    (0..20).map(|_| run()).min_by_key(|(time, _)| *time).expect("some runs")
}

/// A half of the ranks below a million, in no order.
fn half() -> RankSet {
    let mut state = 1_u64;
    let mut chance = |_: &u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 63 == 1
    };
    (0..1_000_000).filter(|rank| chance(rank)).collect()
}

fn main() {
    let runs = |from: u32| -> RankSet { (0..10_000).flat_map(|run| from + 10 * run..from + 10 * run + 3).collect() };
    let (one, other) = (runs(0), runs(5));
    println!("union of two sets of 10,000 runs      {:>10.1?}", best(|| one.union(&other)).0);
    println!("intersection of the same              {:>10.1?}", best(|| one.intersection(&other)).0);
    let strides = |from: u32| -> RankSet { (0..500_000).map(|rank| from + 2 * rank).collect() };
    println!("even and odd ranks of a million united {:>9.1?}", best(|| strides(0).union(&strides(1))).0);
    let all_but_two = "0-399999,400001-700000,700002-999999".parse().expect("a set");
    for (name, set) in [("all but two", all_but_two), ("every second", strides(0)), ("a random half", half())] {
        let (writing, bytes) = best(|| {
            let mut bytes = Vec::new();
            set.encode(&mut bytes);
            bytes
        });
        let (reading, _) = best(|| RankSet::decode(&bytes));
        println!("{name:<14} of a million: {:>6} bytes, written in {writing:.1?}, read in {reading:.1?}", bytes.len());
    }
}
