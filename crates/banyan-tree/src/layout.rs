//! A topology as agents with members: what a session needs to start it.

use std::collections::BTreeMap;
use std::iter;

use banyan_boot::{AgentLayout, HostDistribution, HostSet, ProcessDistribution, SessionOptions};

use crate::error::TreeError;
use crate::network::Shape;
use banyan_topology::{NodeId, Role, Spec, Topology};

/// The name of this machine among hosts.
const THIS_HOST: &str = "localhost";

/// The processes with their hosts, and the agents between; without a shape, agents follow the hosts. The leaves of a shape are
/// the members of all distributions with a program, one after the other; if the first has none, they are its members.
pub(crate) fn of(
    back_ends: &[ProcessDistribution],
    shape: Option<&Shape>,
) -> Result<(Vec<ProcessDistribution>, Option<Vec<AgentLayout>>), TreeError> {
    let mut distributions = back_ends.to_vec();
    let programs = distributions.iter().take_while(|one| one.exe.is_some()).count().max(1);
    let (Some(shape), Some(laid)) = (shape, distributions.get_mut(..programs)) else {
        return Ok((distributions, None));
    };
    let topology = match shape {
        Shape::Spec(spec) => over_hosts(laid, spec)?,
        Shape::Topology(topology) => Topology::clone(topology),
    };
    let numbers = numbers(laid, topology.members(), shape)?;
    let agents = Agents::of(&topology);
    let mut leaves = agents.iter().flat_map(|agent| iter::repeat_n(agent.host.as_str(), agent.members as usize));
    for (at, (one, number)) in laid.iter_mut().zip(numbers).enumerate() {
        let hosts = runs(leaves.by_ref().take(number as usize));
        if matches!(shape, Shape::Topology(_)) {
            check_hosts(at, one, &hosts)?;
        }
        one.hosts = hosts;
    }
    Ok((distributions, Some(agents)))
}

/// The tree that a word is on the hosts of these processes.
fn over_hosts(laid: &[ProcessDistribution], spec: &Spec) -> Result<Topology, TreeError> {
    let mut named = laid.iter().flat_map(|one| &one.hosts).map(|at| at.host.as_str()).peekable();
    let hosts = match named.peek() {
        None => HostSet::from_names([THIS_HOST]),
        Some(_) => HostSet::from_names(named),
    };
    let hosts = hosts.map_err(|error| TreeError::Shape(error.to_string()))?;
    Ok(spec.build_on(&hosts)?)
}

/// How many members each of these distributions has. One may leave that open: it has those that the others leave.
fn numbers(laid: &[ProcessDistribution], members: u32, shape: &Shape) -> Result<Vec<u32>, TreeError> {
    let asked = |one: &ProcessDistribution| one.hosts.iter().map(|at| u64::from(at.processes)).sum();
    let asked: Vec<u64> = laid.iter().map(asked).collect();
    let open = asked.iter().filter(|number| **number == 0).count();
    let sum: u64 = asked.iter().sum();
    let left = u64::from(members).checked_sub(sum).filter(|left| (*left > 0) == (open > 0));
    let topology = match shape {
        Shape::Spec(spec) => format!("the topology {spec}"),
        Shape::Topology(_) => "the topology".to_owned(),
    };
    match (left, open) {
        // Nobody asks for more than there are.
        (Some(left), 0 | 1) => Ok(asked.iter().map(|asked| if *asked > 0 { *asked } else { left } as u32).collect()),
        (_, 0) => Err(TreeError::Shape(format!(
            "{topology} has {members} members, and {} processes were asked for{}; give the hosts without numbers of processes, \
             or a topology that fits",
            added_up(&asked),
            by_program(laid, &asked)
        ))),
        (_, 1) => Err(TreeError::Shape(format!(
            "{topology} has {members} members, and {} processes were asked for{}, which leaves none for the process \
             distribution without a number; give lower numbers, or a topology with more members",
            added_up(&asked),
            by_program(laid, &asked)
        ))),
        _ => Err(TreeError::Shape(format!(
            "{open} process distributions share {topology} and do not say how many processes they have{}; give all but one of \
             them hosts with numbers of processes",
            by_program(laid, &asked)
        ))),
    }
}

/// `16 + 40 = 56`.
fn added_up(asked: &[u64]) -> String {
    let numbers: Vec<String> = asked.iter().filter(|asked| **asked > 0).map(u64::to_string).collect();
    let sum: u64 = asked.iter().sum();
    if numbers.len() > 1 { format!("{} = {sum}", numbers.join(" + ")) } else { sum.to_string() }
}

/// ` (16 of ./solver, 40 of ./viewer)`, where there are several programs.
fn by_program(laid: &[ProcessDistribution], asked: &[u64]) -> String {
    let program = |(one, asked): (&ProcessDistribution, &u64)| match asked {
        0 => format!("no number of {}", name(one)),
        asked => format!("{asked} of {}", name(one)),
    };
    let programs: Vec<String> = laid.iter().zip(asked).map(program).collect();
    if programs.len() > 1 { format!(" ({})", programs.join(", ")) } else { String::new() }
}

fn name(one: &ProcessDistribution) -> String {
    one.exe.as_ref().map_or_else(|| "members that attach".into(), |exe| exe.display().to_string())
}

/// Hosts one after the other, with how often each comes in succession.
fn runs<'a>(hosts: impl Iterator<Item = &'a str>) -> Vec<HostDistribution> {
    let mut runs: Vec<HostDistribution> = Vec::new();
    for host in hosts {
        match runs.last_mut().filter(|run| run.host == host) {
            Some(run) => run.processes += 1,
            None => runs.push(HostDistribution { host: host.to_owned(), processes: 1 }),
        }
    }
    runs
}

/// A topology that says where its members run may be given with the same hosts, and no others.
fn check_hosts(at: usize, asked: &ProcessDistribution, hosts: &[HostDistribution]) -> Result<(), TreeError> {
    let by_host = |hosts: &[HostDistribution]| {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        hosts.iter().for_each(|at| *counts.entry(at.host.clone()).or_default() += u64::from(at.processes));
        counts
    };
    let (wanted, given) = (by_host(&asked.hosts), by_host(hosts));
    if wanted.is_empty() || wanted == given {
        return Ok(());
    }
    let shown = |counts: BTreeMap<String, u64>| {
        let hosts: Vec<String> = counts.iter().map(|(host, count)| format!("{count} on {host}")).collect();
        hosts.join(", ")
    };
    Err(TreeError::Shape(format!(
        "a topology says itself where its members run: process distribution {} ({}) asks for {}, and has {}; give the program \
         without hosts, or with those",
        at + 1,
        name(asked),
        shown(wanted),
        shown(given)
    )))
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
    let programs = distributions.iter().take_while(|one| one.exe.is_some()).count().max(1);
    let besides = together(distributions.get(programs..).unwrap_or_default()) as usize;
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
            widest(&distributions, &SessionOptions::default().layout(layout.unwrap()))
        };
        assert_eq!([wide("1x150"), wide("200x1"), wide("2x30x4"), wide("2x3x40")], [150, 200, 30, 40]);
        let options = SessionOptions::default().fanout(7).members_per_agent(50);
        let program = ProcessDistribution::new("true", ["-"]);
        assert_eq!(widest(&[program.clone().on("a", 3).on("b", 20)], &options), 27);
        assert_eq!(widest(&[program.clone().on("a", 300)], &options), 57);
        let besides = ProcessDistribution::attached().on("a", 9).on("b", 2);
        assert_eq!(widest(&[program.clone().on("a", 3), besides.clone()], &options), 19);
        let (distributions, layout) = of(&[program, besides], Some(&"2x3".parse().unwrap())).unwrap();
        assert_eq!(widest(&distributions, &options.layout(layout.unwrap())), 12);
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

    fn program(name: &str, hosts: &[(&str, u32)]) -> ProcessDistribution {
        let program = ProcessDistribution::new(name, ["-"]);
        hosts.iter().fold(program, |program, (host, processes)| program.on(*host, *processes))
    }

    /// Where the processes of each distribution are.
    fn shared(programs: &[ProcessDistribution], shape: &Shape) -> Result<Vec<String>, String> {
        let (distributions, _) = of(programs, Some(shape)).map_err(|error| error.to_string())?;
        let host = |at: &HostDistribution| format!("{}:{}", at.host, at.processes);
        let shown = |one: &ProcessDistribution| one.hosts.iter().map(host).collect::<Vec<_>>().join(" ");
        Ok(distributions.iter().map(shown).collect())
    }

    #[test]
    fn several_programs_have_the_leaves_one_after_the_other() {
        let shape: Shape = "2x3".parse().unwrap();
        let of_word = |programs: &[ProcessDistribution]| shared(programs, &shape);
        let two = [program("./a", &[("n1", 4)]), program("./b", &[("n2", 2)])];
        assert_eq!(of_word(&two).unwrap(), ["n1:3 n2:1", "n2:2"], "the topology says where");
        let rest =
            [program("./a", &[("localhost", 1)]), program("./b", &[]), ProcessDistribution::attached().on("n9", 1)];
        assert_eq!(of_word(&rest).unwrap(), ["localhost:1", "localhost:5", "n9:1"]);
        let file = Topology::parse("front-end on a\n  agents on b,c\n    members 2\n", None).unwrap().into();
        let of_file = |programs: &[ProcessDistribution]| shared(programs, &file);
        let named = [program("./a", &[("b", 2), ("c", 1)]), program("./b", &[("c", 1)])];
        assert_eq!(of_file(&named).unwrap(), ["b:2 c:1", "c:1"]);
        assert_eq!(of_file(&[named[0].clone(), program("./b", &[])]).unwrap(), ["b:2 c:1", "c:1"]);
        let crossed = [program("./a", &[("c", 2)]), program("./b", &[("b", 2)])];
        assert_eq!(
            of_file(&crossed).unwrap_err(),
            "a topology says itself where its members run: process distribution 1 (./a) asks for 2 on c, and has 2 on b; \
             give the program without hosts, or with those"
        );
    }

    #[test]
    fn what_does_not_add_up_is_said_with_what_adds_up_to_what() {
        let shape: Shape = "4x16".parse().unwrap();
        let refused = |programs: &[ProcessDistribution]| shared(programs, &shape).unwrap_err();
        let two = |first, second| [program("./a", &[("localhost", first)]), program("./b", &[("localhost", second)])];
        assert_eq!(
            refused(&two(16, 40)),
            "the topology 4x16 has 64 members, and 16 + 40 = 56 processes were asked for (16 of ./a, 40 of ./b); give the hosts \
             without numbers of processes, or a topology that fits"
        );
        assert!(refused(&two(60, 5)).contains("60 + 5 = 65 processes"));
        assert!(
            refused(&two(64, 0))
                .contains("64 processes were asked for (64 of ./a, no number of ./b), which leaves none")
        );
        assert!(refused(&two(65, 0)).contains("which leaves none"));
        assert!(
            refused(&two(0, 0)).starts_with("2 process distributions share the topology 4x16 and do not say how many")
        );
    }
}
