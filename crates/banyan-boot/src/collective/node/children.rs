//! The children of a node and where each rank is.

use banyan_ranks::RankSet;

use super::super::known_calls::Run;

use crate::collective::call::Call;

/// A child of a node, with its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subtree {
    /// A single member, of this rank.
    Member(u32),
    /// An agent, and all members below it.
    Agent(RankSet),
}

/// The children of a node. Their sets of ranks are disjoint.
#[derive(Debug)]
pub(super) struct Children {
    sets: Vec<RankSet>,
    /// Which of them are agents.
    agents: Vec<bool>,
    /// Members of each child.
    members: Vec<u32>,
    /// Runs of ranks, ascending, and the child that has them.
    runs: Vec<(Run, usize)>,
    /// Place of each child in the order of their lowest ranks, in which sums of floats are made.
    places: Vec<usize>,
    /// The child that has the master.
    of_master: Option<usize>,
    /// Children that have members: a host may be left without.
    peopled: usize,
    /// Members of all children.
    members_below: u32,
    /// Members of the session.
    size: u32,
}

impl Children {
    /// `size` is the number of members of the session; all of them are here if it is not given.
    pub(super) fn new(children: Vec<Subtree>, size: Option<u32>) -> Self {
        let agents = children.iter().map(|child| matches!(child, Subtree::Agent(_))).collect();
        let ranks = |child| match child {
            Subtree::Member(rank) => RankSet::from_iter([rank]),
            Subtree::Agent(ranks) => ranks,
        };
        let sets: Vec<RankSet> = children.into_iter().map(ranks).collect();
        let members: Vec<u32> = sets.iter().map(|ranks| ranks.len() as u32).collect();
        let ranges = |(child, ranks): (usize, &RankSet)| -> Vec<(Run, usize)> {
            ranks.ranges().map(|range| ((*range.start(), *range.end()), child)).collect()
        };
        let mut runs: Vec<(Run, usize)> = sets.iter().enumerate().flat_map(ranges).collect();
        runs.sort_unstable();
        let mut places = vec![usize::MAX; sets.len()];
        let mut peopled = 0;
        for (_, child) in &runs {
            if places[*child] == usize::MAX {
                places[*child] = peopled;
                peopled += 1;
            }
        }
        let of_master = runs.first().filter(|((first, _), _)| *first == 0).map(|(_, child)| *child);
        let members_below = members.iter().sum();
        let size = size.unwrap_or(members_below);
        Self { sets, agents, members, runs, places, of_master, peopled, members_below, size }
    }

    /// Members of the session.
    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.sets.len()
    }

    /// How many of them have members.
    pub(super) fn peopled(&self) -> usize {
        self.peopled
    }

    /// The lowest rank below this node.
    pub(super) fn lowest(&self) -> u32 {
        self.runs.first().map_or(0, |((first, _), _)| *first)
    }

    /// Whether a child is an agent, and no member.
    pub(super) fn is_agent(&self, child: usize) -> bool {
        self.agents[child]
    }

    /// How many members `child` has.
    pub(super) fn members(&self, child: usize) -> u32 {
        self.members[child]
    }

    /// Ranks of a child.
    pub(super) fn ranks(&self, child: usize) -> &RankSet {
        &self.sets[child]
    }

    /// Place of a child in the order of the lowest ranks.
    pub(super) fn place(&self, child: usize) -> usize {
        self.places[child]
    }

    /// The child that has the master, if it is below this node.
    pub(super) fn of_master(&self) -> Option<usize> {
        self.of_master
    }

    /// Whether there is such a rank in the session.
    pub(super) fn exists(&self, rank: u32) -> bool {
        rank < self.size
    }

    /// The child that has a rank.
    pub(super) fn of(&self, rank: u32) -> Option<usize> {
        self.run_of(rank).map(|(_, child)| child)
    }

    /// Whether all ranks of a run are of this child.
    pub(super) fn has(&self, child: usize, (first, last): Run) -> bool {
        self.run_of(first).is_some_and(|((_, end), of)| of == child && last <= end)
    }

    fn run_of(&self, rank: u32) -> Option<(Run, usize)> {
        let after = self.runs.partition_point(|((first, _), _)| *first <= rank);
        let (run, child) = *self.runs.get(after.checked_sub(1)?)?;
        (rank <= run.1).then_some((run, child))
    }

    /// The runs of all children for which `which` holds, ascending.
    pub(super) fn runs_of(&self, which: impl Fn(usize) -> bool) -> impl Iterator<Item = Run> {
        self.runs.iter().filter(move |(_, child)| which(*child)).map(|(run, _)| *run)
    }

    /// Messages that come up from a child in a call.
    pub(super) fn messages(&self, call: &Call, child: usize) -> u32 {
        let members = self.members(child);
        let has_master = self.of_master == Some(child);
        match call {
            Call::Barrier => 0,
            Call::Broadcast => u32::from(has_master),
            // One for each member that is not below the same child as the master.
            Call::Scatter if has_master => self.size.saturating_sub(members),
            Call::Scatter => 0,
            // What the master's neighbours have for it does not come up to here.
            Call::Gather if has_master => 0,
            Call::Gather | Call::AllGather => members,
            Call::AllReduce(_) => 1,
        }
    }

    /// Messages that come up from all children together in a gather, or else an `all_gather`.
    pub(super) fn all_messages(&self, is_gather: bool) -> u32 {
        let stay = self.of_master.filter(|_| is_gather).map_or(0, |child| self.members(child));
        self.members_below - stay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children() -> Children {
        let set = |ranks: &[u32]| Subtree::Agent(ranks.iter().copied().collect());
        Children::new(vec![set(&[4, 5, 9]), set(&[]), set(&[0, 1, 2]), Subtree::Member(7)], Some(20))
    }

    #[test]
    fn every_rank_has_the_child_it_was_given_to() {
        let of: Vec<_> = (0..11).map(|rank| children().of(rank)).collect();
        let (a, b, c) = (Some(0), Some(2), Some(3));
        assert_eq!(of, [b, b, b, None, a, a, None, c, None, a, None]);
    }

    #[test]
    fn children_have_their_places_by_their_lowest_ranks() {
        let children = children();
        assert_eq!((children.place(2), children.place(0), children.place(3)), (0, 1, 2));
        assert_eq!(children.of_master(), Some(2));
        assert_eq!(children.peopled(), 3);
    }

    #[test]
    fn a_run_is_of_a_child_that_has_all_of_it() {
        let children = children();
        assert!(children.has(0, (4, 5)) && children.has(2, (1, 1)));
        assert!(!children.has(0, (4, 9)) && !children.has(0, (0, 0)) && !children.has(3, (7, u32::MAX)));
    }

    #[test]
    fn what_comes_up_from_all_children_is_what_comes_from_each() {
        let children = children();
        for (call, is_gather) in [(Call::Gather, true), (Call::AllGather, false)] {
            let sum: u32 = (0..children.len()).map(|child| children.messages(&call, child)).sum();
            assert_eq!(children.all_messages(is_gather), sum);
        }
    }
}
