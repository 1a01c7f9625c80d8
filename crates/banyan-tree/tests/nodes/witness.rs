//! Members that end while they have no parent: whoever started them says so.

use super::*;

/// A front-end that waits for those who are adrift longer than any test; member 0 under the one agent, member 1 under the
/// other, and a stream of both.
fn tree() -> (Tree, StreamId, [usize; 2]) {
    let mut options = NodeOptions::default();
    options.adrift = Duration::from_secs(1_000_000);
    let mut tree = Tree::with(options);
    let members = [tree.member(0, &[1]), tree.member(1, &[2])];
    let stream = tree.open(0..=1);
    tree.pass(Duration::ZERO);
    tree.contribute(members[0], stream);
    (tree, stream, members)
}

#[test]
fn a_member_that_has_ended_together_with_its_agent_is_not_waited_for_once_someone_says_so() {
    let (mut tree, stream, [_, member]) = tree();
    tree.kill(member);
    tree.kill(2);
    tree.pass(Duration::from_secs(1));
    assert_eq!(tree.wave(stream), None, "it may come back");
    tree.nodes[1].witness(ranks([1]));
    tree.settle();
    assert_eq!(tree.wave(stream), Some(ranks([0])));
    assert!(tree.told.contains(&Report::Lost(ranks([1]))), "{:?}", tree.told);
}

#[test]
fn who_says_so_before_the_front_end_knows_that_the_agent_is_lost_is_heard_then() {
    let (mut tree, stream, [_, member]) = tree();
    tree.kill(member);
    tree.nodes[1].witness(ranks([1]));
    tree.settle();
    tree.kill(2);
    tree.pass(Duration::from_secs(1));
    assert_eq!(tree.wave(stream), Some(ranks([0])));
}

#[test]
fn an_agent_is_not_heard_for_members_that_it_has_not_started() {
    let (mut tree, stream, [_, member]) = tree();
    tree.nodes[0].set_starters(vec![NodeId(1), NodeId(2)]);
    tree.kill(member);
    tree.kill(2);
    tree.nodes[1].witness(ranks([1]));
    tree.pass(Duration::from_secs(1));
    assert_eq!(tree.wave(stream), None);
    let is_told = |report: &Report| matches!(report, Report::Violation { child: NodeId(1), .. });
    assert!(tree.told.iter().any(is_told), "{:?}", tree.told);
}

#[test]
fn another_process_that_has_taken_the_place_of_one_that_ended_is_waited_for() {
    let (mut tree, stream, [_, member]) = tree();
    tree.kill(member);
    tree.kill(2);
    tree.nodes[1].witness(ranks([1]));
    tree.pass(Duration::from_secs(1));
    assert_eq!(tree.wave(stream), Some(ranks([0])));
    let successor = tree.successor(member, 1, &[1, 0]);
    tree.send(stream, 0);
    tree.contribute(3, stream);
    tree.nodes[1].witness(ranks([1]));
    tree.pass(Duration::from_secs(1));
    assert_eq!(tree.wave(stream), None, "it is another process that has ended");
    tree.contribute(successor, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0, 1])));
}
