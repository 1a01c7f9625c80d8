//! Ranks that do the same.

use std::collections::HashMap;

use banyan_ranks::RankSet;

use super::{StackTree, Threads};
use crate::frame::Frame;

/// Ranks whose stacks are the same, all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Class<'a> {
    /// Who they are.
    pub ranks: RankSet,
    /// Their stacks, from the outermost function to the innermost: one a rank, or several where threads or several
    /// samples were taken. None of ranks that could not be read.
    pub stacks: Vec<Vec<&'a Frame>>,
}

impl StackTree {
    /// The ranks by what they do, the smallest class first: the odd ones out.
    pub fn classes(&self) -> Vec<Class<'_>> {
        let stacks = self.stacks();
        let ranks: Vec<u32> = self.ranks().iter().collect();
        // For each rank the number of a list of stacks. A list is another one with one stack more.
        let mut lists: Vec<(usize, usize)> = vec![(0, 0)];
        let mut longer: HashMap<(usize, usize), usize> = HashMap::new();
        let mut list_of: Vec<usize> = vec![0; ranks.len()];
        for (number, (_, here, _)) in stacks.iter().enumerate() {
            for rank in here.iter() {
                let at = ranks.partition_point(|other| *other < rank);
                let key = (list_of[at], number);
                list_of[at] = *longer.entry(key).or_insert_with(|| {
                    lists.push(key);
                    lists.len() - 1
                });
            }
        }
        let mut members: HashMap<usize, Vec<u32>> = HashMap::new();
        for (rank, list) in ranks.iter().zip(&list_of) {
            members.entry(*list).or_default().push(*rank);
        }
        let mut classes: Vec<Class<'_>> = members
            .into_iter()
            .map(|(list, ranks)| Class { ranks: ranks.into_iter().collect(), stacks: stacks_of(list, &lists, &stacks) })
            .collect();
        classes.sort_by_key(|class| (class.ranks.len(), class.ranks.first()));
        classes
    }
}

fn stacks_of<'a>(
    mut list: usize,
    lists: &[(usize, usize)],
    stacks: &[(Vec<&'a Frame>, &RankSet, &Threads)],
) -> Vec<Vec<&'a Frame>> {
    let mut found = Vec::new();
    while list != 0 {
        let (shorter, last) = lists[list];
        found.push(stacks[last].0.clone());
        list = shorter;
    }
    found.reverse();
    found
}
