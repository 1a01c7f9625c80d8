//! What agents and members hold in memory, from `/proc`.

use std::fs;

use super::LaunchBenchError;
use super::floor::LaunchFloor;
use super::program::Program;
use super::rows::LaunchRow;
use super::tree::LaunchedTree;
use crate::processes::{KIB_IN_MB, descendants, is_agent, memory};

/// Members that are looked at; the others are like them.
const SAMPLE: usize = 64;

/// The memory of one session, in KiB.
struct Held {
    /// Resident in one agent, with the program's text and libraries, which it may share with others.
    agent: f64,
    /// Of all agents, what is theirs alone.
    agents: f64,
    /// Proportional share of one member: what it shares with the others counts once.
    member: f64,
}

/// An agent alone and for each member, and what a member holds more than one without the library.
pub(super) fn rows(program: &Program, members: u32) -> Result<Vec<LaunchRow>, LaunchBenchError> {
    let alone = of_session(program, 1)?;
    let many = of_session(program, members)?;
    let floor = LaunchFloor::start(program, members)?;
    let bare = mean(&sample(&descendants(true), &program.path.to_string_lossy()), "Pss:");
    drop(floor);
    let row = |op, kib: f64| LaunchRow::memory("banyan", op, &program.label, members, kib / KIB_IN_MB);
    let more = f64::from(members.max(2) - 1);
    Ok(vec![
        row("agent, one member", alone.agent),
        row("agents, each further member", (many.agents - alone.agents) / more),
        row("member", many.member),
        row("member without the library", bare),
    ])
}

fn of_session(program: &Program, members: u32) -> Result<Held, LaunchBenchError> {
    let tree = LaunchedTree::start(program, members)?;
    let processes = descendants(false);
    let agents: Vec<u32> = processes.iter().copied().filter(|id| is_agent(*id)).collect();
    let agent = agents.iter().map(|id| memory(*id, "Rss:")).fold(0.0, f64::max);
    let agents = agents.iter().map(|id| memory(*id, "Anonymous:")).sum();
    let member = mean(&sample(&processes, &program.path.to_string_lossy()), "Pss:");
    tree.ended()?;
    Ok(Held { agent, agents, member })
}

/// Some of those that run this program and are no agents.
fn sample(processes: &[u32], program: &str) -> Vec<u32> {
    let runs = |id: &&u32| {
        fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|path| path.to_string_lossy() == program) && !is_agent(**id)
    };
    processes.iter().filter(runs).take(SAMPLE).copied().collect()
}

fn mean(processes: &[u32], name: &str) -> f64 {
    let sum: f64 = processes.iter().map(|id| memory(*id, name)).sum();
    sum / processes.len().max(1) as f64
}
