//! Pictures: nothing is left out of their numbers, and what repeats itself is drawn once.

use banyan_hosts::HostSet;
use banyan_topology::{Folding, Role, Spec, Topology, View};
use proptest::prelude::*;

use crate::topologies;

fn built(spec: &str) -> Topology {
    spec.parse::<Spec>().and_then(|spec| spec.build()).expect("a topology")
}

#[test]
fn a_thousand_members_are_a_few_lines() {
    let topology = built("fanout:16:1000");
    let text = topology.view(Folding::default()).to_string();
    assert!(text.lines().count() < 40, "{text}");
    let regular = built("8x8x8").view(Folding::default()).to_string();
    assert_eq!(
        regular,
        "front-end: 72 agents, 512 members below\n\
         └─ 8 agents, each with\n   \
            └─ 8 agents, each with\n      \
               └─ 8 members\n"
    );
}

#[test]
fn hosts_of_folded_nodes_are_folded_too() {
    let hosts = HostSet::parse("node[1-4]").unwrap();
    let topology = "4x2".parse::<Spec>().unwrap().build_on(&hosts).unwrap();
    assert_eq!(
        topology.view(Folding::default()).to_string(),
        "front-end: 4 agents, 8 members below\n\
         └─ 4 agents on node[1-4], each with\n   \
            └─ 2 members on node[1-4]\n"
    );
    let apart = Folding::default().apart(4);
    let text = topology.view(apart).to_string();
    assert!(text.contains("├─ agent node1:0\n│  ├─ member node1:1\n"), "{text}");
}

#[test]
fn dot_and_svg_hold_every_branch_once() {
    let topology = built("4x16");
    let view = topology.view(Folding::for_pictures());
    let (dot, svg) = (view.to_dot(), view.to_svg());
    assert_eq!(dot.matches(" -> ").count(), view.branches().len() - 1);
    assert_eq!(dot.matches("label = \"16 members\"").count(), 4);
    assert_eq!(svg.matches("<path class=\"edge\"").count(), view.branches().len() - 1);
    assert_eq!(svg.matches("class=\"name\"").count(), view.branches().len());
    assert!(svg.starts_with("<svg xmlns") && svg.ends_with("</svg>\n"));
}

#[test]
fn a_picture_of_many_siblings_that_differ_is_drawn_in_one_pass() {
    let mut text = String::from("r:0 =>");
    (0..60_000).for_each(|node| text += &format!(" n:{node}"));
    text += " ;\n";
    (0..60_000).step_by(2).for_each(|node| text += &format!("n:{node} => m:{node} ;\n"));
    let topology = Topology::parse(&text, None).unwrap();
    let view = topology.view(Folding::default()).to_string();
    assert_eq!(view.lines().last(), Some("└─ 59961 nodes with their trees: 29980 agents, 59961 members, not shown"));
}

/// Agents and members that a branch and all below it show or tell of.
fn told(view: &View<'_>, branch: usize) -> (u64, u64) {
    let here = &view.branches()[branch];
    if here.is_cut {
        return (here.agents, here.members);
    }
    let count = u64::from(here.count);
    let own = (u64::from(here.role == Some(Role::Agent)), u64::from(here.role == Some(Role::Member)));
    let all = here.children.iter().map(|child| told(view, *child)).fold(own, |a, b| (a.0 + b.0, a.1 + b.1));
    assert_eq!((count * all.0, count * all.1), (here.agents, here.members), "{here:?}");
    (here.agents, here.members)
}

proptest! {
    #[test]
    fn a_picture_tells_of_every_node_however_small_it_is(
        topology in topologies(), apart in 0..5_usize, branches in 1..40_usize, siblings in 1..6_usize,
    ) {
        let view = topology.view(Folding::default().apart(apart).branches(branches).siblings(siblings));
        prop_assert!(view.branches().len() <= branches);
        prop_assert!(view.branches().iter().all(|branch| branch.children.len() <= siblings));
        let front_end = &view.branches()[0];
        let all = (u64::from(topology.agents()), u64::from(topology.members()));
        prop_assert_eq!((front_end.agents, front_end.members), all);
        prop_assert_eq!(told(&view, 0), all);
        prop_assert_eq!(view.to_string().lines().count(), view.branches().len());
        prop_assert!(view.to_svg().lines().count() > view.branches().len());
    }
}
