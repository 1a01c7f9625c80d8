//! Banyan's notation and MRNet's: what is written is read again.

use banyan_hosts::HostSet;
use banyan_topology::{Role, Topology};
use proptest::prelude::*;

use crate::{check, topologies};

fn parsed(text: &str) -> Topology {
    let topology = Topology::parse(text, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    check(&topology);
    topology
}

#[test]
fn an_outline_repeats_what_is_below_a_line_for_each_of_its_nodes() {
    let topology = parsed(
        "# two racks\n\
         front-end on login\n\
         \n\
         \x20 agents on r[1-2]      # one each\n\
         \x20   agents 2 on a,b\n\
         \x20     members 3\n\
         \x20   member\n",
    );
    assert_eq!((topology.agents(), topology.members(), topology.depth()), (10, 26, 3));
    let hosts: Vec<_> = topology.nodes_of_level(2).filter_map(|node| topology.host(node)).collect();
    assert_eq!(hosts, ["a", "a", "b", "b", "r1", "a", "a", "b", "b", "r2"]);
    let last = topology.member(25).unwrap();
    assert_eq!((topology.level(last), topology.place(last).unwrap().to_string()), (2, "r2:1".into()));
    assert_eq!(topology.host(topology.root()), Some("login"));
}

#[test]
fn an_outline_needs_no_hosts_and_any_indentation_will_do() {
    let topology = parsed("front-end\r\n agents 4\r\n      members 16\r\n");
    assert_eq!((topology.agents(), topology.members()), (4, 64));
    assert!(topology.nodes().all(|node| topology.place(node).is_none()));
    assert_eq!(topology.outline().to_string(), "front-end\n  agents 4\n    members 16\n");
}

#[test]
fn mrnet_files_are_read_in_any_order_and_over_lines() {
    let topology =
        parsed("# MRNet\nb:0 => c:0\n  c:1;   # behind what it needs\na:0=>b:0\n\td:7 ;\nd:7 => e.example.org:0 ;");
    assert_eq!((topology.agents(), topology.members()), (2, 3));
    assert_eq!(topology.place(topology.root()).unwrap().to_string(), "a:0");
    let names: Vec<_> = topology.nodes().map(|node| topology.place(node).unwrap().to_string()).collect();
    assert_eq!(names, ["a:0", "b:0", "d:7", "c:0", "c:1", "e.example.org:0"]);
    assert_eq!(topology.mrnet().to_string(), "a:0 => b:0 d:7 ;\nb:0 => c:0 c:1 ;\nd:7 => e.example.org:0 ;\n");
}

#[test]
fn nodes_without_a_host_are_on_localhost_for_mrnet_and_none_twice() {
    let topology = parsed("front-end\n  agent on localhost\n    members 2\n  member\n");
    let text = topology.mrnet().to_string();
    assert_eq!(text, "localhost:3 => localhost:0 localhost:4 ;\nlocalhost:0 => localhost:1 localhost:2 ;\n");
    assert_eq!(parsed(&text).members(), 3);
}

#[test]
fn hosts_keep_their_order_in_an_outline() {
    let text = "front-end\n  agents on n3,n1,n2\n    members 2\n";
    assert_eq!(parsed(text).outline().to_string(), text);
    let text = "front-end\n  agents on n[1-3]\n    member\n  agents on n[1-3]\n    member\n";
    assert_eq!(parsed(text).outline().to_string(), text);
}

#[test]
fn given_hosts_that_occur_are_fine() {
    let hosts = HostSet::parse("n[1-9]").unwrap();
    assert!(Topology::parse("front-end\n  agents on n[2-4]\n    member\n", Some(&hosts)).is_ok());
    assert!(Topology::parse("n1:0 => n2:0 ;", Some(&hosts)).is_ok());
}

proptest! {
    #[test]
    fn what_is_written_for_mrnet_is_read_again(topology in topologies()) {
        check(&topology);
        prop_assert_eq!(&parsed(&topology.mrnet().to_string()), &topology);
    }

    #[test]
    fn an_outline_is_the_same_tree_on_the_same_hosts(topology in topologies()) {
        let text = topology.outline().to_string();
        let read = parsed(&text);
        let shape = |topology: &Topology| -> Vec<_> {
            topology.nodes().map(|node| (topology.parent(node), topology.host(node).map(str::to_owned))).collect()
        };
        prop_assert_eq!(shape(&read), shape(&topology), "{}", text);
        prop_assert_eq!(read.outline().to_string(), text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(
        text in "((front-end|agents?|members?|on|a:0|b:1|=>|;|#|[0-9]{1,2}|n\\[1-3\\]|\n {0,3}|\t|é) ?){0,30}|.{0,30}",
    ) {
        if let Ok(topology) = Topology::parse(&text, None) {
            check(&topology);
        }
    }

    #[test]
    fn outlines_with_any_lines_are_trees_or_refused(
        lines in prop::collection::vec((1..5_usize, prop::sample::select(vec!["agent", "agents 2", "agents on a,b", "member", "members 3"])), 0..12),
    ) {
        let mut text = String::from("front-end\n");
        lines.iter().for_each(|(indent, line)| text += &format!("{:indent$}{line}\n", ""));
        if let Ok(topology) = Topology::parse(&text, None) {
            check(&topology);
            prop_assert!(topology.nodes().skip(1).all(|node| topology.role(node) != Role::FrontEnd));
        }
    }
}
