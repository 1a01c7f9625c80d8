//! Signals that end a study, and a bell that rings when one comes or when a process below the study ends.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use banyan_cli::signals::heeded;

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
        for number in heeded([SIGINT, SIGTERM, SIGHUP]) {
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
