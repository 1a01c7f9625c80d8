//! What a member's part refuses: calls that make no sense, and frames that no correct agent sends.

use super::early::early_at_most;
use super::*;
use crate::message::{CHUNK, USER};

fn refused(rank: u32, own: Own) -> String {
    Caller::new(rank, 3).begin(own).unwrap_err().to_string()
}

#[test]
fn calls_that_make_no_sense_are_refused_with_a_remedy() {
    let bytes = || Bytes::from_static(b"abc");
    assert!(refused(1, Own::Broadcast(Some(bytes()))).ends_with("give none here"));
    assert!(refused(0, Own::Scatter(None)).ends_with("give them"));
    assert_eq!(
        refused(0, Own::Scatter(Some(vec![bytes(); 2]))),
        "2 parts for 3 members; give one part for each member"
    );
    assert!(refused(1, Own::AllReduce(ReduceOp::Sum, ElementKind::U32, bytes())).contains("multiple of 4"));
}

#[test]
fn a_refused_call_leaves_the_next_one_as_it_was() {
    let mut caller = Caller::new(1, 3);
    caller.begin(Own::Scatter(Some(Vec::new()))).unwrap_err();
    assert_eq!(caller.begin(Own::Barrier).unwrap().sequence, 0);
    let unfinished = CollectiveError::Unfinished { number: 0, call: "barrier".into() };
    assert_eq!(caller.begin(Own::Barrier), Err(unfinished));
}

#[test]
fn frames_that_cannot_be_are_refused() {
    let refused = |frame: Frame| {
        let mut caller = Caller::new(0, 3);
        caller.begin(Own::Gather(Bytes::new())).unwrap();
        caller.handle(frame).unwrap_err()
    };
    let is_protocol = |error| matches!(error, CollectiveError::Protocol { .. });
    assert!(is_protocol(refused(Frame::new(USER, 0, 0, Bytes::new()))));
    assert!(is_protocol(refused(Frame::new(GO, 0, 1, Bytes::new()))), "not entered");
    assert!(is_protocol(refused(Frame::new(GATHER, 3, 0, Bytes::new()))), "no such member");
    assert!(is_protocol(refused(Frame::new(GATHER, 0, 0, Bytes::new()))), "its own does not travel");
    assert!(is_protocol(refused(Frame::new(GATHER, 1, 1 + PACE as u32, Bytes::new()))), "too far ahead");
    assert!(is_protocol(refused(Frame::new(GATHER, 1, u32::MAX, Bytes::new()))), "before the first");
    assert!(is_protocol(refused(Frame::new(GATHER, 1, 1, vec![0; early_at_most(3) + 1]))), "too much ahead");
}

#[test]
fn nothing_is_sent_before_everyone_has_entered_the_first_collective() {
    let mut caller = Caller::new(1, 3);
    caller.begin(Own::Gather(Bytes::from_static(b"abc"))).unwrap();
    assert_eq!(caller.next_chunk(100), None);
    caller.handle(Frame::new(GO, 0, 0, Bytes::new())).unwrap();
    assert!(caller.next_chunk(100).is_some());
    assert_eq!(caller.take_result(), Some(CallOutcome::Done));
}

#[test]
fn a_member_sends_little_ahead_of_the_others_and_then_waits_for_them() {
    let mut caller = Caller::new(1, 3);
    caller.begin(Own::Barrier).unwrap();
    caller.handle(Frame::new(GO, 0, 0, Bytes::new())).unwrap();
    assert!(caller.take_result().is_some());
    for _ in 0..2 {
        caller.begin(Own::Gather(vec![0; EAGER / 2].into())).unwrap();
        assert!(caller.next_chunk(EAGER).is_some());
        assert!(caller.take_result().is_some());
    }
    let third = caller.begin(Own::Gather(vec![0; 1].into())).unwrap();
    assert_eq!(Entry::decode(&third.payload), Some(Entry { call: Call::Gather, wants_go: true }));
    assert_eq!(caller.next_chunk(EAGER), None);
}

#[test]
fn what_counts_ahead_of_the_others_is_what_each_of_them_gets() {
    let mut caller = Caller::new(0, 3);
    caller.begin(Own::Barrier).unwrap();
    caller.handle(Frame::new(GO, 0, 0, Bytes::new())).unwrap();
    assert!(caller.take_result().is_some());
    let parts = |length: usize| Own::Scatter(Some(vec![vec![0; length].into(); 3]));
    caller.begin(parts(EAGER)).unwrap();
    while caller.next_chunk(CHUNK).is_some() {}
    assert!(caller.take_result().is_some(), "as much for each as it may get");
    caller.begin(parts(1)).unwrap();
    assert_eq!(caller.next_chunk(CHUNK), None);
}

#[test]
fn a_failure_ends_what_it_names_and_everything_after_it_but_nothing_before() {
    let mut caller = Caller::new(1, 3);
    caller.begin(Own::Barrier).unwrap();
    caller.handle(Frame::new(FAILED, 0, 1, Bytes::from_static(b"why"))).unwrap();
    caller.handle(Frame::new(GO, 0, 0, Bytes::new())).unwrap();
    assert_eq!(caller.take_result(), Some(CallOutcome::Done));
    for _ in 0..2 {
        assert_eq!(caller.begin(Own::Barrier), Err(CollectiveError::Failed("why".into())));
    }
}

#[test]
fn the_same_call_goes_on_with_what_has_not_completed_and_another_is_refused() {
    let mut caller = Caller::new(1, 3);
    let numbers = |length: usize| Own::AllReduce(ReduceOp::Sum, ElementKind::U32, vec![0; length].into());
    assert_eq!(caller.is_in(&numbers(8)), Ok(false));
    caller.begin(numbers(8)).unwrap();
    assert_eq!(caller.is_in(&numbers(8)), Ok(true));
    assert_eq!(caller.is_in(&numbers(4)), Ok(false));
    assert_eq!(caller.is_in(&Own::Barrier), Ok(false));
    let refused = caller.begin(Own::Barrier).unwrap_err().to_string();
    assert!(refused.starts_with("collective 0 (all_reduce (sum of u32, 8 bytes)) has not ended; make the same call"));
}

#[test]
fn a_member_has_one_question_under_way_and_gets_one_answer() {
    let mut caller = Caller::new(1, 3);
    assert_eq!(caller.ask(), None, "there is nothing to ask about");
    caller.begin(Own::Barrier).unwrap();
    assert_eq!(caller.ask(), Some(Frame::new(ASK_ENTERED, 1, 0, Bytes::new())));
    assert_eq!(caller.ask(), None);
    let absent = Absent { not_entered: [2].into_iter().collect(), ..Absent::default() };
    let answer = || Frame::new(NOT_ENTERED, 0, 0, absent.encode());
    caller.handle(answer()).unwrap();
    assert_eq!((caller.take_absent(), caller.take_absent()), (Some(absent.clone()), None));
    caller.handle(answer()).unwrap();
    assert_eq!(caller.take_absent(), None, "it has not asked");
    assert!(caller.ask().is_some());
    caller.handle(Frame::new(GO, 0, 0, Bytes::new())).unwrap();
    assert_eq!(caller.take_result(), Some(CallOutcome::Done));
    caller.handle(answer()).unwrap();
    assert_eq!(caller.take_absent(), None, "it waits no more");
    let ahead = Frame::new(NOT_ENTERED, 0, 1, absent.encode());
    assert!(matches!(caller.handle(ahead), Err(CollectiveError::Protocol { .. })), "not entered");
    let damaged = Frame::new(NOT_ENTERED, 0, 0, Bytes::new());
    assert!(matches!(caller.handle(damaged), Err(CollectiveError::Protocol { .. })));
}
