//! Many stacks as one tree: where they are the same they are one path, and every step says whose it is.
//!
//! Merging trees is a union: in whatever order trees come, however often, the result is the same. So trees of parts of a
//! job can be merged anywhere, and again.

mod classes;

use std::cmp::Ordering;

use banyan_ranks::RankSet;

pub use classes::Class;

use crate::frame::Frame;

/// The stacks of many ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackTree {
    ranks: RankSet,
    roots: Vec<Node>,
}

/// A step of some stacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    frame: Frame,
    ranks: RankSet,
    here: RankSet,
    /// Ascending by frame, each frame once.
    children: Vec<Node>,
}

impl Node {
    /// The function.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The ranks with a stack that comes through here.
    pub fn ranks(&self) -> &RankSet {
        &self.ranks
    }

    /// The ranks with a stack that ends here: this is what they do.
    pub fn here(&self) -> &RankSet {
        &self.here
    }

    /// What is called from here.
    pub fn children(&self) -> &[Node] {
        &self.children
    }

    /// A path without branches.
    fn path(ranks: &RankSet, stack: &[Frame]) -> Option<Node> {
        stack.iter().rev().fold(None, |inner: Option<Node>, frame| {
            let here = if inner.is_none() { ranks.clone() } else { RankSet::new() };
            let children = inner.into_iter().collect();
            Some(Node { frame: frame.clone(), ranks: ranks.clone(), here, children })
        })
    }

    fn merge(&mut self, other: Node) {
        unite(&mut self.ranks, other.ranks);
        unite(&mut self.here, other.here);
        merge_lists(&mut self.children, other.children);
    }
}

impl StackTree {
    /// A tree without stacks.
    pub fn new() -> StackTree {
        StackTree::default()
    }

    /// Adds a stack that all these ranks have, from the outermost function to the innermost. An empty one says no more
    /// than that the ranks are there.
    pub fn add(&mut self, ranks: &RankSet, stack: &[Frame]) {
        if ranks.is_empty() {
            return;
        }
        self.ranks = self.ranks.union(ranks);
        let (mut nodes, mut rest) = (&mut self.roots, stack);
        while let [frame, inner @ ..] = rest {
            match nodes.binary_search_by(|node| node.frame.cmp(frame)) {
                Ok(at) => {
                    let node = &mut nodes[at];
                    node.ranks = node.ranks.union(ranks);
                    if inner.is_empty() {
                        node.here = node.here.union(ranks);
                    }
                    (nodes, rest) = (&mut node.children, inner);
                }
                Err(at) => {
                    nodes.splice(at..at, Node::path(ranks, rest));
                    return;
                }
            }
        }
    }

    /// Adds all stacks of another tree.
    pub fn merge(&mut self, other: StackTree) {
        unite(&mut self.ranks, other.ranks);
        merge_lists(&mut self.roots, other.roots);
    }

    /// One tree of many, merged in pairs: no set of ranks is gone through more often than there are doublings.
    pub fn merged(trees: impl IntoIterator<Item = StackTree>) -> StackTree {
        // Of each power of two at most one tree, the largest first, as the bits of a counter.
        let mut sums: Vec<(u32, StackTree)> = Vec::new();
        for tree in trees {
            let (mut level, mut sum) = (0, tree);
            while let Some((_, mut before)) = sums.pop_if(|(other, _)| *other == level) {
                before.merge(sum);
                (level, sum) = (level + 1, before);
            }
            sums.push((level, sum));
        }
        sums.into_iter().rev().fold(StackTree::new(), |all, (_, mut sum)| {
            sum.merge(all);
            sum
        })
    }

    /// All ranks, those without any stack too.
    pub fn ranks(&self) -> &RankSet {
        &self.ranks
    }

    /// The outermost functions.
    pub fn roots(&self) -> &[Node] {
        &self.roots
    }

    /// Calls this for every node, parents before their children, with its depth.
    pub fn walk<'a>(&'a self, mut visit: impl FnMut(usize, &'a Node)) {
        let mut open: Vec<(usize, &Node)> = self.roots.iter().rev().map(|node| (0, node)).collect();
        while let Some((depth, node)) = open.pop() {
            visit(depth, node);
            open.extend(node.children.iter().rev().map(|child| (depth + 1, child)));
        }
    }

    /// Every stack that occurs, with the ranks that have it.
    pub fn stacks(&self) -> Vec<(Vec<&Frame>, &RankSet)> {
        let mut path: Vec<&Frame> = Vec::new();
        let mut stacks = Vec::new();
        self.walk(|depth, node| {
            path.truncate(depth);
            path.push(&node.frame);
            if !node.here.is_empty() {
                stacks.push((path.clone(), &node.here));
            }
        });
        stacks
    }
}

fn unite(set: &mut RankSet, other: RankSet) {
    if set.is_empty() {
        *set = other;
    } else if !other.is_empty() {
        *set = set.union(&other);
    }
}

fn merge_lists(nodes: &mut Vec<Node>, others: Vec<Node>) {
    if nodes.is_empty() {
        *nodes = others;
        return;
    }
    let mut merged = Vec::with_capacity(nodes.len().max(others.len()));
    let mut left = std::mem::take(nodes).into_iter().peekable();
    let mut right = others.into_iter().peekable();
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => a.frame.cmp(&b.frame),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        match order {
            Ordering::Less => merged.extend(left.next()),
            Ordering::Greater => merged.extend(right.next()),
            Ordering::Equal => {
                if let (Some(mut node), Some(other)) = (left.next(), right.next()) {
                    node.merge(other);
                    merged.push(node);
                }
            }
        }
    }
    *nodes = merged;
}
