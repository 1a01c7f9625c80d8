//! The keeper: a process that sees to it that nothing of an agent is left, however the agent ends.
//!
//! An agent consists of two processes. The one that was started (by ssh, srun or a parent agent) becomes the *keeper*;
//! its forked child, the *worker*, is the agent. Both are subreapers: what a member leaves behind, daemons that
//! started sessions of their own too, becomes a child of the worker, and if the worker is gone, of the keeper.
//!
//! - The worker ends, also by SIGKILL: the keeper kills and reaps all that is left and exits with the worker's status.
//! - The keeper ends, also by SIGKILL: the worker sees its pidfd become readable, ends everything
//!   ([`end_descendants`]), and exits.
//! - Signals that ask the keeper to end, stop or look up are passed to the worker.
//!
//! The keeper holds no descriptor of anybody: its standard streams are `/dev/null`, all others are closed. Who kills
//! both at the same instant is only met by the members' own bond to the worker's life.

use std::ffi::c_int;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};

use super::descendants::end_descendants;
use super::signals;

/// What the worker gets to know.
#[derive(Debug)]
pub struct Worker {
    /// Readable when the keeper is gone.
    pub keeper: OwnedFd,
}

/// The keeper's exit status when it could not end everything.
pub const STATUS_LEFT_OVER: u8 = 125;

/// What shells add to a signal's number.
const STATUS_SIGNALLED: i32 = 128;

/// The signals that the keeper passes on.
const PASSED_ON: [Signal; 6] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// Makes this process the keeper of a new one, and returns in the new one only. To be called first of all: before any
/// thread, any signal handler and any child exists.
///
/// # Errors
/// If this process has several threads already, or no child can be made.
pub fn keep() -> io::Result<Worker> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        let reason = "a keeper is made before any thread: only the calling one would live on in the worker";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    // A process that inherits "ignored" never learns how its children ended.
    signals::set_default(libc::SIGCHLD);
    let keeper = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
    become_subreaper()?;
    let before = signals::block_all()?;
    // SAFETY: there is no other thread that could hold a lock now, so the child can do whatever this process could.
    match unsafe { libc::fork() } {
        0 => {
            signals::set_mask(&before)?;
            become_subreaper()?;
            Ok(Worker { keeper })
        }
        pid => match Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw) {
            Some(worker) => run(worker),
            None => {
                let error = io::Error::last_os_error();
                signals::set_mask(&before)?;
                Err(error)
            }
        },
    }
}

fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// The keeper's whole life.
fn run(worker: Pid) -> ! {
    // Better a keeper that holds descriptors than none.
    let _ = let_go_of_descriptors();
    let status = watch(worker);
    let status = end_descendants(&[]).map_or(i32::from(STATUS_LEFT_OVER), |_| status);
    // SAFETY: ends this process without running what the worker, the owner of this memory's contents, will run.
    unsafe { libc::_exit(status) }
}

/// Passes signals on until the worker has ended; its exit status.
fn watch(worker: Pid) -> c_int {
    loop {
        let Ok(signal) = signals::wait() else { return c_int::from(STATUS_LEFT_OVER) };
        if let Some(signal) = PASSED_ON.iter().find(|passed_on| passed_on.as_raw() == signal) {
            // The worker is not reaped yet, so the id is its own.
            let _ = rustix::process::kill_process(worker, *signal);
        }
        // One SIGCHLD can stand for many children.
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid == worker {
                return exit_status(status);
            }
        }
    }
}

fn exit_status(status: WaitStatus) -> c_int {
    let signalled = status.terminating_signal().map(|signal| STATUS_SIGNALLED + signal);
    status.exit_status().or(signalled).unwrap_or(c_int::from(STATUS_LEFT_OVER))
}

/// Puts `/dev/null` in the place of the standard streams and closes everything else.
fn let_go_of_descriptors() -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    for place in 0..3 {
        // SAFETY: the standard streams are nobody's property; they stay open, on something else.
        let mut stream = std::mem::ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(place) });
        rustix::io::dup2(&null, &mut stream)?;
    }
    std::mem::forget(null);
    let others: Vec<i32> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2)
        .collect();
    for descriptor in others {
        // SAFETY: what owns these descriptors is never touched again in this process: `run` does not return. The one
        // that listed them is closed already, for which the kernel only says that it is.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}
