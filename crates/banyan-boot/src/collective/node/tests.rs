//! What a node does with children and parents that break the protocol, and with those that come late.

use banyan_link::Kind;

use super::*;
use crate::{
    collective::{
        ANSWER_TIME, Absent, Call, ElementKind, PIPELINE, ReduceOp, Reduction, WINDOW,
        broken::Offence,
        bundle::{BUNDLED_AT_MOST, Bundle, messages},
        known_calls::KnownCalls,
    },
    message::{CONTINUED, MORE, TOGETHER, USER},
};

/// An agent with these members below it.
fn below(ranks: &[u32]) -> Subtree {
    Subtree::Agent(ranks.iter().copied().collect())
}

/// An agent with members 2, 3, and a child with 4 and 5, in a session of eight.
fn agent() -> Collectives {
    Collectives::inner(vec![Subtree::Member(2), Subtree::Member(3), below(&[4, 5])], 8)
}

/// The front-end with the master, member 1, and a child with 2 and 3.
fn root() -> Collectives {
    Collectives::root(vec![Subtree::Member(0), Subtree::Member(1), below(&[2, 3])])
}

fn enter(call: Call, number: u64) -> Frame {
    Entry { call, wants_go: false }.frame(0, Number(number))
}

fn taken(node: &mut Collectives, child: usize, frame: Frame) -> Result<Out, Offence> {
    let mut out = Out::new();
    node.from_child(child, frame, Instant::now(), &mut out).map_err(|broken| broken.how)?;
    Ok(out)
}

fn all_enter(node: &mut Collectives, call: Call) {
    for child in 0..3 {
        taken(node, child, enter(call, 0)).unwrap();
    }
}

#[test]
fn a_broken_child_is_named_with_its_members() {
    let mut out = Out::new();
    let broken = agent().from_child(2, Frame::new(USER, 0, 0, Bytes::new()), Instant::now(), &mut out).unwrap_err();
    assert!(broken.to_string().starts_with("child 2 (members 4-5) broke the protocol of collectives: "), "{broken}");
    assert!(out.is_empty());
}

#[test]
fn entering_twice_or_out_of_order_is_refused() {
    let mut agent = agent();
    taken(&mut agent, 0, enter(Call::Gather, 0)).unwrap();
    assert_eq!(taken(&mut agent, 0, enter(Call::Gather, 0)), Err(Offence::Number { sequence: 0, expected: 1 }));
    assert_eq!(taken(&mut agent, 1, enter(Call::Gather, 1)), Err(Offence::Number { sequence: 1, expected: 0 }));
}

#[test]
fn a_child_cannot_run_further_ahead_than_the_window() {
    let mut agent = agent();
    let entered = (0..).find(|number| taken(&mut agent, 0, enter(Call::Gather, *number)).is_err()).unwrap();
    assert_eq!(entered, WINDOW / 2);
    assert!(matches!(taken(&mut agent, 0, Frame::new(GATHER, 2, u32::MAX, Bytes::new())), Err(Offence::Number { .. })));
}

#[test]
fn calls_that_cannot_be_decoded_are_refused() {
    for payload in [&b""[..], b"\0", b"\0\x09", b"\x02\0", b"\0\0\0", b"\0\x05\0\x02\x03\0\0\0\0\0\0\0"] {
        let frame = Frame::new(ENTER, 2, 0, Bytes::from_static(payload));
        assert_eq!(taken(&mut agent(), 0, frame), Err(Offence::Payload("ENTER")), "{payload:?}");
    }
}

#[test]
fn nobody_speaks_for_ranks_it_does_not_have() {
    let mut agent = agent();
    all_enter(&mut agent, Call::Gather);
    assert_eq!(taken(&mut agent, 0, Frame::new(GATHER, 3, 0, Bytes::new())), Err(Offence::Rank(3)));
    assert_eq!(taken(&mut agent, 2, Frame::new(GATHER, 6, 0, Bytes::new())), Err(Offence::Rank(6)));
    let mut foreign = KnownCalls::default();
    foreign.add(Call::Barrier, [(4, 6)]);
    let mut payload = Vec::new();
    foreign.encode(&mut payload);
    assert_eq!(taken(&mut agent, 2, Frame::new(MISMATCH, 4, 1, payload)), Err(Offence::Rank(4)));
    let gone = [&[0][..], &[0; 4], b"why"].concat();
    assert_eq!(taken(&mut agent, 0, Frame::new(GONE, 3, 1, gone)), Err(Offence::Rank(3)));
}

#[test]
fn only_the_master_broadcasts_and_scatters_and_not_to_ranks_that_do_not_exist() {
    let mut agent = agent();
    all_enter(&mut agent, Call::Broadcast);
    let broadcast = Frame::new(BROADCAST, 0, 0, Bytes::new());
    assert_eq!(taken(&mut agent, 0, broadcast), Err(Offence::Data { number: 0 }));
    let mut root = root();
    all_enter(&mut root, Call::Scatter);
    assert_eq!(taken(&mut root, 0, Frame::new(SCATTER, 4, 0, Bytes::new())), Err(Offence::Rank(4)));
    assert_eq!(taken(&mut root, 0, Frame::new(SCATTER, 0, 0, Bytes::new())), Err(Offence::Rank(0)));
    let sent = taken(&mut root, 0, Frame::new(SCATTER, 3, 0, Bytes::new())).unwrap();
    assert_eq!(sent[0].0, To::Child(2));
}

#[test]
fn data_before_entering_or_of_another_call_or_twice_is_refused() {
    let mut agent = agent();
    let gather = || Frame::new(GATHER, 2, 0, Bytes::new());
    let refused = Err(Offence::Data { number: 0 });
    assert_eq!(taken(&mut agent, 0, gather()), refused);
    taken(&mut agent, 0, enter(Call::Gather, 0)).unwrap();
    assert_eq!(taken(&mut agent, 0, Frame::new(SHARE, 2, 0, Bytes::new())), refused);
    assert_eq!(taken(&mut agent, 0, gather()), Ok(vec![]));
    assert_eq!(taken(&mut agent, 0, gather()), refused);
}

/// A bundle of messages of two bytes, of these ranks.
fn bundle(kind: Kind, ranks: &[u32]) -> Frame {
    let mut bundle = Bundle::default();
    ranks.iter().for_each(|rank| bundle.add(*rank, &[7, *rank as u8]));
    bundle.take(kind, Number(0)).unwrap()
}

#[test]
fn short_messages_are_passed_up_together_when_the_last_has_come() {
    let mut agent = agent();
    all_enter(&mut agent, Call::AllGather);
    let share = |rank: u32| Frame::new(SHARE, rank, 0, vec![7, rank as u8]);
    assert_eq!(taken(&mut agent, 1, share(3)), Ok(vec![]));
    assert_eq!(taken(&mut agent, 2, bundle(SHARE, &[4, 5])), Ok(vec![]));
    assert!(agent.held() > 0);
    assert_eq!(taken(&mut agent, 0, share(2)), Ok(vec![(To::Parent, bundle(SHARE, &[3, 4, 5, 2]))]));
    assert_eq!(agent.held(), 0);
}

#[test]
fn long_messages_are_passed_up_at_once_and_do_not_keep_the_short_ones() {
    let mut agent = agent();
    all_enter(&mut agent, Call::Gather);
    let gather = |rank: u32, length, flags| Frame { flags, ..Frame::new(GATHER, rank, 0, vec![1; length]) };
    assert_eq!(taken(&mut agent, 0, gather(2, 2, 0)), Ok(vec![]));
    let long = gather(3, BUNDLED_AT_MOST + 1, 0);
    assert_eq!(taken(&mut agent, 1, long.clone()), Ok(vec![(To::Parent, long)]));
    assert_eq!(taken(&mut agent, 2, gather(4, 2, 0)), Ok(vec![]));
    let pieces = [gather(5, 2, MORE), gather(5, 2, CONTINUED)];
    let first = taken(&mut agent, 2, pieces[0].clone()).unwrap();
    assert_eq!(first, [(To::Parent, pieces[0].clone())]);
    let last = taken(&mut agent, 2, pieces[1].clone()).unwrap();
    assert_eq!(last[0], (To::Parent, pieces[1].clone()));
    let kept: Vec<u32> = messages(&last[1].1).map(|message| message.unwrap().rank).collect();
    assert_eq!(kept, [2, 4]);
}

#[test]
fn what_fails_is_not_kept() {
    let mut agent = agent();
    all_enter(&mut agent, Call::Gather);
    taken(&mut agent, 0, Frame::new(GATHER, 2, 0, vec![1; 9])).unwrap();
    agent.member_gone(3, "member 3 on host n1 exited with status 3".into(), &mut Out::new());
    assert_eq!(agent.held(), 0);
    assert_eq!(taken(&mut agent, 2, bundle(GATHER, &[4, 5])), Ok(vec![]));
    assert_eq!(agent.held(), 0);
}

#[test]
fn parts_of_a_scatter_are_cut_apart_where_children_begin_and_not_copied() {
    let mut root = root();
    all_enter(&mut root, Call::Scatter);
    let parts = bundle(SCATTER, &[1, 2, 3]);
    let memory = parts.payload.as_ptr_range();
    let sent = taken(&mut root, 0, parts).unwrap();
    assert!(sent.iter().all(|(_, frame)| memory.contains(&frame.payload.as_ptr())));
    let one = Frame::new(SCATTER, 1, 0, vec![7, 1]);
    assert_eq!(sent, [(To::Child(1), one), (To::Child(2), bundle(SCATTER, &[2, 3]))]);
    let mut sent = Out::new();
    agent().from_parent(bundle(SCATTER, &[3, 4, 5, 2]), Instant::now(), &mut sent).unwrap();
    let one = |rank: u32| Frame::new(SCATTER, rank, 0, vec![7, rank as u8]);
    let to = [(To::Child(1), one(3)), (To::Child(2), bundle(SCATTER, &[4, 5])), (To::Child(0), one(2))];
    assert_eq!(sent, to);
}

#[test]
fn bundles_are_refused_as_single_messages_are() {
    let mut root = root();
    all_enter(&mut root, Call::Scatter);
    let mut refused = |child, frame| taken(&mut root, child, frame).unwrap_err();
    assert_eq!(refused(2, bundle(SCATTER, &[1])), Offence::Data { number: 0 }, "not of the master");
    assert_eq!(refused(0, bundle(SCATTER, &[1, 2, 3, 1])), Offence::Data { number: 0 }, "more than there are");
    assert_eq!(refused(0, bundle(SCATTER, &[1, 4])), Offence::Rank(4));
    let damaged = Offence::Payload("bundle");
    let whole = bundle(SCATTER, &[1]);
    assert_eq!(refused(0, Frame { payload: whole.payload.slice(1..), ..whole.clone() }), damaged);
    assert_eq!(refused(0, Frame { payload: Bytes::new(), ..whole.clone() }), damaged, "of nothing");
    assert_eq!(refused(0, Frame { flags: TOGETHER | MORE, ..whole }), damaged, "never in pieces");
    let mut agent = agent();
    all_enter(&mut agent, Call::Gather);
    assert_eq!(taken(&mut agent, 2, bundle(GATHER, &[4, 3])), Err(Offence::Rank(3)));
    let mut out = Out::new();
    let broken = agent.from_parent(bundle(SCATTER, &[2, 7]), Instant::now(), &mut out).unwrap_err();
    assert_eq!((broken.how, out), (Offence::Rank(7), Out::new()), "nothing of it is passed on");
}

#[test]
fn pieces_of_a_reduction_are_what_all_have_entered() {
    let mut agent = agent();
    all_enter(&mut agent, Call::AllReduce(Reduction::new(ReduceOp::Sum, ElementKind::U32, 64).unwrap()));
    let piece = |length: usize, flags| Frame { flags, ..Frame::new(REDUCE, 2, 0, vec![0; length]) };
    let refused = Err(Offence::Piece { number: 0 });
    assert_eq!(taken(&mut agent, 0, piece(68, 0)), refused);
    assert_eq!(taken(&mut agent, 1, piece(60, 0)), refused);
    for _ in 0..PIPELINE {
        assert_eq!(taken(&mut agent, 2, piece(4, MORE)), Ok(vec![]));
    }
    assert_eq!(taken(&mut agent, 2, piece(4, MORE)), refused);
    assert_eq!(agent.held(), 4 * PIPELINE);
}

#[test]
fn a_parent_that_sends_what_cannot_be_is_refused() {
    let refused = |frame| agent().from_parent(frame, Instant::now(), &mut Out::new()).unwrap_err();
    assert!(refused(Frame::new(GO, 0, 0, Bytes::new())).to_string().starts_with("the parent broke the protocol"));
    assert_eq!(refused(Frame::new(SCATTER, 7, 0, Bytes::new())).how, Offence::Rank(7));
    assert_eq!(refused(Frame::new(GATHER, 7, 0, Bytes::new())).how, Offence::Rank(0));
    assert_eq!(refused(Frame::new(ENTER, 7, 0, Bytes::new())).how, Offence::Kind(ENTER.number()));
}

#[test]
fn those_who_enter_after_a_failure_are_told_and_those_who_do_not_are_left_alone() {
    let mut root = root();
    let mut out = Out::new();
    root.member_gone(1, "member 1 on host n1 exited with status 3".into(), &mut out);
    let reason = "member 1 on host n1 exited with status 3 before it entered collective 0";
    let told = |child| (To::Child(child), Frame::new(FAILED, 0, 0, Bytes::from_static(reason.as_bytes())));
    assert_eq!(out, [told(2)], "a subtree is always told, a single member when it waits");
    assert_eq!(taken(&mut root, 0, enter(Call::Barrier, 0)), Ok(vec![told(0)]));
    assert_eq!(taken(&mut root, 2, enter(Call::Barrier, 0)), Ok(vec![told(2)]), "it may have joined late");
}

#[test]
fn a_status_says_who_is_missing_and_who_owes_data() {
    let mut root = root();
    taken(&mut root, 0, enter(Call::Gather, 0)).unwrap();
    taken(&mut root, 1, enter(Call::Gather, 0)).unwrap();
    let status = |root: &Collectives| root.waiting().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        status(&root),
        ["collective 0 (gather): entered by members 0-1, not by members 2-3; data of member 1 is missing"]
    );
    taken(&mut root, 2, enter(Call::Gather, 0)).unwrap();
    for (child, rank) in [(1, 1), (2, 2), (2, 3)] {
        taken(&mut root, child, Frame::new(GATHER, rank, 0, Bytes::new())).unwrap();
    }
    assert_eq!(status(&root), [""; 0]);
}

#[test]
fn only_the_master_waits_for_go_where_it_alone_has_data() {
    let mut root = root();
    let mut go = |call, number: u64| {
        let mut enter = |child| taken(&mut root, child, Entry { call, wants_go: true }.frame(0, Number(number)));
        let mut out: Out = (0..3).flat_map(|child| enter(child).unwrap()).collect();
        let (_, go) = out.pop().unwrap();
        root.is_for_master(&go)
    };
    // The first is one for which everyone waits, whatever it is.
    assert!(!go(Call::Scatter, 0));
    assert!(go(Call::Scatter, 1) && go(Call::Broadcast, 2));
    assert!(!go(Call::Barrier, 3) && !go(Call::Gather, 4));
}

#[test]
fn a_child_that_goes_elsewhere_is_waited_for_there() {
    let (mut agent, mut root) = (agent(), root());
    for child in [0, 1] {
        assert_eq!(taken(&mut agent, child, enter(Call::Barrier, 0)), Ok(Vec::new()));
    }
    let mut out = Out::new();
    agent.regroup(vec![Subtree::Member(2), Subtree::Member(3), below(&[])], &mut out);
    assert!(matches!(&out[..], [(To::Parent, frame)] if frame.kind == ENTER), "{out:?}");
    // The root has a child more, which has not entered yet.
    let entry = Entry { call: Call::Barrier, wants_go: true }.frame(0, Number(0));
    for child in 0..2 {
        taken(&mut root, child, entry.clone()).unwrap();
    }
    root.regroup(vec![Subtree::Member(0), Subtree::Member(1), below(&[2]), below(&[3])], &mut Out::new());
    assert_eq!(taken(&mut root, 2, entry.clone()), Ok(Vec::new()));
    let out = taken(&mut root, 3, entry).unwrap();
    assert!(matches!(&out[..], [(To::AllChildren, frame)] if frame.kind == GO), "{out:?}");
}

fn ask(rank: u32) -> Frame {
    Frame::new(ASK_ENTERED, rank, 0, Bytes::new())
}

fn not_entered(ranks: &[u32]) -> Frame {
    let absent = Absent { not_entered: ranks.iter().copied().collect(), ..Absent::default() };
    Frame::new(NOT_ENTERED, 0, 0, absent.encode())
}

#[test]
fn a_question_goes_up_once_and_its_answer_goes_to_all_who_have_asked() {
    let mut agent = agent();
    for child in [0, 2] {
        taken(&mut agent, child, enter(Call::Barrier, 0)).unwrap();
    }
    assert_eq!(taken(&mut agent, 0, ask(2)), Ok(vec![(To::Parent, ask(2))]));
    for (child, rank) in [(2, 4), (0, 2)] {
        assert_eq!(taken(&mut agent, child, ask(rank)), Ok(vec![]));
    }
    let mut out = Out::new();
    agent.from_parent(not_entered(&[3]), Instant::now(), &mut out).unwrap();
    assert_eq!(out, [(To::Child(0), not_entered(&[3])), (To::Child(2), not_entered(&[3]))]);
    assert_eq!(taken(&mut agent, 0, ask(2)), Ok(vec![(To::Parent, ask(2))]), "it may ask again");
}

#[test]
fn the_root_asks_agents_that_have_not_entered_and_answers_when_they_have() {
    let mut root = root();
    taken(&mut root, 0, enter(Call::Barrier, 0)).unwrap();
    let asked = taken(&mut root, 0, ask(0)).unwrap();
    assert_eq!(asked, [(To::Child(2), Frame::new(ASK_ENTERED, 750, 0, Bytes::new()))]);
    let now = Instant::now();
    assert!(root.question_timeout().is_some_and(|at| at <= now + ANSWER_TIME), "it does not wait for ever");
    // Ranks of others it cannot speak for.
    let answer = taken(&mut root, 2, not_entered(&[0, 3])).unwrap();
    assert_eq!(answer, [(To::Child(0), not_entered(&[1, 3]))]);
    assert_eq!(root.question_timeout(), None);
    assert_eq!(taken(&mut root, 2, not_entered(&[3])), Ok(vec![]), "an answer that nobody waits for");
    assert_eq!(
        taken(&mut root, 1, not_entered(&[])),
        Err(Offence::Kind(NOT_ENTERED.number())),
        "members answer nothing"
    );
    let beyond = taken(&mut root, 2, not_entered(&[4]));
    assert_eq!(beyond, Err(Offence::Payload("NOT_ENTERED")), "there is no such member");
}

#[test]
fn who_has_entered_need_not_answer_and_who_does_not_answer_is_named() {
    let ask_again = |root: &mut Collectives| taken(root, 0, ask(0)).unwrap();
    let mut root = root();
    taken(&mut root, 0, enter(Call::Barrier, 0)).unwrap();
    ask_again(&mut root);
    let (mut out, later) = (Out::new(), Instant::now() + ANSWER_TIME);
    root.questions_due(later, &|child| format!("n{child}"), &mut out);
    let mut silent = Absent { not_entered: [1].into_iter().collect(), ..Absent::default() };
    silent.add_silent("n2", &(2..=3).collect());
    assert_eq!(out, [(To::Child(0), Frame::new(NOT_ENTERED, 0, 0, silent.encode()))]);
    ask_again(&mut root);
    assert_eq!(taken(&mut root, 2, enter(Call::Barrier, 0)), Ok(vec![(To::Child(0), not_entered(&[1]))]));
    let all = taken(&mut root, 1, Entry { call: Call::Barrier, wants_go: true }.frame(1, Number(0))).unwrap();
    assert!(matches!(&all[..], [(To::AllChildren, go)] if go.kind == GO), "{all:?}");
    assert_eq!(ask_again(&mut root), [(To::Child(0), not_entered(&[]))]);
}

#[test]
fn questions_about_what_fails_are_answered_by_the_failure() {
    let mut root = root();
    taken(&mut root, 0, enter(Call::Barrier, 0)).unwrap();
    taken(&mut root, 0, ask(0)).unwrap();
    let mut out = Out::new();
    root.member_gone(1, "member 1 on host n1 exited with status 3".into(), &mut out);
    assert!(matches!(&out[..], [(To::Child(0), failed), (To::Child(2), _)] if failed.kind == FAILED), "{out:?}");
    assert_eq!(root.question_timeout(), None);
    let told = taken(&mut root, 0, ask(0)).unwrap();
    assert!(matches!(&told[..], [(To::Child(0), failed)] if failed.kind == FAILED), "{told:?}");
}
