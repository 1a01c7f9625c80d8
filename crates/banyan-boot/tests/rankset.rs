//! Sets of ranks, against `BTreeSet`, and against bytes and texts of strangers.

use std::collections::BTreeSet;

use banyan_boot::{RankSet, RankSetError};
use proptest::prelude::*;

fn set(text: &str) -> RankSet {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn encoded(set: &RankSet) -> Vec<u8> {
    let mut bytes = Vec::new();
    set.encode(&mut bytes);
    bytes
}

#[test]
fn a_set_is_written_as_its_runs() {
    assert_eq!([7, 0, 3, 1, 2, 12, 9, 10, 11].into_iter().collect::<RankSet>().to_string(), "0-3,7,9-12");
    assert_eq!(RankSet::new().to_string(), "");
    assert_eq!(set(" 9-12, 7,0-3,2-3,8 ").to_string(), "0-3,7-12");
    assert_eq!(set(" "), RankSet::new());
}

#[test]
fn a_wrong_text_is_refused_with_its_place() {
    for wrong in [",", "1,", "x", "-1", "+1", "3-1", "1-2-3", "4294967296", "1-", "1 2"] {
        assert!(matches!(wrong.parse::<RankSet>(), Err(RankSetError::Text { .. })), "{wrong}");
    }
    let error = "0-3,x".parse::<RankSet>().unwrap_err().to_string();
    assert!(error.contains("column 5: \"x\""), "{error}");
}

#[test]
fn the_largest_ranks_are_ranks() {
    let mut all = RankSet::new();
    all.insert_range(0..=u32::MAX);
    assert_eq!((all.len(), all.last(), all.to_string()), (1 << 32, Some(u32::MAX), "0-4294967295".into()));
    all.insert(u32::MAX);
    assert_eq!(RankSet::decode(&encoded(&all)).unwrap().0, all);
    assert_eq!(set("4294967295").union(&set("4294967293")).to_string(), "4294967293,4294967295");
    #[expect(clippy::reversed_empty_ranges, reason = "an empty range adds nothing")]
    all.insert_range(5..=4);
    assert_eq!(all.len(), 1 << 32);
}

#[test]
fn bytes_are_few_and_known() {
    assert_eq!(encoded(&RankSet::new()), [0]);
    assert_eq!(encoded(&set("0-2799")), [1, 0, 0xef, 0x15]);
    assert_eq!(encoded(&set("1,3-5")), [2, 1, 0, 0, 2]);
}

#[test]
fn bytes_that_are_no_set_are_refused() {
    assert_eq!(RankSet::decode(&[]), Err(RankSetError::Cut { run: 0, runs: 0 }));
    assert_eq!(RankSet::decode(&[2, 1, 0, 0]), Err(RankSetError::Cut { run: 1, runs: 2 }));
    // Announced and not there: the error comes without the memory.
    assert!(matches!(RankSet::decode(&[0xff, 0xff, 0xff, 0xff, 0x7f, 0]), Err(RankSetError::Cut { .. })));
    assert_eq!(RankSet::decode(&[0x80, 0]), Err(RankSetError::Malformed(0)));
    assert_eq!(RankSet::decode(&[0x80; 9]), Err(RankSetError::Malformed(0)));
    assert_eq!(RankSet::decode(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1]), Err(RankSetError::Malformed(1)));
}

/// Ranges that overlap and touch often, and some at the end of all ranks.
fn ranges() -> impl Strategy<Value = Vec<(u32, u32)>> {
    let start = prop_oneof![4 => 0..200_u32, 1 => u32::MAX - 20..=u32::MAX];
    prop::collection::vec((start, 0..12_u32).prop_map(|(first, more)| (first, first.saturating_add(more))), 0..40)
}

fn both(ranges: &[(u32, u32)]) -> (RankSet, BTreeSet<u32>) {
    let mut set = RankSet::new();
    ranges.iter().for_each(|(first, last)| set.insert_range(*first..=*last));
    (set, ranges.iter().flat_map(|(first, last)| *first..=*last).collect())
}

proptest! {
    #[test]
    fn a_set_holds_what_a_tree_of_ranks_holds(ranges in ranges(), asked in 0..220_u32) {
        let (set, model) = both(&ranges);
        prop_assert_eq!(set.iter().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!(set.len(), model.len() as u64);
        prop_assert_eq!(set.is_empty(), model.is_empty());
        prop_assert_eq!((set.first(), set.last()), (model.first().copied(), model.last().copied()));
        prop_assert_eq!(set.contains(asked), model.contains(&asked));
        prop_assert!(model.iter().all(|rank| set.contains(*rank)));
        let by_rank: RankSet = model.iter().rev().copied().collect();
        prop_assert_eq!(&by_rank, &set);
        let mut one_by_one = RankSet::new();
        one_by_one.extend(model.iter().rev().copied());
        prop_assert_eq!(&one_by_one, &set);
    }

    #[test]
    fn no_two_ranges_of_a_set_touch(ranges in ranges()) {
        let ranges: Vec<_> = both(&ranges).0.ranges().collect();
        for pair in ranges.windows(2) {
            prop_assert!(u64::from(*pair[0].end()) + 1 < u64::from(*pair[1].start()));
        }
    }

    #[test]
    fn a_union_holds_what_either_holds(left in ranges(), right in ranges()) {
        let ((a, a_model), (b, b_model)) = (both(&left), both(&right));
        let union: RankSet = a_model.union(&b_model).copied().collect();
        prop_assert_eq!(&a.union(&b), &union);
        prop_assert_eq!(&b.union(&a), &union);
    }

    #[test]
    fn text_and_bytes_give_the_set_back(ranges in ranges(), behind in prop::collection::vec(any::<u8>(), 0..4)) {
        let (set, _) = both(&ranges);
        prop_assert_eq!(&set.to_string().parse::<RankSet>().unwrap(), &set);
        let mut bytes = encoded(&set);
        let length = bytes.len();
        bytes.extend(behind);
        prop_assert_eq!(RankSet::decode(&bytes), Ok((set, length)));
    }

    #[test]
    fn a_set_cut_short_is_refused(ranges in ranges(), part in 0.0..1.0_f64) {
        let bytes = encoded(&both(&ranges).0);
        let length = (bytes.len() as f64 * part) as usize;
        let cut = matches!(RankSet::decode(&bytes[..length]), Err(RankSetError::Cut { .. }));
        prop_assert!(cut);
    }

    #[test]
    fn bytes_that_decode_are_the_only_way_to_write_their_set(
        bytes in prop::collection::vec(prop_oneof![2 => 0..6_u8, 1 => any::<u8>()], 0..24),
    ) {
        if let Ok((set, length)) = RankSet::decode(&bytes) {
            prop_assert_eq!(&encoded(&set), &bytes[..length]);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[0-9, -]{0,12}|.{0,12}") {
        if let Ok(set) = text.parse::<RankSet>() {
            prop_assert_eq!(set.to_string().parse::<RankSet>(), Ok(set));
        }
    }
}
