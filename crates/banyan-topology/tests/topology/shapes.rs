//! The shapes that a word describes.

use banyan_hosts::HostSet;
use banyan_topology::{MAX_NODES, Role, Spec, Topology, TopologyProblem};
use proptest::prelude::*;

use crate::check;

fn built(spec: &str) -> Topology {
    let topology = spec.parse::<Spec>().and_then(|spec| spec.build());
    let topology = topology.unwrap_or_else(|error| panic!("{spec}: {error}"));
    check(&topology);
    topology
}

/// Agents, members, depth, and the most children of a node.
fn figures(spec: &str) -> (u32, u32, u32, u32) {
    let topology = built(spec);
    (topology.agents(), topology.members(), topology.depth(), topology.degrees().most)
}

#[test]
fn a_word_gives_the_tree_it_describes() {
    assert_eq!(figures("4x16"), (4, 64, 2, 16));
    assert_eq!(figures("8x8x8"), (72, 512, 3, 8));
    assert_eq!(figures("8^3"), figures("8x8x8"));
    assert_eq!(figures("1x16"), (1, 16, 2, 16));
    assert_eq!(figures("flat:64"), (0, 64, 1, 64));
    assert_eq!(figures("fanout:16:1000"), (67, 1000, 3, 16));
    assert_eq!(figures("fanout:16:16"), (0, 16, 1, 16));
    assert_eq!(figures("depth:3:1000"), (110, 1000, 3, 10));
    assert_eq!(figures("depth:3:2"), (2, 2, 3, 2));
    assert_eq!(figures("binomial:8"), (7, 8, 4, 4));
    assert_eq!(figures("knomial:3:6"), (2, 6, 2, 4));
    assert_eq!(figures("knomial:3:64").1, 64);
}

#[test]
fn a_million_members_are_a_topology() {
    assert_eq!(figures("fanout:64:1000000"), (15_874, 1_000_000, 4, 64));
}

#[test]
fn a_shape_lies_over_hosts_with_neighbours_together() {
    let hosts = HostSet::parse("n[1-4]").unwrap();
    let topology = "2x4".parse::<Spec>().unwrap().build_on(&hosts).unwrap();
    let places: Vec<_> = topology.nodes().map(|node| topology.place(node).map(|place| place.to_string())).collect();
    let expected = ["n1:0", "n3:0", "n1:1", "n1:2", "n2:0", "n2:1", "n3:1", "n3:2", "n4:0", "n4:1"];
    assert_eq!(places[0], None, "where the front-end runs is not said");
    assert_eq!(places[1..].iter().flatten().collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
}

#[test]
fn members_of_hosts_hang_under_agents_of_these() {
    let hosts = HostSet::parse("n[1-20]").unwrap();
    let topology = "hosts:4:8:4".parse::<Spec>().unwrap().build_on(&hosts).unwrap();
    check(&topology);
    assert_eq!((topology.agents(), topology.members()), (40, 160));
    assert_eq!(topology.hosts(), &hosts);
    let error = "hosts:4:8".parse::<Spec>().unwrap().build().unwrap_err();
    assert_eq!(error.problem, TopologyProblem::NeedsHosts);
}

#[test]
fn a_wrong_word_is_refused_with_its_place_and_a_right_one() {
    let refusals = [
        ("", 1, "\"\" is not a topology; write 4x16, flat:64"),
        ("star", 1, "\"star\" is not a topology"),
        ("4x", 3, "\"\" is not a count"),
        ("4x-1", 3, "\"-1\" is not a count"),
        ("4X16", 1, "\"4X16\" is not a count"),
        ("0x4", 1, "\"0\" is not a width of a level, which is a number of at least 1"),
        ("fanout:1:8", 1, "\"1\" is not a fan-out, which is a number of at least 2; write for example fanout:16:1000"),
        ("fanout:8", 1, "\"fanout:8\" is not a topology"),
        ("fanout:16:many", 11, "\"many\" is not a count"),
        ("knomial:1:8", 1, "\"1\" is not a k"),
        ("flat:0", 1, "\"0\" is not a width"),
        ("hosts:4:8:4:2", 1, "\"hosts:4:8:4:2\" is not a topology"),
        ("4294967296", 1, "\"4294967296\" is not a count"),
        ("2^9999", 3, "more than 256 levels"),
        ("2^0", 1, "there is no member"),
    ];
    for (word, column, message) in refusals {
        let error = word.parse::<Spec>().map(|spec| panic!("{word} is {spec}")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("line 1, column {column}: {message}")), "{word}: {error}");
    }
}

#[test]
fn a_tree_that_is_too_large_is_refused_before_it_is_made() {
    for word in [
        "64x64x64x64",
        "flat:4294967295",
        "fanout:2:4000000",
        "depth:2:4294967295",
        "binomial:2200000",
        "knomial:9:4294967295",
    ] {
        let error = word.parse::<Spec>().unwrap().build().map(|_| panic!("{word} was built")).unwrap_err();
        assert_eq!(error.problem, TopologyProblem::TooManyNodes, "{word}");
    }
    let hosts = HostSet::parse("n[1-1000]").unwrap();
    let error = Spec::Hosts { fan_out: 1, members: MAX_NODES, per_agent: None }.build_on(&hosts).unwrap_err();
    assert_eq!(error.problem, TopologyProblem::TooManyNodes);
    let chain = HostSet::parse("n[1-257]").unwrap();
    let error = Spec::Hosts { fan_out: 1, members: 1, per_agent: None }.build_on(&chain).unwrap_err();
    assert_eq!(error.problem, TopologyProblem::TooDeep);
}

#[test]
fn numbers_that_make_no_sense_are_refused_however_they_come() {
    for spec in [Spec::FanOut { fan_out: 1, members: 9 }, Spec::KNomial { k: 0, members: 9 }, Spec::Widths(vec![4, 0])]
    {
        assert!(matches!(spec.build().unwrap_err().problem, TopologyProblem::BadNumber { .. }), "{spec}");
    }
    assert_eq!(Spec::Widths(vec![]).build().unwrap_err().problem, TopologyProblem::Empty);
}

fn specs() -> impl Strategy<Value = Spec> {
    let members = 1..400_u32;
    prop_oneof![
        prop::collection::vec(1..6_u32, 1..5).prop_map(Spec::Widths),
        (2..20_u32, members.clone()).prop_map(|(fan_out, members)| Spec::FanOut { fan_out, members }),
        (1..6_u32, members.clone()).prop_map(|(depth, members)| Spec::Depth { depth, members }),
        (2..9_u32, members.clone()).prop_map(|(k, members)| Spec::KNomial { k, members }),
        (2..9_u32, members, prop::option::of(1..50_u32)).prop_map(|(fan_out, members, per_agent)| Spec::Hosts {
            fan_out,
            members,
            per_agent
        }),
    ]
}

proptest! {
    #[test]
    fn every_shape_is_a_tree_that_keeps_what_its_word_says(spec in specs()) {
        prop_assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec.clone());
        let hosts = HostSet::parse("a,b,c").unwrap();
        let topology = spec.build_on(&hosts).unwrap();
        check(&topology);
        let degrees = topology.degrees();
        match spec {
            Spec::Widths(widths) => {
                prop_assert_eq!((topology.members(), topology.depth()), (widths.iter().product(), widths.len() as u32));
            }
            Spec::FanOut { fan_out, members } => {
                prop_assert_eq!(topology.members(), members);
                prop_assert!(degrees.most <= fan_out);
                prop_assert!(u64::from(fan_out).pow(topology.depth() - 1) < u64::from(members).max(2), "no level too many");
            }
            Spec::Depth { depth, members } => {
                prop_assert_eq!((topology.members(), topology.depth()), (members, depth));
                prop_assert!(degrees.most == 1 || u64::from(degrees.most - 1).pow(depth) < u64::from(members));
            }
            Spec::KNomial { members, .. } => prop_assert_eq!(topology.members(), members),
            Spec::Hosts { members, per_agent, .. } => {
                prop_assert_eq!(topology.members(), 3 * members);
                prop_assert_eq!(topology.agents(), 3 * members.div_ceil(per_agent.unwrap_or(members)));
            }
            other => prop_assert!(false, "nothing is said about {other}"),
        }
    }

    #[test]
    fn in_a_balanced_tree_all_members_have_the_same_way(members in 1..2000_u32, fan_out in 2..40_u32) {
        let topology = Spec::FanOut { fan_out, members }.build().unwrap();
        prop_assert!(topology.nodes_of_level(topology.depth()).all(|node| topology.role(node) == Role::Member));
        prop_assert_eq!(topology.nodes_of_level(topology.depth()).len() as u32, members);
    }

    #[test]
    fn no_word_makes_the_parser_panic(word in "[0-9x^:a-z]{0,16}|(fanout|depth|knomial|hosts|flat):[0-9:]{0,12}|.{0,12}") {
        if let Ok(spec) = word.parse::<Spec>() {
            prop_assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
        }
    }
}
