//! Processes that somebody else started: whether they have ended, and how, as far as the kernel says so.
//!
//! Only a parent is told how its child ended. Others learn it from the process's descriptor since Linux 6.15, once the parent
//! has been told; before, only from `/proc`, and only until then.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};

use super::exit::ExitState;

/// The kernel's `PIDFD_GET_INFO`: it reads and writes 64 bytes.
const GET_INFO: libc::c_ulong = 0xc040_ff0b;

/// Asks for the exit status, and says that it is there.
const INFO_EXIT: u64 = 1 << 3;

/// The kernel's `struct pidfd_info`, first version.
#[repr(C)]
#[derive(Debug, Default)]
struct Info {
    mask: u64,
    control_group: u64,
    /// Process, thread group and parent; users and groups.
    numbers: [u32; 11],
    exit_code: i32,
}

/// A process that somebody else started.
#[derive(Debug)]
pub(crate) struct Stranger {
    pub(crate) pid: Pid,
    pidfd: OwnedFd,
}

impl Stranger {
    /// The process that has this number now, unless it cannot be watched.
    pub(crate) fn watch(pid: Pid) -> Option<Stranger> {
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
        Some(Stranger { pid, pidfd })
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        let mut ends = [PollFd::new(&self.pidfd, PollFlags::IN)];
        rustix::event::poll(&mut ends, Some(&Timespec::default())).is_ok_and(|ended| ended > 0)
    }

    /// How it has ended; `None` if it has not, or nobody says how.
    pub(crate) fn exit_state(&self) -> Option<ExitState> {
        if !self.has_ended() {
            return None;
        }
        let status = self.status().or_else(|| zombie_status(self.pid))?;
        let state = match (libc::WIFEXITED(status), libc::WIFSIGNALED(status)) {
            (true, _) => ExitState::Exited(libc::WEXITSTATUS(status) as u8),
            (_, true) => {
                let signal = u8::try_from(libc::WTERMSIG(status)).ok()?;
                ExitState::Signalled { signal, core_dumped: libc::WCOREDUMP(status) }
            }
            _ => return None,
        };
        Some(state)
    }

    fn status(&self) -> Option<i32> {
        let mut info = Info { mask: INFO_EXIT, ..Info::default() };
        // SAFETY: the kernel reads and writes `info`, which has the size that the request says. One that does not know the
        // request refuses it.
        let asked = unsafe { libc::ioctl(self.pidfd.as_raw_fd(), GET_INFO, &raw mut info) };
        (asked == 0 && info.mask & INFO_EXIT != 0).then_some(info.exit_code)
    }
}

impl AsFd for Stranger {
    /// Ready when it has ended, and once more when its parent knows.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// The status of a process that has ended and whose parent has not asked: the last field but none, for those who may see it.
fn zombie_status(pid: Pid) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    (fields.next() == Some("Z")).then(|| fields.last()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_end_of_a_process_is_known_before_and_perhaps_after_its_parent_knows() {
        assert_eq!(size_of::<Info>(), 64);
        let mut child = Command::new("sh").args(["-c", "read line; exit 7"]).stdin(Stdio::piped()).spawn().unwrap();
        let stranger = Stranger::watch(Pid::from_child(&child)).unwrap();
        assert_eq!((stranger.has_ended(), stranger.exit_state()), (false, None));
        drop(child.stdin.take());
        rustix::event::poll(&mut [PollFd::new(&stranger.pidfd, PollFlags::IN)], None).unwrap();
        assert_eq!((stranger.has_ended(), stranger.exit_state()), (true, Some(ExitState::Exited(7))));
        child.wait().unwrap();
        // Before Linux 6.15 nobody says.
        assert!(stranger.exit_state().is_none_or(|state| state == ExitState::Exited(7)));
    }
}
