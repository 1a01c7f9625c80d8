//! A topology as agents with members: what a session needs to start it.

use banyan_boot::{AgentLayout, HostDistribution, HostSet, ProcessDistribution, SessionOptions};

use crate::error::TreeError;
use crate::network::Shape;
use banyan_topology::{NodeId, Role, Spec, Topology};

/// The name of this machine among hosts.
const THIS_HOST: &str = "localhost";

/// The processes with their hosts, and the agents between; without a shape, agents follow the hosts. A shape is that of the
/// first distribution.
pub(crate) fn of(
    back_ends: &[ProcessDistribution],
    shape: Option<&Shape>,
) -> Result<(Vec<ProcessDistribution>, Option<Vec<AgentLayout>>), TreeError> {
    let mut distributions = back_ends.to_vec();
    let (Some(shape), Some(first)) = (shape, distributions.first_mut()) else { return Ok((distributions, None)) };
    let agents = Agents::of(&tree(first, shape)?);
    let host = |agent: &AgentLayout| HostDistribution { host: agent.host.clone(), processes: agent.members };
    first.hosts = agents.iter().map(host).collect();
    Ok((distributions, Some(agents)))
}

/// The tree that a shape is with these processes.
fn tree(back_ends: &ProcessDistribution, shape: &Shape) -> Result<Topology, TreeError> {
    match shape {
        Shape::Spec(spec) => over_hosts(back_ends, spec),
        Shape::Topology(topology) if back_ends.hosts.is_empty() => Ok(Topology::clone(topology)),
        Shape::Topology(_) => {
            let why = "a topology says itself where its members run; give the program without hosts";
            Err(TreeError::Shape(why.into()))
        }
    }
}

/// The tree that a word is on the hosts of these processes.
fn over_hosts(back_ends: &ProcessDistribution, spec: &Spec) -> Result<Topology, TreeError> {
    let hosts = match back_ends.hosts.is_empty() {
        true => HostSet::from_names([THIS_HOST]),
        false => HostSet::from_names(back_ends.hosts.iter().map(|at| at.host.as_str())),
    };
    let hosts = hosts.map_err(|error| TreeError::Shape(error.to_string()))?;
    let topology = spec.build_on(&hosts)?;
    let wanted: u32 = back_ends.hosts.iter().map(|at| at.processes).sum();
    if wanted != 0 && wanted != topology.members() {
        let members = topology.members();
        return Err(TreeError::Shape(format!(
            "the topology {spec} has {members} members, and {wanted} processes were asked for; give the hosts without \
             numbers of processes, or a topology that fits"
        )));
    }
    Ok(topology)
}

/// Children that a node has at most as these processes start: by their layout, or by the bounds within which the session makes
/// one. Members that attach to an agent of a layout besides are counted as if it was the only one of their host.
pub(crate) fn widest(distributions: &[ProcessDistribution], options: &SessionOptions) -> usize {
    let largest = |one: &ProcessDistribution| match one.hosts.iter().map(|at| at.processes).max() {
        Some(processes) => processes,
        // Where no hosts are named others name them, with whatever processes, but not for those that attach.
        None => one.exe.as_ref().map_or(0, |_| u32::MAX),
    };
    let together = |some: &[ProcessDistribution]| some.iter().map(largest).fold(0, u32::saturating_add);
    let Some(agents) = &options.layout else {
        return options.fanout as usize + together(distributions).min(options.members_per_agent) as usize;
    };
    let besides = together(distributions.get(1..).unwrap_or_default()) as usize;
    // Whoever gave the layout may have counted wrongly; the session says so.
    let below = |at: usize| &agents[at + 1..agents.len().min(at + 1 + agents[at].below as usize)];
    let inner = (0..agents.len()).map(|at| agents[at].members as usize + besides + direct(below(at)));
    inner.chain([direct(agents)]).max().unwrap_or_default()
}

/// How many of these agents are not below another of them.
pub(crate) fn direct(agents: &[AgentLayout]) -> usize {
    let (mut count, mut at) = (0, 0);
    while let Some(agent) = agents.get(at) {
        count += 1;
        at += 1 + agent.below as usize;
    }
    count
}

/// Whether everything runs on this machine.
pub(crate) fn is_this_host(distributions: &[ProcessDistribution]) -> bool {
    distributions.iter().flat_map(|distribution| &distribution.hosts).all(|at| at.host == THIS_HOST)
}

/// The agents of a topology, each followed by those below it.
struct Agents<'a> {
    topology: &'a Topology,
    agents: Vec<AgentLayout>,
}

impl Agents<'_> {
    fn of(topology: &Topology) -> Vec<AgentLayout> {
        let mut agents = Agents { topology, agents: Vec::new() };
        agents.lay_below(topology.root(), None);
        agents.agents
    }

    /// An agent and all below it.
    fn lay(&mut self, node: NodeId) {
        let at = self.add(self.host(node));
        self.lay_below(node, Some(at));
        self.agents[at].below = (self.agents.len() - at - 1) as u32;
    }

    /// What is below a node. Members are started by an agent of their own host, and ranks are given in the order of agents.
    /// So members that have no such agent above them, or come behind other agents, get one more.
    fn lay_below(&mut self, node: NodeId, mut starter: Option<usize>) {
        for child in self.topology.children(node) {
            if self.topology.role(child) != Role::Member {
                self.lay(child);
                starter = None;
                continue;
            }
            let host = self.host(child);
            let at = match starter {
                Some(at) if self.agents[at].host == host => at,
                _ => self.add(host),
            };
            self.agents[at].members += 1;
            starter = Some(at);
        }
    }

    fn add(&mut self, host: String) -> usize {
        self.agents.push(AgentLayout { host, members: 0, below: 0 });
        self.agents.len() - 1
    }

    /// Where a node runs: if nothing is said of it, where its parent does, and in the end on this machine.
    fn host(&self, node: NodeId) -> String {
        let above = self.topology.path_to_root(node).filter(|above| *above != self.topology.root());
        let host = std::iter::once(node).chain(above).find_map(|node| self.topology.host(node));
        host.unwrap_or(THIS_HOST).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(spec: &str) -> Vec<(u32, u32)> {
        let program = ProcessDistribution::new("true", ["-"]);
        let (_, agents) = of(&[program], Some(&spec.parse().unwrap())).unwrap();
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
    fn the_widest_node_is_the_front_end_an_agent_or_whatever_the_session_may_make() {
        let wide = |spec: &str| {
            let program = ProcessDistribution::new("true", ["-"]);
            let (distributions, layout) = of(&[program], Some(&spec.parse().unwrap())).unwrap();
            widest(&distributions, &SessionOptions { layout, ..SessionOptions::default() })
        };
        assert_eq!([wide("1x150"), wide("200x1"), wide("2x30x4"), wide("2x3x40")], [150, 200, 30, 40]);
        let options = SessionOptions { fanout: 7, members_per_agent: 50, ..SessionOptions::default() };
        let program = ProcessDistribution::new("true", ["-"]);
        assert_eq!(widest(&[program.clone().on("a", 3).on("b", 20)], &options), 27);
        assert_eq!(widest(&[program.clone().on("a", 300)], &options), 57);
        let besides = ProcessDistribution::attached().on("a", 9).on("b", 2);
        assert_eq!(widest(&[program.clone().on("a", 3), besides.clone()], &options), 19);
        let (distributions, layout) = of(&[program, besides], Some(&"2x3".parse().unwrap())).unwrap();
        assert_eq!(widest(&distributions, &SessionOptions { layout, ..options }), 12);
    }

    /// Hosts, members and agents below, of all agents.
    fn of_file(text: &str) -> Vec<(String, u32, u32)> {
        let topology = Topology::parse(text, None).unwrap();
        let (_, agents) = of(&[ProcessDistribution::new("true", ["-"])], Some(&topology.into())).unwrap();
        agents.unwrap().into_iter().map(|agent| (agent.host, agent.members, agent.below)).collect()
    }

    fn agent(host: &str, members: u32, below: u32) -> (String, u32, u32) {
        (host.into(), members, below)
    }

    #[test]
    fn both_notations_say_where_agents_and_members_are() {
        let outline = of_file("front-end on a\n  agents on b,c\n    members 2\n");
        assert_eq!(outline, [agent("b", 2, 0), agent("c", 2, 0)]);
        assert_eq!(of_file("a:0 => b:0 c:0 ; b:0 => b:1 b:2 ; c:0 => c:1 c:2 ;"), outline);
    }

    #[test]
    fn members_get_an_agent_on_their_host_where_there_is_none() {
        let apart = of_file("a:0 => b:0 ; b:0 => c:0 c:1 d:0 ;");
        assert_eq!(apart, [agent("b", 0, 2), agent("c", 2, 0), agent("d", 1, 0)]);
        // The members behind the agents have higher ranks than those below these.
        let behind = of_file("front-end\n  agent on b\n    member\n    agent on c\n      member\n    members 2\n");
        assert_eq!(behind, [agent("b", 1, 2), agent("c", 1, 0), agent("b", 2, 0)]);
    }

    #[test]
    fn a_file_and_other_hosts_are_refused() {
        let topology = Topology::parse("a:0 => a:1 ;", None).unwrap();
        let program = ProcessDistribution::new("true", ["-"]).on("b", 1);
        let error = of(&[program], Some(&topology.into())).unwrap_err().to_string();
        assert!(error.contains("without hosts"), "{error}");
    }

    #[test]
    fn a_topology_and_processes_that_do_not_fit_are_refused() {
        let program = ProcessDistribution::new("true", ["-"]).on("localhost", 7);
        let error = of(&[program], Some(&"2x3".parse().unwrap())).unwrap_err().to_string();
        assert!(error.contains("6 members, and 7 processes"), "{error}");
    }
}
