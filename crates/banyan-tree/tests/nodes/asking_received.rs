//! Front-ends that keep more of a packet than members get of it: they have to hear that it was taken all the same.

use super::*;

/// Bytes that the front-end may be ahead: less than what makes members speak by themselves.
const AHEAD: usize = 64 << 10;

/// Bytes of each part.
const PART: usize = 1 << 10;

fn tree() -> Tree {
    let mut options = NodeOptions::default();
    options.ahead_bytes = AHEAD;
    Tree::with(options)
}

impl Tree {
    /// A part for each of so many members, whose first byte is this number.
    fn scatter(&mut self, stream: StreamId, members: u32, number: u8) -> Result<(), SendError> {
        let bytes = Bytes::from(vec![number; PART * members as usize]);
        let bodies = Bodies::of_size(FORMAT, PART as u32, members, bytes).unwrap();
        let scattered = self.nodes[0].scatter(stream, 0, bodies);
        self.settle();
        scattered
    }
}

#[test]
fn members_that_take_what_was_scattered_make_room_for_more() {
    let mut tree = tree();
    let members: Vec<usize> = (0..16).map(|rank| tree.member(rank, &[1 + rank as usize % 2])).collect();
    let stream = tree.open(0..=15);
    for number in 0..100 {
        tree.scatter(stream, 16, number).unwrap();
        for member in &members {
            assert_eq!(tree.take(*member, stream), [number]);
        }
        tree.settle();
    }
}

#[test]
fn a_member_that_takes_late_makes_room_when_it_does_and_also_elsewhere() {
    for moves in [false, true] {
        let mut tree = tree();
        let quick: Vec<usize> = (0..15).map(|rank| tree.member(rank, &[2])).collect();
        let slow = tree.member(15, &[1, 2]);
        let stream = tree.open(0..=15);
        let sent = (0..=u8::MAX).take_while(|number| tree.scatter(stream, 16, *number).is_ok()).count();
        assert_eq!(sent, AHEAD / PART / 16 - 1, "with what packets take besides");
        if moves {
            tree.cut.extend([(0, 1), (2, 1)]);
            tree.kill(1);
            // Until nobody waits any more for the agent to come back.
            (0..11).for_each(|_| tree.pass(Duration::from_secs(1)));
        }
        quick.iter().for_each(|member| assert_eq!(tree.take(*member, stream).len(), sent));
        tree.settle();
        assert_eq!(tree.scatter(stream, 16, 0), Err(SendError::Full), "{moves}");
        assert_eq!(tree.take(slow, stream).len(), sent);
        tree.settle();
        assert_eq!(tree.scatter(stream, 16, 0), Ok(()), "{moves}");
    }
}

#[test]
fn a_stopped_member_does_not_hold_up_what_is_scattered() {
    let mut tree = tree();
    let members: Vec<usize> = (0..16).map(|rank| tree.member(rank, &[1])).collect();
    let (stream, stopped) = (tree.open(0..=15), members[3]);
    tree.pass(Duration::ZERO);
    (0..3).for_each(|above| tree.cut.extend([(above, stopped), (stopped, above)]));
    tree.stopped.insert(stopped, 0);
    let go_on = |tree: &mut Tree, number| {
        let scattered = tree.scatter(stream, 16, number);
        let others = members.iter().filter(|member| **member != stopped);
        others.for_each(|member| _ = tree.take(*member, stream));
        tree.settle();
        scattered.is_ok()
    };
    assert!((0..100).take_while(|number| go_on(&mut tree, *number)).count() < 10, "memory is bounded");
    (0..20).for_each(|_| tree.pass(Duration::from_millis(500)));
    assert_eq!(tree.nodes[0].members().len(), 15);
    assert_eq!((0..100).take_while(|number| go_on(&mut tree, *number)).count(), 100);
}

#[test]
fn what_fills_the_window_is_asked_for_once() {
    let mut tree = tree();
    let member = tree.member(0, &[1]);
    let stream = tree.open(0..=0);
    let asked = |tree: &mut Tree, body: Bytes| {
        let sent = tree.nodes[0].multicast(stream, 0, FORMAT, body);
        let mut requests = 0;
        while let Some(action) = tree.nodes[0].action() {
            requests += usize::from(matches!(action, Action::Send { message: Message::WantReceipt(_), .. }));
            tree.act(0, action);
        }
        tree.settle();
        (sent.is_ok(), requests)
    };
    let all: Vec<(bool, usize)> = (0..200).map(|_| asked(&mut tree, Bytes::from(vec![0; PART]))).collect();
    assert_eq!(all.iter().map(|(_, requests)| requests).sum::<usize>(), 1, "{all:?}");
    let sent = all.iter().filter(|(is_sent, _)| *is_sent).count();
    assert!(sent < 100);
    assert_eq!(tree.take(member, stream).len(), sent);
    tree.settle();
    assert!(asked(&mut tree, Bytes::from(vec![0; PART])).0);
}

#[test]
fn a_member_that_takes_few_large_packets_says_so_unasked() {
    let mut tree = tree();
    let member = tree.member(0, &[1]);
    let stream = tree.open(0..=0);
    let large = Bytes::from(vec![0; AHEAD / 8]);
    for _ in 0..2 {
        tree.nodes[0].multicast(stream, 0, FORMAT, large.clone()).unwrap();
        tree.settle();
        assert!(tree.nodes[0].counters().log_bytes > 0);
        assert_eq!(tree.take(member, stream).len(), 1);
        tree.settle();
        assert_eq!(tree.nodes[0].counters().log_bytes, 0);
    }
}
