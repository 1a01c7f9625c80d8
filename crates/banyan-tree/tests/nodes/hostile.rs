//! Every behaviour of a hostile member is noticed by the agent above it, which names the member to the front-end.

use banyan_tree::reduce::{Filters, ReductionLimits};
use banyan_tree::{Combiners, FormatBook};

use super::*;
use crate::hostile_member::{BEHAVIOURS, Hostile};

#[test]
fn a_hostile_member_is_named_to_the_front_end_and_cut_off() {
    let mut unnoticed = Vec::new();
    for behaviour in BEHAVIOURS {
        let formats = FormatBook::new();
        let combiners = Combiners::new(Filters::new(ReductionLimits::default()), formats.clone());
        let mut tree = Tree::of(NodeOptions::default(), Arc::new(combiners));
        (0..3).for_each(|rank| _ = tree.member(rank, &[2]));
        let member = tree.member(3, &[1]);
        let stream = tree.nodes[0].open(Arc::new(ranks(0..=3)), (behaviour.options)()).unwrap();
        tree.settle();
        let (_, link) = tree.ends.iter().find(|((at, _), _)| *at == member).map(|(_, end)| *end).unwrap();
        let speech = (behaviour.speak)(Hostile { rank: 3, node: NodeId(member as u32), stream });
        speech.formats.iter().for_each(|format| formats.learn(format).unwrap());
        for message in speech.messages {
            tree.nodes[1].message(link, message, tree.now);
        }
        tree.settle();
        let is_named = |report: &Report| matches!(report, Report::Violation { node: NodeId(1), rank: Some(3), cause, .. } if cause.contains(behaviour.cause));
        if !tree.told.iter().any(is_named) {
            unnoticed.push((behaviour.name, tree.told));
        }
        assert_eq!(tree.nodes[0].take_waves(stream).map(|_| ()), None, "{}", behaviour.name);
    }
    assert!(unnoticed.is_empty(), "{unnoticed:#?}");
}

/// Messages of a member of one agent that reads nothing: the agent names it before much waits for it.
fn assert_named_before_much_waits(options: StreamOptions, messages: impl FnOnce(StreamId) -> Vec<Message>) {
    let mut tree = Tree::new();
    let member = tree.member(0, &[1]);
    let stream = tree.nodes[0].open(Arc::new(ranks(0..=0)), options).unwrap();
    tree.settle();
    let (_, link) = tree.ends.iter().find(|((at, _), _)| *at == member).map(|(_, end)| *end).unwrap();
    for message in messages(stream) {
        tree.nodes[1].message(link, message, tree.now);
    }
    let agent = &mut tree.nodes[1];
    let actions: Vec<Action> = std::iter::from_fn(|| agent.action()).collect();
    let waiting =
        actions.iter().filter(|action| matches!(action, Action::Send { link: to, .. } if *to == link)).count();
    assert!(waiting < 6_000, "{waiting} messages wait for a member that reads none");
    let is_named = |action: &Action| matches!(action, Action::Report(Report::Violation { rank: Some(0), .. }));
    assert!(actions.iter().any(is_named));
}

fn first_wave(stream: StreamId) -> Message {
    let (members, bodies) = (Arc::new(ranks(0..=0)), Bodies::one(FORMAT, Bytes::from_static(&[1; 8])));
    Message::Run(Run { stream, first: WaveNumber(0), members, is_fresh: true, is_partial: false, yields: None, bodies })
}

#[test]
fn a_member_that_is_late_again_and_again_and_takes_no_answer_is_named() {
    let synchronisation = Synchronisation::Timeout(Duration::from_millis(1));
    assert_named_before_much_waits(StreamOptions::default().synchronised(synchronisation), |stream| {
        let begin = [Message::Participate { stream, next: WaveNumber(100) }, Message::Withdraw(stream)];
        begin.into_iter().chain(vec![first_wave(stream); 8_000]).collect()
    });
}

#[test]
fn a_member_that_sends_on_streams_that_are_not_there_and_takes_no_answer_is_named() {
    assert_named_before_much_waits(StreamOptions::default(), |_| {
        (0..8_000).map(|number| first_wave(StreamId(1_000_000 + number))).collect()
    });
}

#[test]
fn what_a_child_asks_for_again_waits_until_the_last_answer_has_gone() {
    let mut tree = Tree::new();
    let member = tree.member(0, &[1]);
    let stream = tree.open(0..=0);
    (0..100).for_each(|number| tree.send(stream, number));
    let (_, link) = tree.ends.iter().find(|((at, _), _)| *at == member).map(|(_, end)| *end).unwrap();
    let agent = &mut tree.nodes[1];
    // One answer, another one to come, and words that cross each other; nothing goes.
    for from in [10, 20, 30, 5] {
        agent.message(link, Message::Resend { stream, from }, tree.now);
    }
    let mut packets = || {
        let actions: Vec<Action> = std::iter::from_fn(|| agent.action()).collect();
        assert!(!actions.iter().any(|action| matches!(action, Action::Close(_))), "{actions:?}");
        let sent = |action: &Action| match action {
            Action::Send { message: Message::Packet { sequence, .. }, .. } => Some(*sequence),
            _ => None,
        };
        let sent: Vec<u64> = actions.iter().filter_map(sent).collect();
        agent.drained(link);
        sent
    };
    assert_eq!(packets(), Vec::from_iter(10..100));
    assert_eq!(packets(), Vec::from_iter(5..100));
    assert!(packets().is_empty());
}

#[test]
fn a_member_that_speaks_of_nodes_below_it_is_cut_off() {
    let place = |node: u32, parent: u32, rank| {
        let (node, parent) = (NodeId(node), NodeId(parent));
        NodeInfo { node, parent, epoch: Epoch(1), level: Level(node.0 as u16), rank }
    };
    let (member, other) = (place(1, 0, Some(0)), place(2, 1, Some(1)));
    let attach = |below| {
        let (is_urgent, is_new, resumes) = (false, true, Vec::new());
        Message::Attach(Attach { place: member, is_urgent, is_new, below, resumes })
    };
    let placed = Message::Placed { places: vec![other], resumes: Vec::new(), is_new: true };
    for messages in [vec![attach(vec![other])], vec![attach(Vec::new()), placed]] {
        let mut front_end = Node::front_end(NodeOptions::default(), Arc::new(FirstOf));
        let link = front_end.accepted();
        messages.into_iter().for_each(|message| front_end.message(link, message, Time(0)));
        let actions: Vec<Action> = std::iter::from_fn(|| front_end.action()).collect();
        let is_cut = actions.iter().any(|action| matches!(action, Action::Close(closed) if *closed == link));
        let is_told = |action: &Action| matches!(action, Action::Report(Report::Violation { child: NodeId(1), .. }));
        assert!(is_cut && actions.iter().any(is_told), "{actions:?}");
        assert!(!front_end.members().contains(1));
    }
}

#[test]
fn a_member_that_sends_more_than_its_window_is_cut_off_and_an_honest_one_is_not() {
    for (window, is_honest) in [(64, true), (1 << 20, false)] {
        let mut options = NodeOptions::default();
        options.window_bytes = 64;
        let mut tree = Tree::with(options);
        // The members' own idea of it.
        tree.options.window_bytes = window;
        let [greedy, _slow] = [0, 1].map(|rank| tree.member(rank, &[1]));
        let stream = tree.open(0..=1);
        tree.pass(Duration::ZERO);
        for _ in 0..100 {
            match tree.nodes[greedy].contribute(stream, Bodies::one(FORMAT, Bytes::from_static(&[1; 8]))) {
                Ok(_) => tree.settle(),
                Err(error) => assert!(is_honest, "{error}"),
            }
        }
        let is_told =
            |report: &Report| matches!(report, Report::Violation { child, .. } if *child == tree.nodes[greedy].id());
        assert_eq!(tree.told.iter().any(is_told), !is_honest, "{:?}", tree.told);
    }
}

#[test]
fn a_member_below_a_node_that_nobody_knows_is_not_there() {
    let mut front_end = FrontEnd::new();
    let places = vec![FrontEnd::place(3, 1, Some(1)), FrontEnd::place(5, 4, Some(2))];
    front_end.node.message(front_end.agent, Message::Placed { places, resumes: Vec::new(), is_new: false }, Time(0));
    assert_eq!(front_end.node.members(), ranks([0, 1]));
}
