//! What the demo does, act by act, and what it finds out.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use banyan_boot::{ProcessDistribution, RankSet};
use banyan_ndr::Record;
use banyan_stack::{Frame, Kind, Report, SamplerOptions, Target, take};
use banyan_tree::{Network, NetworkOptions, NodeId, Stream, TreeError};

use super::count::{self, Numbers, WaveTally};
use super::member::{GO_ON, LOST, NUMBERED, RESIDUALS, ROLE, STEP, Times, WAITING, WHO};
use crate::failure::Failure;
use crate::log;

/// The tree: agents, and members below each.
const SHAPE: &str = "4x16";

/// How long anything may take. Only a broken machine takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long processes have to end. They need milliseconds.
const FAREWELL: Duration = Duration::from_secs(5);

/// How often the stacks are looked at, until everyone stands where it will stay.
const LOOKS: u32 = 100;

/// Waves of the reduction.
const WAVES: u64 = 20_000;

/// Waves of the reduction during which an agent is killed, at a third.
const WAVES_WITH_A_DEATH: u64 = 30_000;

/// The scenery: a running network.
pub(super) struct Stage {
    network: Network,
    orders: Stream,
    residuals: Stream,
    /// Of each rank, its process and the one that started it.
    processes: Vec<Process>,
}

/// A member's process, and its agent's.
#[derive(Debug, Clone, Copy)]
struct Process {
    member: u32,
    agent: u32,
}

/// The tree is there.
pub(super) struct Grown {
    pub(super) members: u32,
    pub(super) took: Duration,
    pub(super) tree: Tree,
}

/// The job hangs.
pub(super) struct Hung {
    pub(super) report: Report,
    pub(super) took: Duration,
    /// Those who do what few others do; or why nobody can know.
    pub(super) suspects: Result<RankSet, String>,
}

/// Everyone's answers became one.
pub(super) struct Reduced {
    pub(super) waves: u64,
    pub(super) took: Duration,
    pub(super) last: ResidualSummary,
    pub(super) members: RankSet,
}

/// An agent was killed.
pub(super) struct Healed {
    pub(super) agent: u32,
    pub(super) orphans: RankSet,
    pub(super) tree: Tree,
    pub(super) count: WaveTally,
    /// The longest time between two waves.
    pub(super) pause: Duration,
}

/// Which members are below which agent; those below the front-end itself are at [`NodeId::ROOT`].
pub(super) type Tree = BTreeMap<NodeId, RankSet>;

/// What comes of the residuals.
#[derive(Record)]
pub(super) struct ResidualSummary {
    pub(super) cells: u64,
    pub(super) mean: f64,
    pub(super) worst: f64,
    #[record(rename = "worst.who")]
    pub(super) who: u32,
}

const REDUCTION: &str = "sum(cells) as cells, avg(residual) as mean, max(residual) as worst";

/// What comes of asking who is there: in the order of ranks.
#[derive(Record)]
struct Everyone {
    #[record(rename = "concat(process)")]
    processes: Vec<u32>,
    #[record(rename = "concat(agent)")]
    agents: Vec<u32>,
}

impl Stage {
    /// Starts everyone.
    pub(super) fn set() -> Result<(Stage, Grown), Failure> {
        let begin = Instant::now();
        let members = ProcessDistribution::new(std::env::current_exe()?, [ROLE]);
        let mut options = NetworkOptions::default().topology(SHAPE.parse().map_err(Failure::new)?);
        options.session.agent_log = log::of_agents();
        let network =
            Network::launch(&members, &options).map_err(|error| Failure::new(error).within("the tree did not grow"))?;
        let took = begin.elapsed();
        let everyone = network.everyone();
        let orders = network.open(&everyone, "concat(process), concat(agent)").map_err(Failure::new)?;
        let residuals = network.open(&everyone, REDUCTION).map_err(Failure::new)?;
        let mut stage = Stage { network, orders, residuals, processes: Vec::new() };
        stage.processes = stage.ask_who().map_err(Failure::new)?;
        let grown = Grown { members: stage.network.session().size(), took, tree: stage.tree() };
        Ok((stage, grown))
    }

    fn ask_who(&self) -> Result<Vec<Process>, TreeError> {
        self.orders.send(WHO, &Times { times: 1 })?;
        self.hear_who()
    }

    fn hear_who(&self) -> Result<Vec<Process>, TreeError> {
        let all: Everyone = self.orders.recv_timeout(Instant::now() + PATIENCE)?.read()?;
        Ok(all.processes.into_iter().zip(all.agents).map(|(member, agent)| Process { member, agent }).collect())
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        for place in self.network.nodes() {
            if let Some(rank) = place.rank {
                tree.entry(place.parent).or_default().insert(rank);
            }
        }
        tree
    }

    /// Starts the job, finds out who is guilty, and lets it go on.
    pub(super) fn hang(&mut self) -> Result<Hung, Failure> {
        self.orders.send(STEP, &Times { times: 1 }).map_err(Failure::new)?;
        self.network.flush().map_err(Failure::new)?;
        let targets: Vec<Target> = (0..)
            .zip(&self.processes)
            .map(|(rank, process)| Target { pid: process.member, rank, command: ROLE.into() })
            .collect();
        let mut looks = 0;
        let hung = loop {
            let begin = Instant::now();
            let report = take(&targets, &SamplerOptions::default())?;
            looks += 1;
            if has_settled(&report) || looks == LOOKS {
                break Hung { took: begin.elapsed(), suspects: suspects(&report), report };
            }
        };
        self.orders.send(GO_ON, &Times { times: 1 }).map_err(Failure::new)?;
        self.hear_who().map_err(Failure::new)?;
        Ok(hung)
    }

    /// Lets everyone send, and takes what comes of it.
    pub(super) fn reduce(&mut self) -> Result<Reduced, Failure> {
        let begin = Instant::now();
        self.residuals.send(RESIDUALS, &Times { times: WAVES }).map_err(Failure::new)?;
        let mut last = None;
        for _ in 0..WAVES {
            last = Some(self.residuals.recv_timeout(begin + PATIENCE).map_err(Failure::new)?);
        }
        let took = begin.elapsed();
        let last = last.ok_or_else(|| Failure::new("no wave came"))?;
        let members = last.members().clone();
        Ok(Reduced { waves: WAVES, took, last: last.read().map_err(Failure::new)?, members })
    }

    /// Kills the agent of the rank that hung, while everyone sends.
    pub(super) fn heal(&mut self) -> Result<Healed, Failure> {
        let agent = self.processes.get(LOST as usize).ok_or_else(|| Failure::new("members are missing"))?.agent;
        let orphans = (0..).zip(&self.processes).filter(|(_, process)| process.agent == agent).map(|(rank, _)| rank);
        let orphans: RankSet = orphans.collect();
        let numbered = self.network.open(&self.network.everyone(), count::REDUCTION).map_err(Failure::new)?;
        let begin = Instant::now();
        numbered.send(NUMBERED, &Times { times: WAVES_WITH_A_DEATH }).map_err(Failure::new)?;
        let mut count = WaveTally::new(self.processes.len() as u64, WAVES_WITH_A_DEATH);
        let (mut pause, mut last, mut is_over) = (Duration::ZERO, begin, false);
        while !is_over {
            if count.waves == WAVES_WITH_A_DEATH / 3 {
                kill(agent)?;
                last = Instant::now();
            }
            let wave = numbered.recv_timeout(begin + PATIENCE).map_err(Failure::new)?;
            let numbers: Numbers = wave.read().map_err(Failure::new)?;
            is_over = count.take(wave.members().len(), &numbers);
            if count.waves > WAVES_WITH_A_DEATH / 3 {
                pause = pause.max(last.elapsed());
                last = Instant::now();
            }
        }
        if let Some(wave) = numbered.try_recv().map_err(Failure::new)? {
            count.take_surplus(wave.members().len());
        }
        Ok(Healed { agent, orphans, tree: self.tree(), count, pause })
    }

    /// Ends everything; how many processes are left.
    pub(super) fn clear(self) -> usize {
        let Stage { network, orders, residuals, processes } = self;
        drop((orders, residuals, network));
        let all: BTreeSet<u32> = processes.iter().flat_map(|process| [process.member, process.agent]).collect();
        let deadline = Instant::now() + FAREWELL;
        loop {
            let left = all.iter().filter(|process| Path::new(&format!("/proc/{process}")).exists()).count();
            if left == 0 || Instant::now() > deadline {
                return left;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Whether everyone whose stack can be read has come to where it waits.
fn has_settled(report: &Report) -> bool {
    let waits = |frame: &&Frame| WAITING.iter().any(|name| frame.function.contains(name));
    report.tree.stacks().iter().all(|(stack, ..)| stack.iter().any(waits))
}

/// The smallest class, if the system permits to look at everyone.
fn suspects(report: &Report) -> Result<RankSet, String> {
    match report.unread().find(|(_, _, unread)| unread.kind == Kind::Forbidden) {
        Some((_, _, unread)) => Err(unread.why.clone()),
        None => Ok(report.tree.classes().first().map(|class| class.ranks.clone()).unwrap_or_default()),
    }
}

fn kill(process: u32) -> io::Result<()> {
    let process = rustix::process::Pid::from_raw(process.cast_signed()).ok_or(io::ErrorKind::NotFound)?;
    Ok(rustix::process::kill_process(process, rustix::process::Signal::KILL)?)
}
