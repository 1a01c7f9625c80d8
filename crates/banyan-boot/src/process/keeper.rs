//! The keeper: a process that sees to it that nothing of an agent is left, however the agent ends.
//!
//! An agent consists of two processes. The one that was started (by ssh, srun or a parent agent) becomes the *keeper*;
//! its forked child, the *worker*, is the agent. Both are subreapers: what a member leaves behind, daemons that
//! started sessions of their own too, becomes a child of the worker, and if the worker is gone, of the keeper.
//!
//! - The worker ends, also by SIGKILL: the keeper kills and reaps all that is left and exits with the worker's status. A
//!   worker that has done its work may ask it [not to](STATUS_SPARED).
//!   With a guard ([`keep_guarded`]) that is put off if the worker had not done its work, however it died: what is left
//!   lives on ([`guard`](super::guard)) until the guard has ended.
//! - The keeper ends, also by SIGKILL: the worker sees the end of their socket, and decides. What nobody would guard it
//!   ends ([`end_descendants`]).
//! - A signal asks the keeper to end: it asks its worker, which ends everything in good order. Asked again, or when that
//!   takes too long, it kills its worker, and all that is left. Then nothing lives on.
//! - Other signals that mean something to the worker are passed on.
//!
//! The keeper holds no descriptor of anybody but what its worker leaves it to guard: its standard streams are `/dev/null`,
//! all others are closed. Who kills both at the same instant is only met by the members' own bond to the worker's life,
//! which members that are to be guarded have not got.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use tracing::{info, warn};

use super::descendants::end_descendants;
use super::guard::{Guard, stand_guard};
use super::keeper_socket::{Handover, KeeperSocket, will};
use super::signals;
use super::title::{Role, set_title};
use crate::agent_log;

/// How long a worker may take to end when it is asked to: longer than members have between SIGTERM and SIGKILL.
const END_PATIENCE: Duration = Duration::from_secs(20);

/// The keeper's exit status when it could not end everything.
pub const STATUS_LEFT_OVER: u8 = 125;

/// The exit status of a worker that has done its work, and whose keeper is to leave alone what members left behind.
pub(crate) const STATUS_SPARED: u8 = 121;

/// What shells add to a signal's number.
const STATUS_SIGNALLED: i32 = 128;

/// The signals that the keeper passes on, …
const PASSED_ON: [Signal; 2] = [Signal::USR1, Signal::USR2];

/// … and those that ask it to end. They are passed on as well if the worker does not listen to its keeper yet.
pub(super) const ENDS: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

/// Makes this process the keeper of a new one, and returns in the new one only. To be called first of all: before any
/// thread, any signal handler and any child exists.
///
/// # Errors
/// If this process has several threads already, or no child can be made.
pub fn keep() -> io::Result<KeeperSocket> {
    split(None)
}

/// As [`keep`]; when the worker dies, the keeper runs `guard` before it ends what is left. What the worker leaves with its
/// will is what is guarded: without a word in it, or once that is revoked, nothing is.
///
/// # Errors
/// As [`keep`].
pub(crate) fn keep_guarded(guard: Guard) -> io::Result<KeeperSocket> {
    split(Some(guard))
}

fn split(guard: Option<Guard>) -> io::Result<KeeperSocket> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        let reason = "a keeper is made before any thread: only the calling one would live on in the worker";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    // A process that inherits "ignored" never learns how its children ended.
    signals::set_default(libc::SIGCHLD);
    let (will, handover) = will()?;
    become_subreaper()?;
    let before = signals::block_all()?;
    match fork() {
        Ok(None) => {
            signals::set_mask(&before)?;
            become_subreaper()?;
            set_title(Role::Agent, "");
            Ok(will)
        }
        Ok(Some(worker)) => run(worker, handover, guard),
        Err(error) => {
            signals::set_mask(&before)?;
            Err(error)
        }
    }
}

/// Makes a copy of this process, which has one thread; `None` in the copy.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: there is no other thread that could hold a lock now, so the child can do whatever this process could:
    // `split` has made sure of it, and the keeper starts none.
    match unsafe { libc::fork() } {
        0 => Ok(None),
        pid => Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw).map(Some).ok_or_else(io::Error::last_os_error),
    }
}

/// Ends this process without running what its other half, the owner of this memory's contents, will run.
pub(super) fn vanish(status: c_int) -> ! {
    // SAFETY: nothing of this process is used afterwards.
    unsafe { libc::_exit(status) }
}

fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// The keeper's whole life.
fn run(worker: Pid, mut handover: Handover, guard: Option<Guard>) -> ! {
    set_title(Role::Keeper, "");
    // Better a keeper that holds descriptors than none.
    let _ = let_go_of_descriptors(handover.as_fd().as_raw_fd());
    let status = signals::open().and_then(|signals| {
        let end = watch(worker, &signals, &mut handover)?;
        if let (true, Some(guard)) = (handover.is_whole(), guard) {
            // What cannot be guarded is ended at once.
            let _ = stand_guard(handover, guard, &signals, end.is_asked);
        }
        Ok(exit_status(end.status))
    });
    let status = status.unwrap_or(c_int::from(STATUS_LEFT_OVER));
    if status == c_int::from(STATUS_SPARED) {
        vanish(0);
    }
    let ended = end_descendants(&[]);
    match &ended {
        Ok(0) => {}
        Ok(ended) => info!(ended, "ended what was left"),
        Err(error) => warn!(%error, "some processes are left"),
    }
    vanish(ended.map_or(i32::from(STATUS_LEFT_OVER), |_| status))
}

/// How a worker ended.
struct End {
    status: WaitStatus,
    /// The keeper had been asked to end.
    is_asked: bool,
}

/// Takes what the worker leaves, and asks it to end when the keeper is asked to, until the worker has ended.
fn watch(worker: Pid, signals: &OwnedFd, handover: &mut Handover) -> io::Result<End> {
    // The worker is not reaped yet, so the id is its own.
    let tell = |signal: Signal| _ = rustix::process::kill_process(worker, signal);
    let (mut asked, mut more_comes): (Option<Instant>, bool) = (None, true);
    loop {
        // Before the look at its children: a signal for both reaches the keeper before the worker's end does.
        while let Some(signal) = signals::take(signals)? {
            PASSED_ON.iter().filter(|passed_on| passed_on.as_raw() == signal).for_each(|signal| tell(*signal));
            let Some(signal) = ENDS.iter().find(|ends| ends.as_raw() == signal) else { continue };
            info!(signal = signal.as_raw(), "asked to end");
            match asked.replace(Instant::now()) {
                None if handover.ask_to_end() => {}
                None => tell(*signal),
                Some(_) => tell(Signal::KILL),
            }
        }
        // One SIGCHLD can stand for many children.
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid == worker {
                info!(status = exit_status(status), "the agent has ended");
                handover.take();
                return Ok(End { status, is_asked: asked.is_some() });
            }
        }
        let left = asked.map(|asked| (asked + END_PATIENCE).saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            asked = Some(Instant::now());
            tell(Signal::KILL);
        }
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let leaves = more_comes.then(|| handover.as_fd());
        let watched = std::iter::once(signals.as_fd()).chain(leaves);
        let mut watched: Vec<PollFd<'_>> = watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut watched, left.as_ref()))?;
        if more_comes {
            let is_named = handover.host.is_some();
            more_comes = handover.take();
            if let (false, Some(host)) = (is_named, &handover.host) {
                set_title(Role::Keeper, &format!("of {host}"));
            }
            if let (Some((filter, stderr)), Some(host)) = (handover.log.take(), &handover.host)
                && rustix::stdio::dup2_stderr(stderr).is_ok()
            {
                agent_log::begin(&filter, host);
                info!(worker = worker.as_raw_pid(), "keeps an agent");
            }
        }
    }
}

fn exit_status(status: WaitStatus) -> c_int {
    let signalled = status.terminating_signal().map(|signal| STATUS_SIGNALLED + signal);
    status.exit_status().or(signalled).unwrap_or(c_int::from(STATUS_LEFT_OVER))
}

/// Puts `/dev/null` in the place of the standard streams and closes everything else but one.
fn let_go_of_descriptors(but: RawFd) -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    for place in 0..3 {
        // SAFETY: the standard streams are nobody's property; they stay open, on something else.
        let mut stream = std::mem::ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(place) });
        rustix::io::dup2(&null, &mut stream)?;
    }
    std::mem::forget(null);
    let others: Vec<RawFd> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2 && *descriptor != but)
        .collect();
    for descriptor in others {
        // SAFETY: what owns these descriptors is never touched again in this process: `run` does not return. The one
        // that listed them is closed already, for which the kernel only says that it is.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}
