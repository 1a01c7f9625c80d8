//! Agents where the front-end wants them: the tree of a session, agent by agent.
//!
//! Without a layout [`layout`](crate::layout) decides, by fan-out. With one, every agent says on which host it is, how many
//! members it starts, and how many agents are below it. Several programs have these members one after the other. Members that
//! attach besides are shared out among the agents of their host.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::distribution::{HostDistribution, ProcessDistribution};
use crate::layout::{AgentPlan, Group};
use crate::shape;

/// An agent of a session's tree.
///
/// A whole tree is a list of them in which each is followed by those below it: first its first child with all that is
/// below that, then the second, and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLayout {
    /// Its host; others may be on the same one.
    pub host: String,
    /// How many members it starts; none is fine. Ranks go by the order of the list.
    pub members: u32,
    /// How many agents are below it, children of children included.
    pub below: u32,
}

impl AgentLayout {
    pub(crate) fn of(agent: &AgentPlan) -> AgentLayout {
        let members = agent.groups.iter().map(|group| group.count).sum();
        AgentLayout { host: agent.host.clone(), members, below: agent.below }
    }
}

/// Why a layout cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// There are no agents.
    #[error("the layout has no agents; give it one at least, or none at all to have it made")]
    Empty,
    /// There is nothing to start.
    #[error("a layout needs a process distribution; give one")]
    NoDistribution,
    /// Ranks go by the order of distributions, and members that attach come last.
    #[error("with a layout, process distributions with a program have to come before those that attach")]
    NotFirst,
    /// Members attach to an agent of their host.
    #[error("{processes} members attach on host {host}, where the layout has no agent; name a host that has one")]
    NoAgent {
        /// The host.
        host: String,
        /// How many.
        processes: u32,
    },
    /// Hosts may be left out, and a layout needs all of its own.
    #[error("a layout needs all its hosts: leave min_hosts or the layout out")]
    LeavesHostsOut,
    /// Too many agents are said to be below one.
    #[error("agent {agent} of the layout, on host {host}, has {below} agents below it, but only {most} follow {place}")]
    Below {
        /// Its place in the list, from 0.
        agent: usize,
        /// Its host.
        host: String,
        /// What it says.
        below: u32,
        /// How many there can be at most.
        most: usize,
        /// Where they follow.
        place: String,
    },
    /// Members are too many or too few.
    #[error(
        "host {host} has {processes} processes in the process distributions, and the agents there start {members} in the layout"
    )]
    Members {
        /// The host.
        host: String,
        /// As the distribution has it.
        processes: u64,
        /// As the layout has it.
        members: u64,
    },
    /// Distributions come in another order than the agents that start their members.
    #[error(
        "process distribution {distribution} has {processes} processes on host {host}, and {members} by the layout, which gives \
         its members to the distributions in the order of ranks; give these in the order of the layout's agents"
    )]
    Order {
        /// Which one, from 1.
        distribution: usize,
        /// The host.
        host: String,
        /// As the distribution has it.
        processes: u64,
        /// As it would be.
        members: u64,
    },
    /// What starts all agents together starts one on each host.
    #[error(
        "the layout has several agents on host {0}, and what starts all agents together (Slurm, a command) starts one on each \
         host; use ssh, or one agent a host"
    )]
    SeveralOnAHost(String),
    /// More members than ranks.
    #[error("the layout has more members than ranks; a session has fewer than 4,294,967,295")]
    TooMany,
}

/// The agents of a layout with the members of all distributions with a program, one after the other, and behind these of
/// others that attach; and the number of members. Without a program, the first is of members that attach.
pub(crate) fn plan(
    layout: &[AgentLayout],
    distributions: &[ProcessDistribution],
) -> Result<(Vec<AgentPlan>, u32), LayoutError> {
    let (laid, others) = laid_and_others(distributions).ok_or(LayoutError::NoDistribution)?;
    if others.iter().any(|other| other.exe.is_some()) {
        return Err(LayoutError::NotFirst);
    }
    if layout.is_empty() {
        return Err(LayoutError::Empty);
    }
    check_shape(layout)?;
    check_members(layout, laid)?;
    let totals = laid.iter().map(|one| one.hosts.iter().map(|at| u64::from(at.processes)).sum());
    let mut left: VecDeque<(u32, u64)> = (0..).zip(totals).collect();
    let mut agents = Vec::with_capacity(layout.len());
    let mut on_host: BTreeMap<&str, u32> = BTreeMap::new();
    let mut next = 0;
    for agent in layout {
        let count = on_host.entry(&agent.host).or_default();
        let groups = groups(&mut left, agent.members, &mut next)?;
        agents.push(AgentPlan { host: agent.host.clone(), index: *count, below: agent.below, groups });
        *count += 1;
    }
    check_order(&agents, laid)?;
    for (image, distribution) in (laid.len() as u32..).zip(others) {
        for at in &distribution.hosts {
            share_out(image, at, &mut agents, &mut next)?;
        }
    }
    Ok((agents, next))
}

/// The distributions that have the members of a layout, and those behind them; none if there are none.
fn laid_and_others(distributions: &[ProcessDistribution]) -> Option<(&[ProcessDistribution], &[ProcessDistribution])> {
    let programs = distributions.iter().take_while(|one| one.exe.is_some()).count();
    distributions.split_at_checked(programs.max(1))
}

/// The next members of an agent: of the images that have some left, one after the other.
fn groups(left: &mut VecDeque<(u32, u64)>, mut members: u32, next: &mut u32) -> Result<Vec<Group>, LayoutError> {
    let mut groups = Vec::new();
    while members > 0
        && let Some((image, processes)) = left.front_mut()
    {
        let count = u64::from(members).min(*processes) as u32;
        groups.extend(group(*image, count, next)?);
        *processes -= u64::from(count);
        members -= count;
        if *processes == 0 {
            left.pop_front();
        }
    }
    Ok(groups)
}

/// The next members of an image, if there are any.
fn group(image: u32, count: u32, next: &mut u32) -> Result<Option<Group>, LayoutError> {
    let group = Group { image, first: *next, count };
    *next = next.checked_add(count).filter(|next| *next < u32::MAX).ok_or(LayoutError::TooMany)?;
    Ok((count > 0).then_some(group))
}

/// Gives members that attach to the agents of their host, each as many: to those that have members, if there are such.
fn share_out(image: u32, at: &HostDistribution, agents: &mut [AgentPlan], next: &mut u32) -> Result<(), LayoutError> {
    let on_host = agents.iter_mut().filter(|agent| agent.host == at.host);
    let (with_members, without): (Vec<_>, Vec<_>) = on_host.partition(|agent| !agent.groups.is_empty());
    let takers = if with_members.is_empty() { without } else { with_members };
    if takers.is_empty() {
        return Err(LayoutError::NoAgent { host: at.host.clone(), processes: at.processes });
    }
    let (mut left, takers_left) = (at.processes, (1..=takers.len() as u32).rev());
    for (agent, takers_left) in takers.into_iter().zip(takers_left) {
        let count = left.div_ceil(takers_left);
        agent.groups.extend(group(image, count, next)?);
        left -= count;
    }
    Ok(())
}

fn check_shape(layout: &[AgentLayout]) -> Result<(), LayoutError> {
    let Some(misfit) = shape::misfit(layout.len(), |agent| layout[agent].below) else { return Ok(()) };
    let place = match misfit.parent {
        None => "in the layout".into(),
        Some(parent) => format!("below agent {parent}, on host {}", layout[parent].host),
    };
    let AgentLayout { host, below, .. } = layout[misfit.agent].clone();
    Err(LayoutError::Below { agent: misfit.agent, host, below, most: misfit.most, place })
}

fn check_members(layout: &[AgentLayout], laid: &[ProcessDistribution]) -> Result<(), LayoutError> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for at in laid.iter().flat_map(|distribution| &distribution.hosts) {
        counts.entry(&at.host).or_default().0 += u64::from(at.processes);
    }
    for agent in layout {
        counts.entry(&agent.host).or_default().1 += u64::from(agent.members);
    }
    match counts.into_iter().find(|(_, (processes, members))| processes != members) {
        None => Ok(()),
        Some((host, (processes, members))) => Err(LayoutError::Members { host: host.to_owned(), processes, members }),
    }
}

/// Every distribution has as many processes on each host as it says.
fn check_order(agents: &[AgentPlan], laid: &[ProcessDistribution]) -> Result<(), LayoutError> {
    let mut counts: BTreeMap<(usize, &str), (u64, u64)> = BTreeMap::new();
    for (image, distribution) in laid.iter().enumerate() {
        for at in &distribution.hosts {
            counts.entry((image, &at.host)).or_default().0 += u64::from(at.processes);
        }
    }
    for agent in agents {
        for group in &agent.groups {
            counts.entry((group.image as usize, &agent.host)).or_default().1 += u64::from(group.count);
        }
    }
    match counts.into_iter().find(|(_, (processes, members))| processes != members) {
        None => Ok(()),
        Some(((image, host), (processes, members))) => {
            Err(LayoutError::Order { distribution: image + 1, host: host.to_owned(), processes, members })
        }
    }
}

/// Refuses several agents on a host.
pub(crate) fn check_one_a_host(layout: &[AgentLayout]) -> Result<(), LayoutError> {
    let mut seen = BTreeSet::new();
    match layout.iter().find(|agent| !seen.insert(&agent.host)) {
        None => Ok(()),
        Some(second) => Err(LayoutError::SeveralOnAHost(second.host.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agent(host: &str, members: u32, below: u32) -> AgentLayout {
        AgentLayout { host: host.into(), members, below }
    }

    /// As many processes on each host as the layout has.
    fn distribution(layout: &[AgentLayout]) -> ProcessDistribution {
        layout.iter().rev().fold(ProcessDistribution::default(), |all, agent| all.on(&agent.host, agent.members))
    }

    #[test]
    fn agents_take_the_ranks_in_their_order() {
        let layout = [agent("a", 0, 2), agent("b", 2, 0), agent("a", 3, 0), agent("b", 1, 0)];
        let (agents, size) = plan(&layout, &[distribution(&layout)]).unwrap();
        let shown: Vec<String> = agents
            .iter()
            .map(|agent| format!("{}:{} {} over {}", agent.host, agent.index, agent.ranks(), agent.below))
            .collect();
        assert_eq!((shown.join(", "), size), ("a:0  over 2, b:0 0-1 over 0, a:1 2-4 over 0, b:1 5 over 0".into(), 6));
    }

    #[test]
    fn members_that_attach_besides_come_behind_and_are_shared_out_among_the_agents_of_their_host() {
        let layout = [agent("a", 0, 2), agent("a", 2, 0), agent("a", 1, 0), agent("b", 0, 0)];
        let attached = ProcessDistribution::attached().on("b", 2).on("a", 3);
        let (agents, size) = plan(&layout, &[distribution(&layout), attached]).unwrap();
        let ranks: Vec<String> = agents.iter().map(|agent| agent.ranks().to_string()).collect();
        assert_eq!((ranks.join(" | "), size), (" | 0-1,5-6 | 2,7 | 3-4".into(), 8));
    }

    #[test]
    fn several_programs_have_the_members_of_a_layout_one_after_the_other() {
        let layout = [agent("a", 0, 2), agent("a", 3, 0), agent("b", 2, 0), agent("c", 1, 0)];
        let program = || ProcessDistribution::new("x", [""; 0]);
        let images = [
            program().on("a", 1),
            program().on("a", 2).on("b", 1),
            program(),
            program().on("c", 1).on("b", 1),
            ProcessDistribution::attached().on("b", 1),
        ];
        let (agents, size) = plan(&layout, &images).unwrap();
        let groups = |agent: &AgentPlan| {
            let shown =
                agent.groups.iter().map(|group| format!("{}*{} from {}", group.count, group.image, group.first));
            shown.collect::<Vec<_>>().join(", ")
        };
        let shown: Vec<String> = agents.iter().map(groups).collect();
        assert_eq!(shown, ["", "1*0 from 0, 2*1 from 1", "1*1 from 3, 1*3 from 4, 1*4 from 6", "1*3 from 5"]);
        assert_eq!(size, 7);
    }

    #[test]
    fn what_does_not_add_up_is_said() {
        let one = [ProcessDistribution::default().on("a", 2)];
        let told = |layout: &[AgentLayout]| plan(layout, &one).unwrap_err().to_string();
        assert_eq!(told(&[]), LayoutError::Empty.to_string());
        assert_eq!(plan(&[agent("a", 2, 0)], &[]).unwrap_err(), LayoutError::NoDistribution);
        let programs = ["x", "y"].map(|exe| ProcessDistribution::new(exe, [""; 0]).on("a", 2));
        assert!(plan(&[agent("a", 2, 0)], &programs).unwrap_err().to_string().starts_with("host a has 4 processes"));
        let crossed = ["b", "a"].map(|host| ProcessDistribution::new("x", [""; 0]).on(host, 2));
        assert_eq!(
            plan(&[agent("a", 2, 0), agent("b", 2, 0)], &crossed).unwrap_err().to_string(),
            "process distribution 1 has 0 processes on host a, and 2 by the layout, which gives its members to the \
             distributions in the order of ranks; give these in the order of the layout's agents"
        );
        let behind = [ProcessDistribution::attached().on("a", 2), programs[0].clone()];
        assert_eq!(plan(&[agent("a", 2, 0)], &behind).unwrap_err(), LayoutError::NotFirst);
        let astray = [programs[0].clone(), ProcessDistribution::attached().on("b", 3)];
        let told_of_both = plan(&[agent("a", 2, 0)], &astray).unwrap_err().to_string();
        assert_eq!(told_of_both, "3 members attach on host b, where the layout has no agent; name a host that has one");
        assert_eq!(
            told(&[agent("a", 2, 1), agent("b", 0, 1), agent("c", 0, 0)]),
            "agent 1 of the layout, on host b, has 1 agents below it, but only 0 follow below agent 0, on host a"
        );
        assert_eq!(
            told(&[agent("a", 1, 0)]),
            "host a has 2 processes in the process distributions, and the agents there start 1 in the layout"
        );
        assert!(told(&[agent("a", 2, 0), agent("b", 1, 0)]).contains("host b has 0 processes"));
        let many = [agent("a", u32::MAX, 0), agent("a", 1, 0)];
        assert_eq!(plan(&many, &[distribution(&many)]).unwrap_err(), LayoutError::TooMany);
        assert_eq!(check_one_a_host(&many).unwrap_err(), LayoutError::SeveralOnAHost("a".into()));
    }

    proptest! {
        #[test]
        fn every_rank_has_one_agent_on_the_host_that_has_it(agents in prop::collection::vec((0u32..5, 0usize..3), 1..30)) {
            let layout: Vec<AgentLayout> =
                agents.iter().map(|(members, host)| agent(["a", "b", "c"][*host], *members, 0)).collect();
            let (agents, size) = plan(&layout, &[distribution(&layout)]).unwrap();
            let ranks: Vec<u32> = agents.iter().flat_map(|agent| agent.ranks().iter().collect::<Vec<_>>()).collect();
            prop_assert_eq!(ranks, (0..size).collect::<Vec<_>>());
            for (agent, planned) in layout.iter().zip(&agents) {
                prop_assert_eq!((u64::from(agent.members), &agent.host), (planned.ranks().len(), &planned.host));
            }
        }
    }
}
