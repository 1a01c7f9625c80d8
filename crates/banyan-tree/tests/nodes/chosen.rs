//! What newcomers get of packets for some members, and what they cost others.

use super::*;

/// Members 0 and 2 below the two agents, and a stream of these and of member 1, which comes later.
fn tree() -> (Tree, StreamId) {
    let mut tree = Tree::new();
    tree.member(0, &[1]);
    tree.member(2, &[2]);
    let stream = tree.open(0..=2);
    (tree, stream)
}

impl Tree {
    fn send_to(&mut self, stream: StreamId, members: RankSet, number: u8) {
        let body = Bytes::copy_from_slice(&[number]);
        self.nodes[0].send_to(stream, Arc::new(members), 0, FORMAT, body).unwrap();
    }
}

#[test]
fn a_newcomer_gets_what_was_sent_to_it_before_the_front_end_had_heard_of_it() {
    let (mut tree, stream) = tree();
    tree.send(stream, 0);
    let newcomer = tree.push(NodeId(5), 0, Some(1), Level(2), &[1]);
    tree.nodes[newcomer].wake(tree.now);
    tree.settle_until(|tree| tree.nodes[1].degree() == 2);
    // Its agent has it, and has not said so.
    tree.nodes[0].multicast(stream, 0, FORMAT, Bytes::from_static(&[1])).unwrap();
    tree.send_to(stream, ranks([1, 2]), 2);
    tree.settle();
    tree.send_to(stream, ranks([2]), 3);
    tree.send(stream, 4);
    assert_eq!(tree.take(newcomer, stream), [1, 2, 4]);
}

#[test]
fn a_newcomer_gets_what_its_agent_was_not_sent_because_it_had_not_come() {
    let (mut tree, stream) = tree();
    tree.send(stream, 0);
    tree.send_to(stream, ranks([1, 2]), 1);
    tree.settle();
    let newcomer = tree.member(1, &[1]);
    tree.send(stream, 2);
    assert_eq!(tree.take(newcomer, stream), [1, 2]);
}

#[test]
fn a_member_that_comes_to_an_agent_which_asks_where_a_newcomer_begins_misses_nothing() {
    let mut tree = Tree::new();
    let moved = tree.member(0, &[2, 1]);
    let stream = tree.open(0..=1);
    tree.send(stream, 0);
    tree.cut.extend([(2, moved), (moved, 0)]);
    tree.send(stream, 1);
    tree.kill(2);
    // It asks the front-end in vain.
    tree.pass(Duration::from_millis(50));
    let newcomer = tree.push(NodeId(4), 0, Some(1), Level(2), &[1]);
    tree.nodes[newcomer].wake(tree.now);
    tree.settle_until(|tree| tree.nodes[1].degree() == 1);
    // It comes before the front-end has answered.
    tree.now = tree.now.after(Duration::from_secs(1));
    tree.nodes[moved].wake(tree.now);
    tree.settle();
    assert_eq!(tree.nodes[moved].parent(), Some(NodeId(1)));
    tree.send(stream, 2);
    assert_eq!(tree.take(moved, stream), [0, 1, 2]);
}
