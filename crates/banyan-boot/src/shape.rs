//! Who is whose child: the shape of a session's tree.
//!
//! Agents are numbered so that a subtree is a run of consecutive ones whose first is its root. So one number for each
//! agent, how many are *below* it, is the whole shape: [`subtrees`] gives the children of any node. Where the numbers come
//! from somewhere else, [`misfit`] says whether they add up; none of the functions here goes wrong if they do not.

use std::ops::Range;

/// The subtrees that a run of agents consists of, each with its root first.
pub(crate) fn subtrees(run: Range<usize>, below: impl Fn(usize) -> u32) -> Vec<Range<usize>> {
    let mut subtrees = Vec::new();
    let mut start = run.start;
    while start < run.end {
        let end = run.end.min((start + 1).saturating_add(below(start) as usize));
        subtrees.push(start..end);
        start = end;
    }
    subtrees
}

/// How many are below each agent if every node has at most `fanout` children, with subtrees of nearly the same size.
pub(crate) fn balanced(agents: usize, fanout: usize) -> Vec<u32> {
    let mut below = vec![0; agents];
    let mut runs = Vec::from([(0, agents)]);
    while let Some((start, end)) = runs.pop() {
        for subtree in split(start..end, fanout) {
            below[subtree.start] = subtree.len() as u32 - 1;
            runs.push((subtree.start + 1, subtree.end));
        }
    }
    below
}

/// At most `fanout` runs of nearly equal length that cover `run`.
fn split(run: Range<usize>, fanout: usize) -> Vec<Range<usize>> {
    let parts = run.len().min(fanout.max(1));
    let mut start = run.start;
    let mut subtrees = Vec::with_capacity(parts);
    for part in 0..parts {
        let length = (run.end - start).div_ceil(parts - part);
        subtrees.push(start..start + length);
        start += length;
    }
    subtrees
}

/// The nodes above an agent, nearest first, ending with the front-end (`None`); for agents that find their own way.
pub(crate) fn ancestors(agent: usize, agents: usize, below: impl Fn(usize) -> u32) -> Vec<Option<usize>> {
    let mut above = vec![None];
    let mut run = 0..agents;
    loop {
        let subtree = subtrees(run, &below).into_iter().find(|subtree| subtree.contains(&agent));
        let Some(subtree) = subtree.filter(|subtree| subtree.start != agent) else { break };
        above.push(Some(subtree.start));
        run = subtree.start + 1..subtree.end;
    }
    above.reverse();
    above
}

/// How many levels a run of agents has.
pub(crate) fn levels(run: Range<usize>, below: impl Fn(usize) -> u32) -> u32 {
    let mut deepest = 0;
    let mut ends: Vec<usize> = Vec::new();
    for agent in run {
        while ends.pop_if(|end| *end <= agent).is_some() {}
        ends.push((agent + 1).saturating_add(below(agent) as usize));
        deepest = deepest.max(ends.len() as u32);
    }
    deepest
}

/// An agent that has more below it than can be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) agent: usize,
    /// In whose subtree it is; `None`: in the front-end's.
    pub(crate) parent: Option<usize>,
    /// How many follow it there: the most that can be below it.
    pub(crate) most: usize,
}

/// The first agent that has more below it than follow in its parent's subtree.
pub(crate) fn misfit(agents: usize, below: impl Fn(usize) -> u32) -> Option<Misfit> {
    let mut subtrees: Vec<(usize, usize)> = Vec::new();
    for agent in 0..agents {
        while subtrees.pop_if(|(_, end)| *end <= agent).is_some() {}
        let (parent, end) = subtrees.last().map_or((None, agents), |(parent, end)| (Some(*parent), *end));
        let most = end - agent - 1;
        if below(agent) as usize > most {
            return Some(Misfit { agent, parent, most });
        }
        subtrees.push((agent, agent + 1 + below(agent) as usize));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The parent of each agent, by walking down.
    fn parents(below: &[u32]) -> Vec<Option<usize>> {
        let mut parents = vec![None; below.len()];
        let mut nodes = vec![(None, 0..below.len())];
        while let Some((parent, run)) = nodes.pop() {
            for subtree in subtrees(run, |agent| below[agent]) {
                parents[subtree.start] = parent;
                nodes.push((Some(subtree.start), subtree.start + 1..subtree.end));
            }
        }
        parents
    }

    /// Any shape: each agent hangs below one that stands on the way from the front-end to the one before it.
    fn shape() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(any::<prop::sample::Index>(), 1..60).prop_map(|choices| {
            let mut below = vec![0; choices.len()];
            let mut way: Vec<usize> = Vec::new();
            for (agent, choice) in choices.iter().enumerate() {
                way.truncate(choice.index(way.len() + 1));
                way.iter().for_each(|above| below[*above] += 1);
                way.push(agent);
            }
            below
        })
    }

    #[test]
    fn who_has_more_below_it_than_there_are_is_found() {
        let misfit = |below: &[u32]| misfit(below.len(), |agent| below[agent]);
        assert_eq!(misfit(&[2, 1, 0, 0]), None);
        assert_eq!(misfit(&[1, 1, 0]), Some(Misfit { agent: 1, parent: Some(0), most: 0 }));
        assert_eq!(misfit(&[0, 2, 0]), Some(Misfit { agent: 1, parent: None, most: 1 }));
    }

    proptest! {
        #[test]
        fn a_balanced_shape_adds_up_and_stays_within_the_fan_out(count in 0usize..500, fanout in 1usize..40) {
            let below = balanced(count, fanout);
            prop_assert_eq!(misfit(count, |agent| below[agent]), None);
            let parents = parents(&below);
            for parent in (0..count).map(Some).chain([None]) {
                prop_assert!(parents.iter().filter(|other| **other == parent).count() <= fanout);
            }
            let least = (1..).scan(0, |all, level| { *all += fanout.pow(level); Some(*all) }).take_while(|all| *all < count).count() + 1;
            let levels = levels(0..count, |agent| below[agent]) as usize;
            prop_assert!(levels == least || count == 0, "{} levels instead of {}", levels, least);
        }

        #[test]
        fn every_shape_is_what_its_numbers_say(below in shape()) {
            let of = |agent: usize| below[agent];
            prop_assert_eq!(misfit(below.len(), of), None);
            let parents = parents(&below);
            for agent in 0..below.len() {
                let above = ancestors(agent, below.len(), of);
                prop_assert_eq!(above[0], parents[agent]);
                prop_assert_eq!(above.last(), Some(&None));
                let under = |other: &usize| ancestors(*other, below.len(), of).contains(&Some(agent));
                prop_assert_eq!((0..below.len()).filter(under).count(), below[agent] as usize);
            }
            let deepest = (0..below.len()).map(|agent| ancestors(agent, below.len(), of).len()).max().unwrap();
            prop_assert_eq!(levels(0..below.len(), of), deepest as u32);
        }

        #[test]
        fn numbers_that_do_not_add_up_are_noticed_and_do_no_harm(below in prop::collection::vec(any::<u32>(), 0..40), small in prop::collection::vec(0u32..4, 0..40)) {
            for below in [below, small] {
                let of = |agent: usize| below[agent];
                let runs = subtrees(0..below.len(), of);
                prop_assert_eq!(runs.iter().map(Range::len).sum::<usize>(), below.len());
                let adds_up = (0..below.len()).all(|agent| {
                    let end = ancestors(agent, below.len(), of)[0].map_or(below.len(), |parent| parent + 1 + below[parent] as usize);
                    agent as u64 + 1 + u64::from(below[agent]) <= end as u64
                });
                prop_assert_eq!(misfit(below.len(), of).is_none(), adds_up);
                levels(0..below.len(), of);
            }
        }
    }
}
