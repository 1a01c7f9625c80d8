//! Trees over hosts: members hang under the agents of their hosts, or a shape is laid over hosts.

use std::ops::Range;

use banyan_hosts::HostSet;

use super::assemble::Sketch;
use super::limits::MAX_NODES;
use super::{Placing, Topology, TopologyError, TopologyProblem};

/// A host and how many members it has, as a number in the set of hosts.
struct Load {
    host: u32,
    members: u32,
}

impl Topology {
    /// Members under agents of their hosts, agents in a balanced tree with this fan-out, in which agents have other
    /// agents below them beside their members.
    ///
    /// A host with more than `members_per_agent` members has several agents, which share them evenly. Ranks follow the
    /// order of the hosts; a host without members has no agent. Both numbers count as 1 if they are 0.
    pub fn of_hosts(
        distribution: &[(&str, u32)],
        fan_out: u32,
        members_per_agent: u32,
    ) -> Result<Topology, TopologyError> {
        let total: u64 = distribution.iter().map(|(_, members)| u64::from(*members)).sum();
        if total > MAX_NODES.into() {
            return Err(TopologyProblem::TooManyNodes.into());
        }
        let peopled = || distribution.iter().filter(|(_, members)| *members > 0);
        let hosts = HostSet::from_names(peopled().map(|(host, _)| *host)).map_err(|error| match error {
            banyan_hosts::HostSetError::Name { problem, .. } => TopologyProblem::Hosts(problem),
            other => unreachable!("names give no other error: {other}"),
        })?;
        let mut loads: Vec<Load> = (0..hosts.len() as u32).map(|host| Load { host, members: 0 }).collect();
        for (host, members) in peopled() {
            // Every name was put in.
            if let Some(index) = hosts.index_of(host) {
                loads[index].members += members;
            }
        }
        Ok(over(&loads, hosts, fan_out.max(1), members_per_agent.max(1))?)
    }

    /// The same tree laid over hosts: members evenly in the order of their ranks, agents with their first member. Where
    /// the front-end runs is not said.
    #[must_use]
    pub fn on_hosts(mut self, hosts: &HostSet) -> Topology {
        if hosts.is_empty() {
            return self;
        }
        let (members, count) = (u64::from(self.members()), hosts.len() as u64);
        let place = |(node, (first, _)): (usize, &(u32, u32))| {
            let host = (u64::from(*first) * count / members) as u32;
            Placing { host: if node == 0 { Placing::NOWHERE } else { host }, index: 0 }
        };
        self.places = self.below.iter().enumerate().map(place).collect();
        self.hosts = hosts.clone();
        self.count_on_hosts();
        self
    }
}

/// Makes the tree of [`Topology::of_hosts`].
fn over(loads: &[Load], hosts: HostSet, fan_out: u32, at_most: u32) -> Result<Topology, TopologyProblem> {
    let agents: Vec<Load> = loads.iter().flat_map(|load| shares(load, at_most)).collect();
    let members: u64 = agents.iter().map(|agent| u64::from(agent.members)).sum();
    if agents.len() as u64 + members + 1 > MAX_NODES.into() {
        return Err(TopologyProblem::TooManyNodes);
    }
    let mut sketch = Sketch { parents: vec![0], on: vec![Placing::NOWHERE], hosts, ..Sketch::default() };
    // Subtrees of agents and the node above them, the leftmost last. The first agent of a subtree is its root.
    let mut waiting = below(0, 0..agents.len(), fan_out);
    while let Some((above, subtree)) = waiting.pop() {
        let Load { host, members } = agents[subtree.start];
        let node = sketch.parents.len() as u32;
        let nodes = members as usize + 1;
        sketch.parents.push(above);
        sketch.parents.resize(node as usize + nodes, node);
        sketch.on.resize(node as usize + nodes, host);
        waiting.append(&mut below(node, subtree.start + 1..subtree.end, fan_out));
    }
    sketch.assemble_tree()
}

/// The agents of a host, which share its members evenly.
fn shares(load: &Load, at_most: u32) -> impl Iterator<Item = Load> {
    let Load { host, members } = *load;
    let parts = members.div_ceil(at_most);
    let first = move |part: u32| (u64::from(part) * u64::from(members) / u64::from(parts)) as u32;
    (0..parts).map(move |part| Load { host, members: first(part + 1) - first(part) })
}

/// The subtrees below a node, from right to left: at most `fan_out` parts of nearly equal size.
fn below(node: u32, agents: Range<usize>, fan_out: u32) -> Vec<(u32, Range<usize>)> {
    let parts = agents.len().min(fan_out as usize);
    let start = |part: usize| agents.start + part * agents.len() / parts;
    (0..parts).rev().map(|part| (node, start(part)..start(part + 1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn members_hang_under_the_agents_of_their_hosts_and_agents_under_each_other() {
        let topology = Topology::of_hosts(&[("a", 2), ("b", 5), ("empty", 0), ("c", 1)], 2, 3).unwrap();
        let expected = "front-end\n  agent on a\n    members 2\n    agent on b\n      members 2\n  agent on b\n    \
                        members 3\n    agent on c\n      member\n";
        assert_eq!(topology.outline().to_string(), expected);
        assert!(!topology.hosts().contains("empty"));
    }

    #[test]
    fn hosts_without_members_and_hosts_with_too_many_are_refused() {
        let refused = |counts: &[(&str, u32)]| Topology::of_hosts(counts, 2, 3).unwrap_err().problem;
        assert_eq!(refused(&[]), TopologyProblem::Empty);
        assert_eq!(refused(&[("a", 0)]), TopologyProblem::Empty);
        assert_eq!(refused(&[("a", u32::MAX), ("b", u32::MAX)]), TopologyProblem::TooManyNodes);
        assert!(matches!(refused(&[("-a", 1)]), TopologyProblem::Hosts(_)));
    }

    proptest! {
        #[test]
        fn every_member_is_on_the_host_of_its_agent(
            counts in prop::collection::vec(0..8_u32, 1..30), fan_out in 0..6_u32, at_most in 0..9_u32,
        ) {
            let names: Vec<String> = (0..counts.len()).map(|host| format!("n{host}")).collect();
            let named: Vec<(&str, u32)> = names.iter().map(String::as_str).zip(counts.iter().copied()).collect();
            let Ok(topology) = Topology::of_hosts(&named, fan_out, at_most) else {
                prop_assert!(counts.iter().all(|count| *count == 0));
                return Ok(());
            };
            let mut ranks = named.iter().flat_map(|(host, members)| std::iter::repeat_n(*host, *members as usize));
            for rank in 0..topology.members() {
                let member = topology.member(rank).unwrap();
                prop_assert_eq!(topology.host(member), ranks.next());
                prop_assert_eq!(topology.host(topology.parent(member).unwrap()), topology.host(member));
            }
            prop_assert_eq!(ranks.next(), None);
            let members = |node| topology.children(node).filter(|child| topology.role(*child) == super::super::Role::Member);
            for node in topology.nodes() {
                let agents = topology.degree(node) - members(node).count() as u32;
                prop_assert!(agents <= fan_out.max(1) && members(node).count() as u32 <= at_most.max(1));
            }
        }
    }
}
