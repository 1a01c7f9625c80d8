//! A topology as agents with members: what a session needs to start it.

use banyan_boot::{AgentLayout, HostSet, ProcessDistribution};

use crate::error::TreeError;
use crate::topology::{NodeId, Role, Spec, Topology};

/// The name of this machine among hosts.
const THIS_HOST: &str = "localhost";

/// The processes to start with their hosts, and the agents between; without a topology, agents follow the hosts.
pub(crate) fn of(
    back_ends: &ProcessDistribution,
    topology: Option<&Spec>,
) -> Result<(ProcessDistribution, Option<Vec<AgentLayout>>), TreeError> {
    let Some(spec) = topology else { return Ok((back_ends.clone(), None)) };
    let hosts = match back_ends.hosts.is_empty() {
        true => HostSet::from_names([THIS_HOST]),
        false => HostSet::from_names(back_ends.hosts.iter().map(|at| at.host.as_str())),
    };
    let hosts = hosts.map_err(|error| TreeError::Shape(error.to_string()))?;
    let topology = spec.build_on(&hosts)?;
    let wanted: u32 = back_ends.hosts.iter().map(|at| at.processes).sum();
    if wanted != 0 && wanted != topology.members() {
        let (spec, members) = (spec.to_string(), topology.members());
        return Err(TreeError::Shape(format!(
            "the topology {spec} has {members} members, and {wanted} processes were asked for; give the hosts without \
             numbers of processes, or a topology that fits"
        )));
    }
    let mut agents = Vec::new();
    for child in topology.children(topology.root()) {
        lay(&topology, child, &mut agents)?;
    }
    let mut distribution = ProcessDistribution { hosts: Vec::new(), ..back_ends.clone() };
    for agent in &agents {
        distribution = distribution.on(agent.host.clone(), agent.members);
    }
    Ok((distribution, Some(agents)))
}

/// Whether everything runs on this machine.
pub(crate) fn is_this_host(distribution: &ProcessDistribution) -> bool {
    distribution.hosts.iter().all(|at| at.host == THIS_HOST)
}

/// An agent and all below it, itself first. Members are started by the agent above them, so a member below the front-end
/// gets an agent of its own host.
fn lay(topology: &Topology, node: NodeId, agents: &mut Vec<AgentLayout>) -> Result<(), TreeError> {
    let host = topology.host(node).unwrap_or(THIS_HOST).to_owned();
    if topology.role(node) == Role::Member {
        match agents.last_mut() {
            // The members below the front-end share one.
            Some(last) if last.host == host && topology.parent(node) == Some(topology.root()) => last.members += 1,
            _ => agents.push(AgentLayout { host, members: 1, below: 0 }),
        }
        return Ok(());
    }
    let at = agents.len();
    let (members, children): (Vec<NodeId>, Vec<NodeId>) =
        topology.children(node).partition(|child| topology.role(*child) == Role::Member);
    if let Some(stranger) = members.iter().find(|member| topology.host(**member).is_some_and(|of| of != host)) {
        let of = topology.host(*stranger).unwrap_or_default();
        return Err(TreeError::Shape(format!(
            "an agent on {host} has a member on {of}; members are started by an agent of their own host: put one there"
        )));
    }
    // Ranks are given in the order of agents: members of an agent that also has agents below come first, or last.
    let first_member = members.first().map(|member| topology.members_below(*member).start);
    let first_below = children.first().map(|child| topology.members_below(*child).start);
    if let (Some(member), Some(below)) = (first_member, first_below)
        && member > below
    {
        return Err(TreeError::Shape(format!(
            "an agent on {host} has members behind agents; put its members before the agents below it"
        )));
    }
    agents.push(AgentLayout { host, members: members.len() as u32, below: 0 });
    for child in children {
        lay(topology, child, agents)?;
    }
    agents[at].below = (agents.len() - at - 1) as u32;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(spec: &str) -> Vec<(u32, u32)> {
        let program = ProcessDistribution::new("true", ["-"]);
        let (_, agents) = of(&program, Some(&spec.parse().unwrap())).unwrap();
        agents.unwrap().iter().map(|agent| (agent.members, agent.below)).collect()
    }

    #[test]
    fn level_widths_become_agents_with_members() {
        assert_eq!(agents("2x3"), [(3, 0), (3, 0)]);
        assert_eq!(agents("2x2x1"), [(0, 2), (1, 0), (1, 0), (0, 2), (1, 0), (1, 0)]);
    }

    #[test]
    fn members_below_the_front_end_share_an_agent() {
        assert_eq!(agents("flat:5"), [(5, 0)]);
    }

    #[test]
    fn a_topology_and_processes_that_do_not_fit_are_refused() {
        let program = ProcessDistribution::new("true", ["-"]).on("localhost", 7);
        let error = of(&program, Some(&"2x3".parse().unwrap())).unwrap_err().to_string();
        assert!(error.contains("6 members, and 7 processes"), "{error}");
    }
}
