//! What agents and members hold in memory, from `/proc`.

use std::collections::HashMap;
use std::fs;

use super::LaunchBenchError;
use super::floor::Floor;
use super::program::Program;
use super::rows::LaunchRow;
use super::tree::Tree;

/// Members that are looked at; the others are like them.
const SAMPLE: usize = 64;

/// Kibibytes in a megabyte, as the kernel counts.
const KIB_IN_MB: f64 = 1024.0;

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
    let floor = Floor::start(program, members)?;
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
    let tree = Tree::start(program, members)?;
    let processes = descendants(false);
    let agents: Vec<u32> = processes.iter().copied().filter(|id| is_agent(*id)).collect();
    let agent = agents.iter().map(|id| field(*id, "Rss:")).fold(0.0, f64::max);
    let agents = agents.iter().map(|id| field(*id, "Anonymous:")).sum();
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

fn is_agent(id: u32) -> bool {
    let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).nth(1) == Some(b"agent")
}

fn mean(processes: &[u32], name: &str) -> f64 {
    let sum: f64 = processes.iter().map(|id| field(*id, name)).sum();
    sum / processes.len().max(1) as f64
}

/// A field of `smaps_rollup` in KiB; 0 for a process that is gone.
fn field(id: u32, name: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

/// The processes below this one. The spawners of the floor have ended, so their children belong to the first process by
/// now: with `orphans` all of its children count too, and the caller chooses by the program they run.
fn descendants(orphans: bool) -> Vec<u32> {
    let ids: Vec<u32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let parents: HashMap<u32, u32> = ids.iter().filter_map(|id| Some((*id, parent(*id)?))).collect();
    let own = std::process::id();
    let is_below = |id: &u32| {
        let mut at = *id;
        while let Some(parent) = parents.get(&at) {
            if *parent == own {
                return true;
            }
            at = *parent;
        }
        orphans && parents.get(id) == Some(&1)
    };
    ids.into_iter().filter(is_below).collect()
}

fn parent(id: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name stands in parentheses and may hold anything, also parentheses.
    text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
