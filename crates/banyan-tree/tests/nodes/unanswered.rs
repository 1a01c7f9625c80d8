//! Members that are there and do not contribute, where there is a limit to that.

use super::*;

/// Two members below the first agent and one below the second, of which one has not contributed to a wave.
fn waiting_for_one() -> (Tree, StreamId, [usize; 3]) {
    let mut options = NodeOptions::default();
    options.unanswered = Some(Duration::from_secs(8));
    let mut tree = Tree::with(options);
    let members = [tree.member(0, &[1]), tree.member(1, &[1]), tree.member(2, &[2])];
    let stream = tree.open(0..=2);
    tree.pass(Duration::ZERO);
    tree.contribute(members[0], stream);
    tree.contribute(members[2], stream);
    assert_eq!(tree.wave(stream), None);
    (tree, stream, members)
}

#[test]
fn a_member_that_holds_a_wave_up_for_too_long_is_given_up_alone_and_comes_back() {
    let (mut tree, stream, [first, silent, third]) = waiting_for_one();
    // It is there, and hears nothing.
    (0..3).for_each(|above| _ = tree.cut.insert((above, silent)));
    for _ in 0..4 {
        tree.pass(Duration::from_secs(2));
        assert_eq!(tree.wave(stream), None);
    }
    tree.pass(Duration::from_secs(2));
    assert_eq!(tree.wave(stream), Some(ranks([0, 2])));
    assert!(tree.told.contains(&Report::Lost(ranks([1]))), "{:?}", tree.told);
    assert_eq!(tree.nodes[0].members(), ranks([0, 2]));
    [first, third].iter().for_each(|member| tree.contribute(*member, stream));
    assert_eq!(tree.wave(stream), Some(ranks([0, 2])), "later waves do not wait for it");
    // It finds its link closed, and a parent.
    (0..3).for_each(|above| _ = tree.cut.remove(&(above, silent)));
    tree.pass(Duration::from_secs(20));
    assert_eq!(tree.nodes[0].members(), ranks([0, 1, 2]));
    tree.send(stream, 0);
    [first, silent, third].iter().for_each(|member| tree.contribute(*member, stream));
    assert_eq!(tree.wave(stream), Some(ranks([0, 1, 2])));
}

#[test]
fn a_member_that_holds_a_wave_up_is_given_up_where_the_front_end_has_heard_nothing_of_the_wave() {
    let mut options = NodeOptions::default();
    options.unanswered = Some(Duration::from_secs(8));
    let mut tree = Tree::with(options);
    let [first, silent, third] = [0, 1, 2].map(|rank| tree.member(rank, &[1]));
    let stream = tree.open(0..=2);
    tree.pass(Duration::ZERO);
    (0..3).for_each(|above| _ = tree.cut.insert((above, silent)));
    [first, third].iter().for_each(|member| tree.contribute(*member, stream));
    // Half of the time at the agent, all of it at the front-end, and a look each.
    let mut looks = 0;
    let wave = loop {
        if let Some(wave) = tree.wave(stream) {
            break wave;
        }
        looks += 1;
        assert!(looks <= 15, "it waits for ever");
        tree.pass(Duration::from_secs(1));
    };
    assert!(looks > 8, "it has the time that it may take");
    assert_eq!(wave, ranks([0, 2]));
    assert!(tree.told.contains(&Report::Lost(ranks([1]))), "{:?}", tree.told);
    [first, third].iter().for_each(|member| tree.contribute(*member, stream));
    assert_eq!(tree.wave(stream), Some(ranks([0, 2])), "later waves do not wait for it");
}

#[test]
fn members_that_wait_for_a_front_end_which_takes_nothing_are_not_given_up() {
    let mut options = NodeOptions::default();
    options.unanswered = Some(Duration::from_secs(1));
    // A member whose records are larger gets less far.
    options.window_bytes = 64;
    let mut tree = Tree::with(options);
    let (large, small) = (tree.member(0, &[1]), tree.member(1, &[1]));
    let stream = tree.open(0..=1);
    for (member, bytes) in [(large, &[1; 32][..]), (small, &[1; 8])] {
        let body = Bodies::one(FORMAT, Bytes::from_static(bytes));
        while tree.nodes[member].contribute(stream, body.clone()).is_ok() {
            tree.settle();
        }
    }
    for _ in 0..20 {
        tree.pass(Duration::from_secs(1));
    }
    assert_eq!(tree.nodes[0].members(), ranks([0, 1]));
}
