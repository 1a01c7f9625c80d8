//! Ending members: politely, then not, and always whole process groups.
//!
//! A member leads a process group of its own. Its id stays taken as long as its exit state has not been taken, even if
//! it has ended; so every signal here first asks whether that is still so, and never reaches a stranger that got the
//! same id. For that, exit states of members are taken by the thread that signals them.
//!
//! What left its group is not reached from here; [`end_descendants`](super::end_descendants) is.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions};

use super::exit::ExitState;
use super::spawn::Child;

/// How long a killed process may take to end before it counts as lost.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// Sends a signal to a member and its whole group. `false` if its exit state has been taken: there is nothing left
/// that could be addressed.
///
/// # Errors
/// If the kernel refuses, for example because the member runs as another user now.
pub fn signal_group(child: &Child, signal: Signal) -> io::Result<bool> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match rustix::process::waitid(WaitId::PidFd(child.pidfd.as_fd()), look) {
        Ok(_) => {}
        Err(Errno::CHILD) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    match rustix::process::kill_process_group(child.pid, signal) {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Ends members and takes their exit states, in the same order: SIGTERM to each group, `grace` to end by themselves,
/// then SIGKILL to each group, also to those of members that ended and left others behind.
pub fn end_members(children: &[Child], grace: Duration) -> Vec<ExitState> {
    // A member that cannot be signalled is one that does not end, which is what is reported then.
    children.iter().for_each(|child| _ = signal_group(child, Signal::TERM));
    wait_for_all(children, grace);
    children.iter().for_each(|child| _ = signal_group(child, Signal::KILL));
    wait_for_all(children, KILL_PATIENCE);
    children.iter().map(take).collect()
}

fn take(child: &Child) -> ExitState {
    match ExitState::take(child.pidfd.as_fd()) {
        Ok(Some(state)) => state,
        Ok(None) => ExitState::Lost(format!("process {:?} does not end by SIGKILL", child.pid)),
        Err(error) => ExitState::Lost(format!("its exit state was taken by somebody else ({error})")),
    }
}

/// Returns when all have ended or the time is over.
fn wait_for_all(children: &[Child], time: Duration) {
    let deadline = Instant::now() + time;
    let mut running: Vec<&Child> = children.iter().collect();
    while !running.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(timeout) = Timespec::try_from(left) else { return };
        let mut ends: Vec<PollFd<'_>> = running.iter().map(|child| PollFd::new(&child.pidfd, PollFlags::IN)).collect();
        match rustix::event::poll(&mut ends, Some(&timeout)) {
            Ok(0) => return,
            Ok(_) => {
                let mut ended = ends.iter().map(|end| !end.revents().is_empty()).collect::<Vec<_>>().into_iter();
                running.retain(|_| !ended.next().unwrap_or(false));
            }
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
