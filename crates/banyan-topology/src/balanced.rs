//! The shapes that need no hosts: level widths, balanced trees, k-nomial trees.

use super::assemble::Sketch;
use super::limits::{MAX_DEPTH, MAX_NODES};
use super::{Topology, TopologyProblem};

/// Each node of a level has as many children as the width says.
pub(super) fn of_widths(widths: &[u32]) -> Result<Topology, TopologyProblem> {
    let mut counts = vec![1_u32];
    for width in widths {
        let count = counts[counts.len() - 1].checked_mul(*width).ok_or(TopologyProblem::TooManyNodes)?;
        counts.push(count);
    }
    of_counts(&counts)
}

/// As few levels as the fan-out allows.
pub(super) fn of_fan_out(fan_out: u32, members: u32) -> Result<Topology, TopologyProblem> {
    let mut counts = vec![members];
    let mut count = members;
    while count > fan_out {
        count = count.div_ceil(fan_out);
        counts.push(count);
    }
    counts.push(1);
    counts.reverse();
    of_counts(&counts)
}

/// So many levels, with a fan-out as small as that allows.
pub(super) fn of_depth(depth: u32, members: u32) -> Result<Topology, TopologyProblem> {
    if depth > MAX_DEPTH {
        return Err(TopologyProblem::TooDeep);
    }
    let reaches = |fan_out: u32| fan_out.checked_pow(depth).is_none_or(|reached| reached >= members);
    let fan_out = smallest(members, reaches);
    let mut counts = vec![members];
    for _ in 0..depth {
        counts.push(counts[counts.len() - 1].div_ceil(fan_out));
    }
    counts.reverse();
    of_counts(&counts)
}

/// The smallest number from 1 to `most` that is enough, where every larger one is too.
fn smallest(most: u32, is_enough: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_enough(middle) { high = middle } else { low = middle + 1 }
    }
    high
}

/// Levels of so many nodes, each spread evenly below the one above. The first level has one node.
fn of_counts(counts: &[u32]) -> Result<Topology, TopologyProblem> {
    if counts.iter().map(|count| u64::from(*count)).sum::<u64>() > MAX_NODES.into() {
        return Err(TopologyProblem::TooManyNodes);
    }
    let mut parents = vec![0];
    let mut above = 0;
    for pair in counts.windows(2) {
        let (upper, lower) = (u64::from(pair[0]), u64::from(pair[1]));
        parents.extend((0..lower).map(|node| above + (node * upper / lower) as u32));
        above += pair[0];
    }
    Sketch { parents, ..Sketch::default() }.assemble_tree()
}

/// The k-nomial tree with so many leaves.
///
/// Nodes are numbered in base k; the parent of a node has its lowest digit that is not 0 cleared. Nodes whose last digit
/// is 0 have children, all others are leaves.
pub(super) fn of_k_nomial(k: u32, members: u32) -> Result<Topology, TopologyProblem> {
    // Each k - 1 leaves have one node above them, the root among these.
    let count = members.checked_add(members.div_ceil(k - 1)).filter(|count| *count <= MAX_NODES);
    let count = count.ok_or(TopologyProblem::TooManyNodes)?;
    let parent = |node: u32| {
        let mut weight = 1;
        while node != 0 && (node / weight).is_multiple_of(k) {
            weight *= k;
        }
        node - node / weight % k * weight
    };
    Sketch { parents: (0..count).map(parent).collect(), ..Sketch::default() }.assemble_tree()
}
