//! The processes of the test that runs: agents, members, and whether any are left.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::harness::processes::{MARKER, describe, marked, status, wait_until_gone, words};

/// Between two looks at what no event tells of.
const LOOK: Duration = Duration::from_millis(20);

/// Processes of this test other than itself.
pub(crate) fn others() -> Vec<Pid> {
    let mut found = marked(&std::env::var(MARKER).unwrap_or_default());
    found.retain(|pid| *pid != rustix::process::getpid());
    found
}

/// The parent of a process.
pub(crate) fn parent(pid: Pid) -> Option<Pid> {
    Pid::from_raw(status(pid)?.1)
}

/// Keepers and workers of the local agents of this test: an agent is two processes, the worker the child of the keeper.
pub(crate) fn agents() -> Vec<(Pid, Pid)> {
    let all: Vec<Pid> =
        others().into_iter().filter(|pid| words(*pid).get(1).is_some_and(|word| word == "agent")).collect();
    let mut agents: Vec<(Pid, Pid)> = all
        .iter()
        .filter_map(|worker| Some((parent(*worker)?, *worker)))
        .filter(|(keeper, worker)| all.contains(keeper) && words(*keeper) == words(*worker))
        .collect();
    // Below an agent there may be another: its keeper is a child of a worker.
    let workers: Vec<Pid> = agents.iter().map(|(_, worker)| *worker).collect();
    agents.retain(|(keeper, _)| !workers.contains(keeper));
    agents
}

/// Waits until something is there.
pub(crate) fn wait_until<R>(what: &str, deadline: Instant, look: impl Fn() -> Option<R>) -> R {
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "did not happen in time: {what}");
        std::thread::park_timeout(LOOK);
    }
}

/// Says that every other process of this test is gone, or soon will be.
pub(crate) fn assert_alone(within: Duration) {
    let left = wait_until_gone(others, Instant::now() + within);
    assert!(left.is_empty(), "processes are left after {} s:\n{}", within.as_secs_f64(), describe(&left));
}
