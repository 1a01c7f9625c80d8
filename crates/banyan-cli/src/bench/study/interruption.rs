//! Signals that end a study, and a bell that rings when one comes or when a process below the study ends.

use std::fs;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

/// Signals that end a study.
pub(super) struct Interruption {
    /// The last one; 0 if none came.
    signal: Arc<AtomicUsize>,
    bell: UnixStream,
}

impl Interruption {
    pub(super) fn watch() -> io::Result<Interruption> {
        let signal = Arc::new(AtomicUsize::new(0));
        let (bell, rope) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        // What is ignored stays so: that is how nohup protects a study.
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        for number in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|number| !is_ignored(*number, &status)) {
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
            signal_hook::low_level::pipe::register(number, rope.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(SIGCHLD, rope)?;
        Ok(Interruption { signal, bell })
    }

    /// The signal that came, if one did.
    pub(super) fn came(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|signal| *signal > 0).map(|signal| signal as i32)
    }

    /// Waits until the bell rings or a process has ended, whose death may be unheard where the signal is blocked; at most
    /// so long.
    pub(super) fn wait(&self, process: impl AsFd, most: Duration) -> io::Result<()> {
        let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        let mut watched = [PollFd::new(&self.bell, PollFlags::IN), PollFd::new(&process, PollFlags::IN)];
        match poll(&mut watched, Some(&most)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // As often as it has rung: whoever waited looks at everything.
        while (&self.bell).read(&mut [0; 64]).is_ok_and(|rung| rung > 0) {}
        Ok(())
    }
}

/// Whether `/proc/PID/status` says that the process ignores a signal.
fn is_ignored(signal: i32, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_mask_of_the_kernel() {
        let status = "Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(SIGHUP, status) && !is_ignored(SIGINT, status) && !is_ignored(SIGHUP, ""));
    }
}
