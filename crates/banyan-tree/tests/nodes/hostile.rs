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
