//! From "this is the parent of that" to a [`Topology`]: numbers, levels and ranks, in linear time.

use banyan_hosts::HostSet;

use super::limits::MAX_DEPTH;
use super::{Placing, Topology, TopologyProblem};

/// A tree to be: nodes in any order, at most [`MAX_NODES`](super::MAX_NODES) of them.
#[derive(Default)]
pub(super) struct Sketch {
    /// The node with nothing above it.
    pub(super) root: u32,
    /// The parent of each node. Of the root it means nothing. Children keep the order they have here.
    pub(super) parents: Vec<u32>,
    /// The host of each node as a number in `hosts`, or [`Placing::NOWHERE`]; empty if nothing is known of any.
    pub(super) on: Vec<u32>,
    /// The number of each node on its host; counted level by level if empty.
    pub(super) indices: Vec<u32>,
    pub(super) hosts: HostSet,
}

/// Why a sketch is no tree.
pub(super) enum NoTree {
    /// A node that the root does not reach.
    Stray(u32),
    Problem(TopologyProblem),
}

impl Sketch {
    pub(super) fn assemble(self) -> Result<Topology, NoTree> {
        let order = self.level_order();
        if let Some(stray) = self.stray(&order) {
            return Err(NoTree::Stray(stray));
        }
        if order.len() < 2 {
            return Err(NoTree::Problem(TopologyProblem::Empty));
        }
        let mut numbers = vec![0; order.len()];
        for (number, node) in (0..).zip(&order) {
            numbers[*node as usize] = number;
        }
        let parent = |node: &u32| if *node == self.root { 0 } else { numbers[self.parents[*node as usize] as usize] };
        let parents: Vec<u32> = order.iter().map(parent).collect();
        let children = first_children(&parents);
        let levels = levels(&children).ok_or(NoTree::Problem(TopologyProblem::TooDeep))?;
        let (below, ranks) = members(&parents, &children);
        let mut topology =
            Topology { parents, children, below, ranks, levels, places: Vec::new(), hosts: HostSet::default() };
        if !self.on.is_empty() {
            topology.hosts = self.hosts;
            let at = |node: &u32| Placing {
                host: self.on[*node as usize],
                index: self.indices.get(*node as usize).copied().unwrap_or(0),
            };
            topology.places = order.iter().map(at).collect();
            if self.indices.is_empty() {
                topology.count_on_hosts();
            }
        }
        Ok(topology)
    }

    /// For sketches that are trees by the way they were made.
    pub(super) fn assemble_tree(self) -> Result<Topology, TopologyProblem> {
        self.assemble().map_err(|error| match error {
            NoTree::Problem(problem) => problem,
            NoTree::Stray(node) => unreachable!("node {node} was made below another"),
        })
    }

    /// The nodes that the root reaches, level by level.
    fn level_order(&self) -> Vec<u32> {
        let count = self.parents.len();
        let has_parent = |(node, _): &(u32, &u32)| *node != self.root;
        // Children by parent: where those of each begin, then each at its place.
        let mut starts = vec![0_u32; count + 1];
        for (_, parent) in (0..).zip(&self.parents).filter(has_parent) {
            starts[*parent as usize + 1] += 1;
        }
        for node in 0..count {
            starts[node + 1] += starts[node];
        }
        let mut filled = starts.clone();
        let mut by_parent = vec![0_u32; count];
        for (node, parent) in (0..).zip(&self.parents).filter(has_parent) {
            let place = &mut filled[*parent as usize];
            by_parent[*place as usize] = node;
            *place += 1;
        }
        let mut order = Vec::with_capacity(count);
        order.extend((count > 0).then_some(self.root));
        let mut next = 0;
        while let Some(node) = order.get(next).copied() {
            next += 1;
            let children = starts[node as usize] as usize..starts[node as usize + 1] as usize;
            order.extend_from_slice(&by_parent[children]);
        }
        order
    }

    fn stray(&self, order: &[u32]) -> Option<u32> {
        if order.len() == self.parents.len() {
            return None;
        }
        let mut reached = vec![false; self.parents.len()];
        order.iter().for_each(|node| reached[*node as usize] = true);
        reached.iter().position(|reached| !reached).map(|node| node as u32)
    }
}

/// Where the children of each node begin, of parents in level order.
fn first_children(parents: &[u32]) -> Vec<u32> {
    let mut starts = vec![0_u32; parents.len() + 1];
    parents[1..].iter().for_each(|parent| starts[*parent as usize + 1] += 1);
    let mut next = 1;
    for start in &mut starts {
        next += *start;
        *start = next;
    }
    starts
}

/// Where each level begins, and where the last ends; `None` if there are too many.
fn levels(children: &[u32]) -> Option<Vec<u32>> {
    let count = children.len() as u32 - 1;
    let mut levels = vec![0, 1];
    while let [.., start, end] = levels[..]
        && end < count
    {
        // The children of a level are the next.
        debug_assert!(children[start as usize] == end);
        levels.push(children[end as usize]);
        if levels.len() > MAX_DEPTH as usize + 2 {
            return None;
        }
    }
    Some(levels)
}

/// The ranks below each node, and the node of each rank.
fn members(parents: &[u32], children: &[u32]) -> (Vec<(u32, u32)>, Vec<u32>) {
    let is_leaf = |node: usize| children[node] == children[node + 1];
    let mut below: Vec<(u32, u32)> = (0..parents.len()).map(|node| (0, is_leaf(node).into())).collect();
    for node in (1..parents.len()).rev() {
        below[parents[node] as usize].1 += below[node].1;
    }
    let mut ranks = vec![0; below[0].1 as usize];
    for node in 0..parents.len() {
        let mut next = below[node].0;
        if is_leaf(node) {
            ranks[next as usize] = node as u32;
        }
        for child in &mut below[children[node] as usize..children[node + 1] as usize] {
            child.0 = next;
            next += child.1;
        }
    }
    (below, ranks)
}

impl Topology {
    /// Numbers the nodes of each host, level by level.
    pub(super) fn count_on_hosts(&mut self) {
        let mut counts = vec![0; self.hosts.len()];
        for place in &mut self.places {
            if let Some(count) = counts.get_mut(place.host as usize) {
                place.index = *count;
                *count += 1;
            }
        }
    }
}
