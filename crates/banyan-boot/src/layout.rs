//! Which agent holds which members: decided once by the front-end, where it is not [told](crate::agent_layout).
//!
//! Agents are numbered in the order of their hosts, and who is whose child is a matter of their numbers
//! ([`shape`]). Nodes are numbered from the front-end, 0; agent `i` is node `i + 1`.

use std::collections::HashMap;

use banyan_ndr::Record;
use banyan_ranks::RankSet;

use crate::distribution::ProcessDistribution;
use crate::shape;

/// Members one agent starts at most; a host with more has several agents, which start them side by side, and wake them
/// side by side in collectives.
pub(crate) const MEMBERS_PER_AGENT: u32 = 350;

/// Members that a session may have: a front-end keeps some hundred bytes for each. A number with digits too many is refused
/// before it takes all memory.
const MOST_MEMBERS: u32 = 1 << 22;

/// An agent: its host, and the members it holds. What these run is said once for all agents, in the
/// [image](crate::assignment::Image) of their distribution.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct AgentPlan {
    /// The host's name as the launcher knows it.
    pub(crate) host: String,
    /// Which of the agents of this host.
    pub(crate) index: u32,
    /// How many agents are below it: those that follow.
    pub(crate) below: u32,
    /// Its members.
    pub(crate) groups: Vec<Group>,
}

/// Members of one image with consecutive ranks.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Group {
    /// Which process distribution.
    pub(crate) image: u32,
    /// The lowest rank.
    pub(crate) first: u32,
    /// How many.
    pub(crate) count: u32,
}

impl Group {
    pub(crate) fn add_to(&self, ranks: &mut RankSet) {
        if let Some(more) = self.count.checked_sub(1) {
            ranks.insert_range(self.first..=self.first + more);
        }
    }
}

impl AgentPlan {
    /// The ranks this agent holds itself.
    pub(crate) fn ranks(&self) -> RankSet {
        let mut ranks = RankSet::new();
        self.groups.iter().for_each(|group| group.add_to(&mut ranks));
        ranks
    }
}

/// The ranks of a whole subtree.
pub(crate) fn ranks_of(agents: &[AgentPlan]) -> RankSet {
    let mut ranks = RankSet::new();
    for group in agents.iter().flat_map(|agent| &agent.groups) {
        group.add_to(&mut ranks);
    }
    ranks
}

/// All agents of a session with their members, and the number of members.
///
/// `None` if there are more members than a session [may have](MOST_MEMBERS).
pub(crate) fn plan(
    distributions: &[ProcessDistribution],
    members_per_agent: u32,
    fanout: u32,
) -> Option<(Vec<AgentPlan>, u32)> {
    let mut agents: Vec<AgentPlan> = Vec::new();
    let mut hosts: HashMap<&str, Vec<Group>> = HashMap::new();
    let mut order: Vec<&str> = Vec::new();
    let mut next = 0u32;
    for (image, distribution) in (0u32..).zip(distributions) {
        for at in &distribution.hosts {
            let groups = hosts.entry(&at.host).or_insert_with(|| {
                order.push(&at.host);
                Vec::new()
            });
            groups.push(Group { image, first: next, count: at.processes });
            next = next.checked_add(at.processes).filter(|next| *next <= MOST_MEMBERS)?;
        }
    }
    for host in order {
        let groups = &hosts[host];
        for (index, groups) in (0u32..).zip(share(groups, members_per_agent)) {
            agents.push(AgentPlan { host: host.to_owned(), index, below: 0, groups });
        }
    }
    let shape = shape::balanced(agents.len(), fanout as usize);
    for (agent, below) in agents.iter_mut().zip(shape) {
        agent.below = below;
    }
    Some((agents, next))
}

/// Cuts the members of a host into equal parts of at most so many.
fn share(groups: &[Group], at_most: u32) -> Vec<Vec<Group>> {
    let members: u32 = groups.iter().map(|group| group.count).sum();
    let parts = members.div_ceil(at_most.max(1)).max(1);
    let each = members.div_ceil(parts);
    let mut shares = vec![Vec::new()];
    let mut left = each;
    for group in groups {
        let mut group = group.clone();
        while group.count > left {
            let (first, rest) = (Group { count: left, ..group.clone() }, group.count - left);
            group = Group { first: group.first + left, count: rest, ..group };
            shares.last_mut().expect("never empty").extend((first.count > 0).then_some(first));
            shares.push(Vec::new());
            left = each;
        }
        left -= group.count;
        shares.last_mut().expect("never empty").push(group);
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hosts(counts: &[(&str, u32)]) -> ProcessDistribution {
        counts.iter().fold(ProcessDistribution::default(), |all, (host, count)| all.on(*host, *count))
    }

    #[test]
    fn ranks_follow_distributions_then_hosts_and_a_host_has_one_agent() {
        let (agents, size) = plan(&[hosts(&[("a", 2), ("b", 3)]), hosts(&[("a", 1)])], 100, 2).unwrap();
        assert_eq!(size, 6);
        let shown: Vec<String> = agents.iter().map(|agent| format!("{} {}", agent.host, agent.ranks())).collect();
        assert_eq!(shown, ["a 0-1,5", "b 2-4"]);
    }

    #[test]
    fn a_host_with_many_members_has_several_agents() {
        let (agents, size) = plan(&[hosts(&[("a", 10), ("b", 1)])], 4, 2).unwrap();
        assert_eq!(size, 11);
        let shown: Vec<String> =
            agents.iter().map(|agent| format!("{}:{} {}", agent.host, agent.index, agent.ranks())).collect();
        assert_eq!(shown, ["a:0 0-3", "a:1 4-7", "a:2 8-9", "b:0 10"]);
    }

    #[test]
    fn more_members_than_ranks_are_refused() {
        assert!(plan(&[hosts(&[("a", u32::MAX), ("b", 1)])], 4, 2).is_none());
    }

    proptest! {
        #[test]
        fn every_member_has_one_agent(counts in prop::collection::vec(0u32..50, 1..20), at_most in 1u32..20) {
            let distribution = counts
                .iter()
                .enumerate()
                .fold(ProcessDistribution::default(), |all, (host, count)| all.on(format!("h{}", host % 7), *count));
            let (agents, size) = plan(&[distribution], at_most, 3).unwrap();
            prop_assert!(agents.iter().all(|agent| agent.ranks().len() <= u64::from(at_most)));
            let total: u64 = agents.iter().map(|agent| agent.ranks().len()).sum();
            prop_assert_eq!(total, u64::from(size));
            prop_assert_eq!(ranks_of(&agents).len(), u64::from(size));
        }
    }
}
