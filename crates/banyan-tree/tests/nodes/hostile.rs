//! Every behaviour of a hostile member is noticed by the agent above it, which names the member to the front-end.

use banyan_tree::reduce::{Filters, ReductionLimits};
use banyan_tree::{Combiners, FormatBook};

use super::*;
use crate::hostile_member::{BEHAVIOURS, Hostile};

#[test]
fn a_hostile_member_is_named_to_the_front_end_and_cut_off() {
    for behaviour in BEHAVIOURS {
        let formats = FormatBook::new();
        let combiners = Combiners::new(Filters::new(ReductionLimits::default()), formats.clone());
        let mut tree = Tree::of(NodeOptions::default(), Arc::new(combiners));
        (0..3).for_each(|rank| _ = tree.member(rank, &[2]));
        let member = tree.member(3, &[1]);
        let stream = tree.nodes[0].open(Arc::new(ranks(0..=3)), (behaviour.options)()).unwrap();
        tree.settle();
        let (_, link) = tree.ends.iter().find(|((at, _), _)| *at == member).map(|(_, end)| *end).unwrap();
        let speech = (behaviour.speak)(Hostile { rank: 3, stream });
        speech.formats.iter().for_each(|format| formats.learn(format).unwrap());
        for message in speech.messages {
            tree.nodes[1].message(link, message, tree.now);
        }
        tree.settle();
        let is_named = |report: &Report| matches!(report, Report::Violation { node: NodeId(1), rank: Some(3), cause, .. } if cause.contains(behaviour.cause));
        assert!(tree.told.iter().any(is_named), "{}: {:?}", behaviour.name, tree.told);
        assert_eq!(tree.nodes[0].take_waves(stream).map(|_| ()), None, "{}", behaviour.name);
    }
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
