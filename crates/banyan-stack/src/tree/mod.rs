//! Many stacks as one tree: where they are the same they are one path, and every step says whose it is.
//!
//! Merging trees is a union: in whatever order trees come, however often, the result is the same. So trees of parts of a
//! job can be merged anywhere, and again.

mod classes;
mod threads;

use std::rc::Rc;

use banyan_ranks::RankSet;

pub use classes::Class;
pub use threads::Threads;

use crate::frame::Frame;

/// The stacks of many ranks.
///
/// Only where stacks end it is kept whose they are; who comes through the other steps follows from that
/// ([`steps`](StackTree::steps)). So merging costs a step no more than a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackTree {
    ranks: RankSet,
    roots: Vec<Node>,
}

/// A step of some stacks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    frame: Frame,
    /// Whose stacks end here.
    here: RankSet,
    /// With which of their threads, if threads were asked for.
    threads: Threads,
    /// Ascending by frame, each frame once.
    children: Vec<Node>,
}

/// A step of some stacks, in the list of all of them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StackNode<'a> {
    /// How many steps lead to it.
    pub depth: usize,
    /// The function.
    pub frame: &'a Frame,
    /// The ranks with a stack that comes through here.
    pub ranks: Rc<RankSet>,
    /// The ranks with a stack that ends here: this is what they do.
    pub here: &'a RankSet,
    /// The threads that come through here, if threads were asked for.
    pub threads: Rc<Threads>,
    /// Those that end here.
    pub threads_here: &'a Threads,
    /// The place in the list behind all that is called from here.
    pub end: usize,
}

impl Node {
    /// A path without branches.
    fn path(ranks: &RankSet, threads: &Threads, stack: &[Frame]) -> Option<Node> {
        stack.iter().rev().fold(None, |inner: Option<Node>, frame| {
            let (here, threads) = if inner.is_none() { (ranks.clone(), threads.clone()) } else { Default::default() };
            Some(Node { frame: frame.clone(), here, threads, children: inner.into_iter().collect() })
        })
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
        self.put(ranks, &Threads::default(), stack);
    }

    /// The same with a stack that all these threads have.
    pub fn add_threads(&mut self, threads: &Threads, stack: &[Frame]) {
        self.put(&threads.ranks(), threads, stack);
    }

    fn put(&mut self, ranks: &RankSet, threads: &Threads, stack: &[Frame]) {
        if ranks.is_empty() {
            return;
        }
        self.ranks = self.ranks.union(ranks);
        let (mut nodes, mut rest) = (&mut self.roots, stack);
        while let [frame, inner @ ..] = rest {
            match nodes.binary_search_by(|node| node.frame.cmp(frame)) {
                Ok(at) => {
                    let node = &mut nodes[at];
                    if inner.is_empty() {
                        node.here = node.here.union(ranks);
                        node.threads.merge(threads);
                    }
                    (nodes, rest) = (&mut node.children, inner);
                }
                Err(at) => {
                    nodes.splice(at..at, Node::path(ranks, threads, rest));
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

    /// All threads, if they were asked for.
    pub fn threads(&self) -> Threads {
        let mut all = Threads::default();
        self.stacks().iter().for_each(|(_, _, threads)| all.merge(threads));
        all
    }

    /// Every step, those that lead to it before it.
    pub fn steps(&self) -> Vec<StackNode<'_>> {
        let mut steps: Vec<StackNode<'_>> = Vec::new();
        let (nobody, none) = (Rc::new(RankSet::new()), Rc::new(Threads::default()));
        let mut open: Vec<(usize, &Node)> = self.roots.iter().rev().map(|node| (0, node)).collect();
        while let Some((depth, node)) = open.pop() {
            let Node { frame, here, threads: threads_here, .. } = node;
            let (ranks, threads) = (Rc::clone(&nobody), Rc::clone(&none));
            steps.push(StackNode { depth, frame, ranks, here, threads, threads_here, end: 0 });
            open.extend(node.children.iter().rev().map(|child| (depth + 1, child)));
        }
        // From the back: whatever is called from a step is known before the step.
        for at in (0..steps.len()).rev() {
            let end = behind(&steps, at);
            let children: Vec<usize> = direct(&steps, at + 1, end).collect();
            (steps[at].ranks, steps[at].threads) = match (&children[..], steps[at].here.is_empty()) {
                ([only], true) => (Rc::clone(&steps[*only].ranks), Rc::clone(&steps[*only].threads)),
                _ => {
                    let (mut ranks, mut threads) = (steps[at].here.clone(), steps[at].threads_here.clone());
                    for child in children {
                        ranks = ranks.union(&steps[child].ranks);
                        threads.merge(&steps[child].threads);
                    }
                    (Rc::new(ranks), Rc::new(threads))
                }
            };
            steps[at].end = end;
        }
        steps
    }

    /// Every stack that occurs, with the ranks that have it, and with their threads if those were asked for.
    pub fn stacks(&self) -> Vec<(Vec<&Frame>, &RankSet, &Threads)> {
        let mut path: Vec<&Frame> = Vec::new();
        let mut stacks = Vec::new();
        let mut open: Vec<(usize, &Node)> = self.roots.iter().rev().map(|node| (0, node)).collect();
        while let Some((depth, node)) = open.pop() {
            path.truncate(depth);
            path.push(&node.frame);
            if !node.here.is_empty() {
                stacks.push((path.clone(), &node.here, &node.threads));
            }
            open.extend(node.children.iter().rev().map(|child| (depth + 1, child)));
        }
        stacks
    }
}

/// The place behind all that is called from a step; known of every later step already.
fn behind(steps: &[StackNode<'_>], at: usize) -> usize {
    let mut next = at + 1;
    while steps.get(next).is_some_and(|step| step.depth > steps[at].depth) {
        next = steps[next].end;
    }
    next
}

/// The outermost steps between two places: what is called from the step before.
pub(crate) fn direct<'a>(steps: &'a [StackNode<'_>], from: usize, end: usize) -> impl Iterator<Item = usize> + 'a {
    std::iter::successors(Some(from), |at| Some(steps.get(*at)?.end)).take_while(move |at| *at < end)
}

fn unite(set: &mut RankSet, other: RankSet) {
    if set.is_empty() {
        *set = other;
    } else if !other.is_empty() {
        *set = set.union(&other);
    }
}

fn merge_lists(nodes: &mut Vec<Node>, others: Vec<Node>) {
    for other in others {
        match nodes.binary_search_by(|node| node.frame.cmp(&other.frame)) {
            Ok(at) => {
                unite(&mut nodes[at].here, other.here);
                nodes[at].threads.merge(&other.threads);
                merge_lists(&mut nodes[at].children, other.children);
            }
            Err(at) => nodes.insert(at, other),
        }
    }
}
