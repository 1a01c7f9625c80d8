//! Topologies: their shapes, their notations, what is refused, and what is drawn.

mod drawing;
mod errors;
mod notations;
mod shapes;

use banyan_topology::{Role, Topology};
use proptest::prelude::*;

/// Everything that holds of every topology.
pub(crate) fn check(topology: &Topology) {
    let nodes = topology.len();
    assert_eq!(nodes as u32, 1 + topology.agents() + topology.members());
    assert_eq!(topology.parent(topology.root()), None);
    assert!(topology.node(nodes).is_none());
    let mut seen = 1;
    for node in topology.nodes() {
        let mut rank = topology.members_below(node).start;
        for child in topology.children(node) {
            assert_eq!(topology.parent(child), Some(node));
            assert_eq!(topology.level(child), topology.level(node) + 1);
            assert_eq!(topology.members_below(child).start, rank, "ranks follow the children");
            rank = topology.members_below(child).end;
            seen += 1;
        }
        assert_eq!(topology.children(node).len() as u32, topology.degree(node));
        assert_eq!(topology.path_to_root(node).count() as u32, topology.level(node));
        match topology.role(node) {
            Role::Member => assert_eq!(topology.rank(node).and_then(|rank| topology.member(rank)), Some(node)),
            _ => assert_eq!((topology.rank(node), topology.members_below(node).end), (None, rank)),
        }
    }
    assert_eq!(seen, nodes, "every node but the root is a child once");
    let by_level: usize = (0..=topology.depth()).map(|level| topology.nodes_of_level(level).len()).sum();
    assert_eq!((by_level, topology.nodes_of_level(topology.depth() + 1).len()), (nodes, 0));
    let degrees = topology.degrees();
    assert!(f64::from(degrees.least) <= degrees.mean && degrees.mean <= f64::from(degrees.most));
}

/// Topologies of any shape on a few hosts, as MRNet's notation has them.
pub(crate) fn topologies() -> impl Strategy<Value = Topology> {
    prop::collection::vec((any::<prop::sample::Index>(), 0..5_u32, any::<bool>()), 1..60).prop_map(|nodes| {
        // Mostly below the node before or a sibling of it, so that some subtrees are alike.
        let mut children = vec![Vec::new(); nodes.len() + 1];
        for (node, (above, _, near)) in (1..).zip(&nodes) {
            let parent = if *near { node / 3 } else { above.index(node) };
            children[parent].push(node);
        }
        let name = |node: usize| format!("n{}:{node}", if node == 0 { 9 } else { nodes[node - 1].1 });
        let mut text = String::new();
        for (node, below) in children.iter().enumerate().filter(|(_, below)| !below.is_empty()) {
            let below: Vec<String> = below.iter().map(|child| name(*child)).collect();
            text += &format!("{} => {} ;\n", name(node), below.join(" "));
        }
        Topology::parse(&text, None).unwrap_or_else(|error| panic!("{error}\n{text}"))
    })
}
