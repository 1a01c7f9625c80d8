//! The processes of the test that runs: agents, members, and whether any are left.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::harness::processes::{MARKER, describe, marked, name, status, wait_until_gone};

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
    let workers = others().into_iter().filter(|pid| name(*pid) == "banyan-agent");
    let agents = workers.filter_map(|worker| Some((parent(worker)?, worker)));
    agents.filter(|(keeper, _)| name(*keeper) == "banyan-keeper").collect()
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
