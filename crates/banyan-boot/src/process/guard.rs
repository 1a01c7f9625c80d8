//! What a keeper does when its worker was killed, if it has a guard: the worker's descendants live on, in its care.
//!
//! The guard is code of a layer above, so it runs in a process of its own: whatever it does, even if it crashes, the keeper
//! goes on. The keeper reads what the members write, and throws it away, so that none of them waits or dies of it. It
//! returns, to end all that is left, when the guard has ended, when it is asked to end, or some time after the last
//! descendant.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions};

use super::descendants::children;
use super::keeper::{ENDS, fork, vanish};
use super::signals;
use super::will::Estate;

/// How long a guard may take to end when nobody is left.
const FAREWELL: Duration = Duration::from_secs(5);

/// Bytes that are thrown away at once.
const DISCARD_BYTES: usize = 64 << 10;

/// What a guard does; it gets the worker's last word.
pub(crate) type Guard = Box<dyn FnOnce(&[u8], Left)>;

/// Says to a guard whether anybody is left.
#[derive(Debug)]
pub(crate) struct Left {
    /// Its other end is closed when nobody is, or the keeper is gone.
    ends: OwnedFd,
}

impl Left {
    /// Whether any descendant of the worker lives.
    pub(crate) fn is_anyone(&self) -> bool {
        let mut ends = [PollFd::new(&self.ends, PollFlags::empty())];
        !matches!(rustix::event::poll(&mut ends, Some(&Timespec::default())), Ok(1..))
    }
}

/// Guards what is left of a worker that was killed. An error says that it could not even begin.
pub(super) fn stand_guard(mut estate: Estate, guard: Guard, signals: &OwnedFd) -> io::Result<()> {
    let Some(word) = estate.word.take() else { return Ok(()) };
    let (ends, anyone) = pipe_with(PipeFlags::CLOEXEC)?;
    let Some(pid) = fork()? else { run_guard(guard, &word, Left { ends }, (estate, anyone)) };
    let pipes = estate.into_pipes();
    let mut watch = Watch { guard: pid, anyone: Some(anyone), pipes, has_changed: true, left_at: None };
    while watch.goes_on(signals)? {
        watch.wait(signals)?;
        watch.discard();
    }
    Ok(())
}

/// The guard's whole life.
fn run_guard(guard: Guard, word: &[u8], left: Left, keepers: impl Sized) -> ! {
    // The keeper's alone: whether anybody is left shows by the end of one of them.
    drop(keepers);
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        signals::set_mask(&signals::NONE)?;
        guard(word, left);
        io::Result::Ok(())
    }));
    vanish(i32::from(!matches!(ran, Ok(Ok(())))))
}

struct Watch {
    guard: Pid,
    /// Closed when nobody is left.
    anyone: Option<OwnedFd>,
    pipes: Vec<OwnedFd>,
    /// Somebody has ended since the last look at who is left.
    has_changed: bool,
    /// When the last descendant was found to have ended.
    left_at: Option<Instant>,
}

impl Watch {
    /// Takes note of signals and ended processes; false when it is time to end what is left.
    fn goes_on(&mut self, signals: &OwnedFd) -> io::Result<bool> {
        while let Some(signal) = signals::take(signals)? {
            if ENDS.iter().any(|ends| ends.as_raw() == signal) {
                return Ok(false);
            }
        }
        while let Ok(Some((pid, _))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid == self.guard {
                return Ok(false);
            }
            self.has_changed = true;
        }
        if std::mem::take(&mut self.has_changed) && children(&[self.guard])?.is_empty() {
            self.anyone = None;
            self.left_at = Some(Instant::now());
        }
        Ok(self.left_at.is_none_or(|at| at.elapsed() < FAREWELL))
    }

    /// Sleeps until something happens.
    fn wait(&mut self, signals: &OwnedFd) -> io::Result<()> {
        let timeout =
            self.left_at.map(|at| Timespec::try_from((at + FAREWELL).saturating_duration_since(Instant::now())));
        let timeout = timeout.transpose().map_err(io::Error::other)?;
        let all = std::iter::once(signals.as_fd()).chain(self.pipes.iter().map(AsFd::as_fd));
        let mut all: Vec<PollFd<'_>> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut all, timeout.as_ref()))?;
        Ok(())
    }

    /// Reads what members write. A pipe that has ended, or cannot be read, is closed.
    fn discard(&mut self) {
        let mut buffer = vec![0; DISCARD_BYTES];
        self.pipes.retain(|pipe| {
            let read = rustix::io::retry_on_intr(|| rustix::io::read(pipe, &mut buffer[..]));
            matches!(read, Ok(1..) | Err(rustix::io::Errno::AGAIN))
        });
    }
}
