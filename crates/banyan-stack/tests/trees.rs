//! Trees of stacks: merging is a union, classes are what they should be, and reports survive their way through JSON.

use std::collections::{BTreeMap, BTreeSet};

use banyan_stack::{Frame, Process, RankSet, Report, StackTree};
use proptest::prelude::*;

type Stacks = Vec<(u32, Vec<u8>)>;

/// Few ranks and few functions, so that much is the same.
fn stacks() -> impl Strategy<Value = Stacks> {
    proptest::collection::vec((0_u32..12, proptest::collection::vec(0_u8..3, 1..6)), 0..24)
}

fn frame(number: &u8) -> Frame {
    Frame { function: format!("f{number}").into(), module: "m".into(), line: None }
}

fn tree(stacks: &[(u32, Vec<u8>)]) -> StackTree {
    let mut tree = StackTree::new();
    for (rank, stack) in stacks {
        tree.add(&RankSet::from_iter([*rank]), &stack.iter().map(frame).collect::<Vec<_>>());
    }
    tree
}

fn merged(mut one: StackTree, other: StackTree) -> StackTree {
    one.merge(other);
    one
}

proptest! {
    #[test]
    fn merging_is_associative_commutative_and_idempotent(a in stacks(), b in stacks(), c in stacks()) {
        let [a, b, c] = [tree(&a), tree(&b), tree(&c)];
        let left = merged(merged(a.clone(), b.clone()), c.clone());
        prop_assert_eq!(&left, &merged(a.clone(), merged(b.clone(), c.clone())));
        prop_assert_eq!(&left, &merged(c.clone(), merged(b.clone(), a.clone())));
        prop_assert_eq!(&left, &merged(left.clone(), b.clone()));
        prop_assert_eq!(&left, &StackTree::merged([a, b, c]));
    }

    #[test]
    fn a_tree_is_the_same_however_its_stacks_are_dealt_out(all in stacks(), parts in 1_usize..7) {
        let whole = tree(&all);
        let dealt = all.chunks(parts).map(tree);
        prop_assert_eq!(StackTree::merged(dealt), whole);
    }

    #[test]
    fn every_rank_is_in_one_class_with_exactly_its_stacks(all in stacks()) {
        let mut model: BTreeMap<u32, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for (rank, stack) in &all {
            model.entry(*rank).or_default().insert(stack.clone());
        }
        let tree = tree(&all);
        let classes = tree.classes();
        let mut seen = BTreeSet::new();
        for class in &classes {
            let found: BTreeSet<Vec<Frame>> = class.stacks.iter().map(|stack| stack.iter().copied().cloned().collect()).collect();
            for rank in class.ranks.iter() {
                prop_assert!(seen.insert(rank));
                let expected: BTreeSet<Vec<Frame>> = model[&rank].iter().map(|stack| stack.iter().map(frame).collect()).collect();
                prop_assert_eq!(&found, &expected);
            }
        }
        prop_assert_eq!(seen.len(), model.len());
        prop_assert_eq!(classes.len(), model.values().collect::<BTreeSet<_>>().len());
        prop_assert!(classes.is_sorted_by_key(|class| class.ranks.len()));
    }

    #[test]
    fn a_report_is_the_same_after_its_way_through_json(all in stacks()) {
        let mut report = Report { tree: tree(&all), ..Report::default() };
        for (rank, _) in &all {
            let process = Process { rank: *rank, command: "x \u{1b}[2J \"y\"".into(), stacks: 1, ..Process::default() };
            report.processes.insert(("host".into(), 100 + rank), process);
        }
        for json in [report.to_json(), report.to_short_json()] {
            prop_assert_eq!(&Report::from_json(json.to_string().as_bytes()), &Ok(report.clone()));
        }
        let mut twice = report.clone();
        twice.merge(report.clone());
        prop_assert_eq!(twice, report);
    }

    #[test]
    fn damaged_reports_are_refused_or_read_but_never_harm(all in stacks(), at in any::<usize>(), byte in any::<u8>()) {
        let mut text = Report { tree: tree(&all), ..Report::default() }.to_json().to_string().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        let _ = Report::from_json(&text);
    }
}

#[test]
fn a_report_that_names_too_many_ranks_is_refused() {
    let text = r#"{"ranks": "0-4000000000", "tree": [], "processes": []}"#;
    assert!(Report::from_json(text.as_bytes()).is_err());
    let text =
        r#"{"ranks": "", "tree": [{"parent": 0, "function": "f", "module": "m", "here": "1"}], "processes": []}"#;
    assert!(Report::from_json(text.as_bytes()).is_err(), "a node that is its own parent");
}
