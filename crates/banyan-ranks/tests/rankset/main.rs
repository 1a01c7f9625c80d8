//! Sets of ranks, against `BTreeSet`, and against bytes and texts of strangers.

use std::collections::BTreeSet;

use banyan_ranks::{RankSet, RankSetError};
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
    for wrong in
        [",", "1,", "x", "-1", "+1", "3-1", "1-2-3", "4294967296", "1-", "1 2", "1/2", "1-9/0", "1-9/", "1-9/+2"]
    {
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
fn a_stride_is_written_with_its_step() {
    let evens: RankSet = (0..500).map(|rank| 2 * rank).collect();
    assert_eq!(evens.to_string(), "0-998/2");
    assert_eq!(set("0-999/2"), evens);
    assert_eq!(set("1,4,7").to_string(), "1,4,7");
    assert_eq!(set("1-10/3").to_string(), "1-10/3");
    assert_eq!(set("0-3,5,7,9,11-12,20").to_string(), "0-3,5,7,9,11-12,20");
    assert_eq!(set("0-98/2,1-99/2").to_string(), "0-99");
    assert_eq!(set("5-5/9,0-4294967295/4294967295").to_string(), "0,5,4294967295");
}

#[test]
fn strides_that_interleave_for_too_long_are_refused_as_text() {
    let error = "0-4000000000/2,1-4000000001/2".parse::<RankSet>();
    assert_eq!(error, Err(RankSetError::Interleaved { column: 1 }));
    assert_eq!(set("0-2000000000/2,2000000001-4000000001/2").len(), 2_000_000_002);
}

#[test]
fn just_a_set_of_one_rank_has_an_only_rank() {
    assert_eq!(set("7").only(), Some(7));
    for text in ["", "7-8", "1,5", "1-9/2", "1,5,6"] {
        assert_eq!(set(text).only(), None, "{text}");
    }
}

#[test]
fn strides_are_worked_with_as_strides() {
    let all = set("0-4294967295");
    let thirds = set("0-4294967295/3");
    assert_eq!(thirds.len(), 1_431_655_766);
    assert!(thirds.contains(4_294_967_295) && !thirds.contains(4));
    assert_eq!(all.union(&thirds), all);
    assert_eq!(all.intersection(&thirds), thirds);
    assert_eq!(thirds.intersection(&set("0-4294967295/5")).to_string(), "0-4294967295/15");
    assert!(thirds.is_subset(&all) && !all.is_subset(&thirds));
    assert!(thirds.is_disjoint(&set("1-4294967294/3")));
    assert_eq!(thirds.difference(&all), RankSet::new());
    assert_eq!(thirds.difference(&set("30-4294967295")).to_string(), "0-27/3");
}

#[test]
fn bytes_are_few_and_known() {
    assert_eq!(encoded(&RankSet::new()), [0]);
    assert_eq!(encoded(&set("0-2799")), [2, 0xdf, 0x2b]);
    assert_eq!(encoded(&set("1,3-99,300-305")), [6, 0, 0, 0xc1, 0x01, 20, 0xc6, 0x01]);
    assert_eq!(encoded(&set("0-60/2")), [2, 0x7a, 0, 0]);
    // Neither runs nor a stride: bits from rank 3 on.
    assert_eq!(encoded(&set("3,6,8,11,12,15,17,18")), [5, 3, 0x29, 0xd3]);
}

#[test]
fn bytes_are_the_fewest_of_three_ways() {
    assert_eq!(encoded(&set("0-399999,400001-700000,700002-999999")).len(), 10);
    assert_eq!(encoded(&set("0-999998/2")).len(), 6);
    // A half of a million without any order: a bit for each, and where they begin.
    let mut state = 1_u64;
    let half: RankSet = (0..1_000_000).filter(|_| chance(&mut state)).collect();
    assert!((125_000..125_010).contains(&encoded(&half).len()), "{}", encoded(&half).len());
    assert_eq!(RankSet::decode(&encoded(&half)).unwrap().0, half);
}

/// One of two, in no order.
fn chance(state: &mut u64) -> bool {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 63 == 1
}

#[test]
fn bytes_that_are_no_set_are_refused() {
    assert_eq!(RankSet::decode(&[]), Err(RankSetError::Cut(0)));
    assert_eq!(RankSet::decode(&[4, 0, 0]), Err(RankSetError::Cut(3)));
    // Announced and not there: the error comes without the memory.
    assert_eq!(RankSet::decode(&[0xfe, 0xff, 0xff, 0xff, 0x7f, 1]), Err(RankSetError::Cut(6)));
    assert_eq!(RankSet::decode(&[0xff, 0xff, 0xff, 0xff, 0x7f, 1]), Err(RankSetError::Cut(6)));
    assert_eq!(RankSet::decode(&[0x80, 0]), Err(RankSetError::Malformed(0)));
    assert_eq!(RankSet::decode(&[0x80; 9]), Err(RankSetError::Malformed(0)));
    // A rank beyond all ranks, as a run, as a stride and as a bit.
    assert_eq!(RankSet::decode(&[2, 0, 0xff, 0xff, 0xff, 0xff, 0x7f]), Err(RankSetError::Malformed(1)));
    assert_eq!(RankSet::decode(&[2, 0xfe, 0xff, 0xff, 0xff, 0x7f, 0, 9]), Err(RankSetError::Malformed(1)));
    assert_eq!(RankSet::decode(&[3, 0xff, 0xff, 0xff, 0xff, 0x0f, 3]), Err(RankSetError::Malformed(6)));
    // A stride of three, two strides that are one, and runs where bits are shorter or the other way round.
    assert_eq!(RankSet::decode(&[2, 0x0a, 0, 0]), Err(RankSetError::Malformed(0)));
    assert_eq!(RankSet::decode(&[4, 0x0e, 0, 0, 0x0e, 0, 0]), Err(RankSetError::Malformed(0)));
    assert_eq!(RankSet::decode(&[3, 0, 3]), Err(RankSetError::Malformed(0)));
    // Bits that begin or end with none.
    assert_eq!(RankSet::decode(&[5, 0, 0xfe, 1]), Err(RankSetError::Malformed(2)));
    assert_eq!(RankSet::decode(&[5, 0, 0x55, 0]), Err(RankSetError::Malformed(2)));
    assert_eq!(RankSet::decode(&[1, 0]), Err(RankSetError::Malformed(2)));
}

#[test]
fn a_union_of_many_runs_takes_one_pass() {
    let runs = |from: u32| -> RankSet { (0..10_000).flat_map(|run| from + 10 * run..from + 10 * run + 3).collect() };
    let union = runs(0).union(&runs(5));
    assert_eq!((union.len(), union.ranges().count()), (60_000, 20_000));
}

/// Ranks at a step: first, last and step. They overlap, touch and interleave often; some are at the end of all ranks.
type Stride = (u32, u32, u32);

fn strides() -> impl Strategy<Value = Vec<Stride>> {
    let start = prop_oneof![4 => 0..200_u32, 1 => u32::MAX - 20..=u32::MAX];
    let run = (start.clone(), 0..12_u32).prop_map(|(first, more)| (first, first.saturating_add(more), 1));
    let stride = (start, 0..60_u32, 2..6_u32).prop_map(|(first, more, step)| (first, first.saturating_add(more), step));
    prop::collection::vec(prop_oneof![2 => run, 1 => stride], 0..30)
}

fn both(strides: &[Stride]) -> (RankSet, BTreeSet<u32>) {
    let ranks = |(first, last, step): &Stride| (*first..=*last).step_by(*step as usize);
    let mut set = RankSet::new();
    for stride in strides {
        match stride {
            (first, last, 1) => set.insert_range(*first..=*last),
            _ => set.extend(ranks(stride)),
        }
    }
    (set, strides.iter().flat_map(ranks).collect())
}

proptest! {
    #[test]
    fn a_set_holds_what_a_tree_of_ranks_holds(strides in strides(), asked in 0..220_u32) {
        let (set, model) = both(&strides);
        prop_assert_eq!(set.iter().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!(set.len(), model.len() as u64);
        prop_assert_eq!(set.is_empty(), model.is_empty());
        prop_assert_eq!((set.first(), set.last()), (model.first().copied(), model.last().copied()));
        prop_assert_eq!(set.only(), set.first().filter(|_| model.len() == 1));
        prop_assert_eq!(set.contains(asked), model.contains(&asked));
        prop_assert!(model.iter().all(|rank| set.contains(*rank)));
        let by_rank: RankSet = model.iter().rev().copied().collect();
        prop_assert_eq!(&by_rank, &set);
        let mut one_by_one = RankSet::new();
        one_by_one.extend(model.iter().rev().copied());
        prop_assert_eq!(&one_by_one, &set);
    }

    #[test]
    fn no_two_ranges_of_a_set_touch(strides in strides()) {
        let ranges: Vec<_> = both(&strides).0.ranges().collect();
        for pair in ranges.windows(2) {
            prop_assert!(u64::from(*pair[0].end()) + 1 < u64::from(*pair[1].start()));
        }
    }

    #[test]
    fn sets_are_put_together_and_taken_apart_as_trees_of_ranks_are(left in strides(), right in strides()) {
        let ((a, a_model), (b, b_model)) = (both(&left), both(&right));
        let union: RankSet = a_model.union(&b_model).copied().collect();
        prop_assert_eq!(&a.union(&b), &union);
        prop_assert_eq!(&b.union(&a), &union);
        let intersection: RankSet = a_model.intersection(&b_model).copied().collect();
        prop_assert_eq!(&a.intersection(&b), &intersection);
        prop_assert_eq!(a.difference(&b), a_model.difference(&b_model).copied().collect::<RankSet>());
        prop_assert_eq!(a.is_subset(&b), a_model.is_subset(&b_model));
        prop_assert_eq!(a.is_disjoint(&b), a_model.is_disjoint(&b_model));
        prop_assert!(intersection.is_subset(&a) && a.is_subset(&union));
        prop_assert!(a.difference(&b).is_disjoint(&b));
    }

    #[test]
    fn text_and_bytes_give_the_set_back(strides in strides(), behind in prop::collection::vec(any::<u8>(), 0..4)) {
        let (set, _) = both(&strides);
        prop_assert_eq!(&set.to_string().parse::<RankSet>().unwrap(), &set);
        let mut bytes = encoded(&set);
        let length = bytes.len();
        bytes.extend(behind);
        prop_assert_eq!(RankSet::decode(&bytes), Ok((set.clone(), length)));
        // Never longer than a bit for each rank of the span, with a number before it and its own length.
        let span = set.last().zip(set.first()).map_or(0, |(last, first)| (last - first) as usize / 8 + 1);
        prop_assert!(length <= span + 10, "{} bytes for {}", length, set);
    }

    #[test]
    fn a_set_cut_short_is_refused(strides in strides(), part in 0.0..1.0_f64) {
        let bytes = encoded(&both(&strides).0);
        let length = (bytes.len() as f64 * part) as usize;
        let cut = matches!(RankSet::decode(&bytes[..length]), Err(RankSetError::Cut(_)));
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
    fn no_text_makes_the_parser_panic(text in "[0-9, -]{0,12}|([0-9]{1,2}-[0-9]{1,3}/[1-9],){0,5}1|.{0,12}") {
        if let Ok(set) = text.parse::<RankSet>() {
            prop_assert_eq!(set.to_string().parse::<RankSet>(), Ok(set));
        }
    }
}
