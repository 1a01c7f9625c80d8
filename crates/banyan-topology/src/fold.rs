//! Which nodes have the same below them: what repeats itself is written and drawn once.

use std::collections::HashMap;

use super::{NodeId, Topology};

/// Numbers that are equal for nodes with the same below them.
pub(super) struct Alike {
    /// By node. What members have below them, nothing, is 0.
    bodies: Vec<u32>,
}

/// Consecutive siblings that are alike.
pub(super) struct Siblings {
    pub(super) first: NodeId,
    pub(super) count: u32,
}

impl Siblings {
    pub(super) fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        super::span(self.first.0..self.first.0 + self.count)
    }
}

/// A child as its parent sees it: what is below it, a mark, and how many like it follow each other.
type Child = (u32, u32, u32);

impl Alike {
    /// Compares what is below nodes: how many children with what below them, in which order, and the marks of these.
    pub(super) fn new(topology: &Topology, mark: impl Fn(NodeId) -> u32) -> Alike {
        let mut bodies = vec![0; topology.len()];
        let mut known: HashMap<Vec<Child>, u32> = HashMap::new();
        let mut body: Vec<Child> = Vec::new();
        // Children come before their parents.
        for node in topology.nodes().rev().filter(|node| topology.degree(*node) > 0) {
            body.clear();
            for child in topology.children(node) {
                let (below, mark) = (bodies[child.index()], mark(child));
                match body.last_mut() {
                    Some((other, same, count)) if (*other, *same) == (below, mark) => *count += 1,
                    _ => body.push((below, mark, 1)),
                }
            }
            let next = known.len() as u32 + 1;
            bodies[node.index()] = match known.get(&body) {
                Some(number) => *number,
                None => *known.entry(body.clone()).or_insert(next),
            };
        }
        Alike { bodies }
    }

    /// The children of a node, those that follow each other together if they are alike and `joins` says so.
    pub(super) fn siblings(
        &self,
        topology: &Topology,
        node: NodeId,
        joins: impl Fn(NodeId, NodeId) -> bool,
    ) -> Vec<Siblings> {
        let mut groups: Vec<Siblings> = Vec::new();
        for child in topology.children(node) {
            match groups.last_mut() {
                Some(group)
                    if self.bodies[group.first.index()] == self.bodies[child.index()] && joins(group.first, child) =>
                {
                    group.count += 1;
                }
                _ => groups.push(Siblings { first: child, count: 1 }),
            }
        }
        groups
    }
}
