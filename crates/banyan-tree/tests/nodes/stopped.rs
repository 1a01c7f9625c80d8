//! Members whose processes are stopped, as the system sees, and members that only compute.

use super::*;

const LOOK: Duration = Duration::from_millis(500);

/// As many looks as there are in four seconds, one before that at the agent, and one on the way.
const LOOKS: usize = 10;

impl Tree {
    /// Nothing comes to a member, and nothing from it: whether it is stopped the network does not see.
    fn hush(&mut self, member: usize) {
        (0..3).for_each(|above| self.cut.extend([(above, member), (member, above)]));
    }

    fn go_on(&mut self, member: usize) {
        self.stopped.remove(&member);
        (0..3).for_each(|above| _ = [(above, member), (member, above)].map(|way| self.cut.remove(&way)));
        // It asks those above it one after the other, which it has done in vain so far.
        (0..10).for_each(|_| self.pass(Duration::from_secs(5)));
    }

    fn looks(&mut self, stream: StreamId, times: usize) -> Option<RankSet> {
        (0..times).find_map(|_| {
            self.pass(LOOK);
            self.wave(stream)
        })
    }
}

#[test]
fn a_wave_goes_on_without_a_member_that_is_stopped_and_waits_for_one_that_computes() {
    let mut tree = Tree::new();
    let [first, computing, stopped] = [0, 1, 2].map(|rank| tree.member(rank, &[1]));
    let stream = tree.open(0..=2);
    tree.pass(Duration::ZERO);
    [computing, stopped].iter().for_each(|member| tree.hush(*member));
    tree.stopped.insert(stopped, 0);
    tree.contribute(first, stream);
    assert_eq!(tree.looks(stream, 7), None, "it may be stopped for some time");
    assert_eq!(tree.nodes[0].members(), ranks([0, 1, 2]));
    assert_eq!(tree.looks(stream, 100), None, "one that computes is waited for");
    assert!(tree.told.contains(&Report::Lost(ranks([2]))), "{:?}", tree.told);
    assert_eq!(tree.nodes[0].members(), ranks([0, 1]));
    tree.go_on(computing);
    tree.contribute(computing, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0, 1])));
    tree.go_on(stopped);
    assert_eq!(tree.nodes[0].members(), ranks([0, 1, 2]), "it is back");
    tree.send(stream, 0);
    [first, computing, stopped].iter().for_each(|member| tree.contribute(*member, stream));
    assert_eq!(tree.wave(stream), Some(ranks([0, 1, 2])));
}

#[test]
fn an_agent_whose_members_are_all_stopped_hears_of_the_wave_that_waits() {
    let mut tree = Tree::new();
    let first = tree.member(0, &[1]);
    let stopped = [1, 2].map(|rank| tree.member(rank, &[2]));
    let stream = tree.open(0..=2);
    tree.pass(Duration::ZERO);
    stopped.iter().for_each(|member| tree.hush(*member));
    tree.stopped.extend(stopped.map(|member| (member, 0)));
    tree.contribute(first, stream);
    assert_eq!(tree.looks(stream, LOOKS), Some(ranks([0])));
    tree.contribute(first, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0])), "later waves do not wait for them");
}

#[test]
fn members_are_not_given_up_that_are_stopped_now_and_then_or_while_nothing_waits() {
    let mut tree = Tree::new();
    let [first, other] = [0, 1].map(|rank| tree.member(rank, &[1]));
    let stream = tree.open(0..=1);
    tree.pass(Duration::ZERO);
    tree.stopped.extend([(first, 0), (other, 0)]);
    assert_eq!(tree.looks(stream, 100), None);
    tree.stopped.clear();
    tree.contribute(first, stream);
    for _ in 0..20 {
        tree.stopped.insert(other, 0);
        assert_eq!(tree.looks(stream, 4), None);
        tree.stopped.clear();
        assert_eq!(tree.looks(stream, 4), None);
    }
    for run in 0..100 {
        // Somebody stops it again and again, so that it computes slowly.
        tree.stopped.insert(other, run);
        assert_eq!(tree.looks(stream, 1), None);
    }
    assert_eq!(tree.nodes[0].members(), ranks([0, 1]));
}

#[test]
fn without_a_limit_a_wave_waits_for_a_member_that_is_stopped() {
    let mut options = NodeOptions::default();
    options.stopped = None;
    let mut tree = Tree::with(options);
    let [first, stopped] = [0, 1].map(|rank| tree.member(rank, &[1]));
    let stream = tree.open(0..=1);
    tree.pass(Duration::ZERO);
    tree.stopped.insert(stopped, 0);
    tree.contribute(first, stream);
    assert_eq!(tree.looks(stream, 100), None);
}

#[test]
fn a_stopped_member_holds_up_neither_what_is_sent_nor_streams_that_are_opened() {
    for sends in [true, false] {
        let mut options = NodeOptions::default();
        options.ahead_packets = 8;
        let mut tree = Tree::with(options);
        let [taking, stopped] = [0, 1].map(|rank| tree.member(rank, &[1]));
        let stream = tree.open(0..=1);
        tree.pass(Duration::ZERO);
        tree.hush(stopped);
        tree.stopped.insert(stopped, 0);
        let go_on = |tree: &mut Tree| {
            if sends {
                let sent = tree.nodes[0].multicast(stream, 0, FORMAT, Bytes::from_static(&[0]));
                tree.settle();
                tree.take(taking, stream);
                sent.is_ok()
            } else if tree.nodes[0].may_open() {
                let opened = tree.open(0..=1);
                tree.nodes[0].close(opened);
                tree.settle();
                true
            } else {
                false
            }
        };
        let before = (0..100).take_while(|_| go_on(&mut tree)).count();
        assert!(before < 100, "memory is bounded");
        (0..LOOKS).for_each(|_| tree.pass(LOOK));
        assert_eq!(tree.nodes[0].members(), ranks([0]));
        assert_eq!((0..100).take_while(|_| go_on(&mut tree)).count(), 100);
    }
}
