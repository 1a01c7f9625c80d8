//! Trees of stacks: merging is a union, classes are what they should be, and reports survive their way through a record.

use std::collections::{BTreeMap, BTreeSet};

use banyan_ndr::{Decoder, Record, typed};
use banyan_stack::{
    Frame, Malformed, Process, RankRange, RankSet, Report, ReportRecord, StackTree, TextOptions, Threads, dot, folded,
    svg, text,
};
use proptest::prelude::*;

type Stacks = Vec<(u32, Vec<u8>)>;

/// Few ranks and few functions, so that much is the same.
fn stacks() -> impl Strategy<Value = Stacks> {
    proptest::collection::vec((0_u32..12, proptest::collection::vec(0_u8..3, 1..6)), 0..24)
}

fn frame(number: &u8) -> Frame {
    Frame { function: format!("f{number}").into(), module: "m".into(), line: None }
}

fn report_of(tree: StackTree) -> Report {
    let mut report = Report::default();
    report.tree = tree;
    report
}

fn process(rank: u32, command: &str, stacks: u64) -> Process {
    let mut process = Process::default();
    (process.rank, process.command, process.stacks) = (rank, command.into(), stacks);
    process
}

fn tree(stacks: &[(u32, Vec<u8>)]) -> StackTree {
    let mut tree = StackTree::new();
    for (rank, stack) in stacks {
        tree.add(&RankSet::from_iter([*rank]), &stack.iter().map(frame).collect::<Vec<_>>());
    }
    tree
}

/// The same with threads: of each rank those with these numbers.
fn threaded(stacks: &[(u32, u32, Vec<u8>)]) -> StackTree {
    let mut tree = StackTree::new();
    for (rank, thread, stack) in stacks {
        let mut threads = Threads::default();
        threads.add(*thread, &RankSet::from_iter([*rank]));
        tree.add_threads(&threads, &stack.iter().map(frame).collect::<Vec<_>>());
    }
    tree
}

fn stacks_of_threads() -> impl Strategy<Value = Vec<(u32, u32, Vec<u8>)>> {
    proptest::collection::vec((0_u32..6, 0_u32..4, proptest::collection::vec(0_u8..3, 1..6)), 0..24)
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
    fn a_report_is_the_same_after_its_way_through_a_record(all in stacks()) {
        let mut report = report_of(tree(&all));
        for (rank, _) in &all {
            let process = process(*rank, "x \u{1b}[2J \"y\"", 1);
            report.processes.insert(("host".into(), 100 + rank), process);
        }
        prop_assert_eq!(sent(&report), Ok(report.clone()));
        let mut twice = report.clone();
        twice.merge(report.clone());
        prop_assert_eq!(twice, report);
    }

    #[test]
    fn every_step_counts_the_threads_that_come_through_and_merging_them_is_a_union(all in stacks_of_threads(), parts in 1_usize..7) {
        let tree = threaded(&all);
        for step in tree.steps().iter().filter(|step| step.depth == 0) {
            let first = |stack: &[u8]| &frame(&stack[0]) == step.frame;
            let through = all.iter().filter(|(_, _, stack)| first(stack)).map(|(rank, thread, _)| (rank, thread));
            prop_assert_eq!(step.threads.count() as usize, through.collect::<BTreeSet<_>>().len());
            prop_assert_eq!(step.threads.ranks(), (*step.ranks).clone());
        }
        prop_assert_eq!(&StackTree::merged(all.chunks(parts).rev().map(threaded)), &tree);
        prop_assert_eq!(&merged(tree.clone(), tree.clone()), &tree);
        let report = report_of(tree);
        prop_assert_eq!(sent(&report), Ok(report));
    }

    #[test]
    fn damaged_reports_are_refused_or_read_but_never_harm(all in stacks(), at in any::<usize>(), byte in any::<u8>()) {
        let report = report_of(tree(&all));
        let mut body = Vec::new();
        typed::encode_body_into(&ReportRecord::from(&report), &mut body).unwrap();
        let at = at % body.len();
        body[at] = byte;
        let mut decoder = Decoder::new();
        let format = decoder.learn(ReportRecord::format()).unwrap();
        if let Ok(record) = decoder.decode::<ReportRecord>(format, &body) {
            let _ = Report::try_from(record);
        }
    }
}

/// A report, encoded, decoded and checked.
fn sent(report: &Report) -> Result<Report, Malformed> {
    let mut body = Vec::new();
    typed::encode_body_into(&ReportRecord::from(report), &mut body).unwrap();
    let mut decoder = Decoder::new();
    let format = decoder.learn(ReportRecord::format()).unwrap();
    Report::try_from(decoder.decode::<ReportRecord>(format, &body).unwrap())
}

#[test]
fn reports_that_are_none_are_refused() {
    let whole = ReportRecord::from(&threads_of_a_job());
    let range = |first, last| vec![RankRange { first, last }];
    let with = |change: &dyn Fn(&mut ReportRecord)| {
        let mut record = whole.clone();
        change(&mut record);
        Report::try_from(record).map_err(|error| error.to_string())
    };
    assert!(with(&|_| ()).is_ok());
    let refused = |change: &dyn Fn(&mut ReportRecord), why: &str| {
        let error = with(change).unwrap_err();
        assert!(error.contains(why), "{error}");
    };
    refused(&|record| record.ranks = range(0, 4_000_000_000), "too long");
    refused(&|record| record.ranks = range(2, 1), "is empty");
    refused(&|record| record.nodes[0].here = range(5, 1 << 25), "too long");
    refused(&|record| record.nodes[0].depth = 1, "behind its parent");
    refused(&|record| record.ranks = [range(0, (1 << 24) - 1), range(1 << 24, 1 << 24)].concat(), "too many ranks");
}

/// Three ranks of three threads, but for rank 1, which has two: one of each solves, the others wait for work.
fn threads_of_a_job() -> Report {
    let function = |name: &str| Frame { function: name.into(), module: "job".into(), line: None };
    let [start, solve, wait] = ["start", "solve", "wait"].map(function);
    let mut report = Report::default();
    let mut solving = Threads::default();
    solving.add(0, &RankSet::from_iter(0..3));
    report.tree.add_threads(&solving, &[start.clone(), solve]);
    let mut waiting = Threads::default();
    waiting.add(1, &RankSet::from_iter(0..3));
    waiting.add(2, &RankSet::from_iter([0, 2]));
    report.tree.add_threads(&waiting, &[start, wait]);
    for rank in 0..3 {
        let process = process(rank, "job", if rank == 1 { 2 } else { 3 });
        report.processes.insert((String::new(), 100 + rank), process);
    }
    report
}

#[test]
fn threads_are_counted_at_every_step_in_every_format() {
    let report = threads_of_a_job();
    let shown = "\
3 processes, 8 threads, 1 class

  3(8)  0-2  2 stacks: solve, wait

  3(8)  0-2  start
  3(3)  0-2  ├─ solve
  3(5)  0-2  └─ wait
";
    assert_eq!(text(&report, TextOptions::default()), shown);
    assert_eq!(folded(&report), "start;solve 3\nstart;wait 5\n");
    let nodes = &report.to_json()["tree"];
    let counts: Vec<_> = (0..3).map(|at| (&nodes[at]["count"], &nodes[at]["threads"])).collect();
    assert_eq!(counts, [(&3.into(), &8.into()), (&3.into(), &3.into()), (&3.into(), &5.into())]);
    let here = serde_json::json!([{ "thread": 1, "ranks": "0-2" }, { "thread": 2, "ranks": "0,2" }]);
    assert_eq!(nodes[2]["threads_here"], here);
    let graph = dot(&report);
    for label in ["\"3 ranks\\n8 threads\"", "\"3(8): 0-2\"", "\"3(3): 0-2\"", "\"3(5): 0-2\""] {
        assert!(graph.contains(&format!("[label={label}")), "{label} in {graph}");
    }
    let picture = svg(&report);
    for shown in [">3 processes, 8 threads, 1 class<", ">3(8)<", ">3(3)<", ">3(5)<"] {
        assert!(picture.contains(shown), "{shown} in {picture}");
    }
}

#[test]
fn without_threads_nothing_is_said_of_them() {
    let stacks = [(0, vec![0, 1]), (1, vec![0, 2])];
    let report = report_of(tree(&stacks));
    let json = report.to_json().to_string();
    let all = [text(&report, TextOptions::default()), dot(&report), svg(&report), folded(&report), json];
    assert!(all.iter().all(|shown| !shown.contains("thread") && !shown.contains("2(")), "{all:?}");
}
