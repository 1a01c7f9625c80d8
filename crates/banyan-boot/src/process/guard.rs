//! What a keeper does when its worker was killed, if it has a guard: the worker's descendants live on, in its care.
//!
//! The guard is code of a layer above, so it runs in a process of its own: whatever it does, even if it crashes, the keeper
//! goes on. The keeper reads what the members write, and throws it away, so that none of them waits or dies of it. It tells
//! the guard which members have ended. It returns, to end all that is left, when the guard has ended, or some time after the
//! last descendant. If it is asked to end it ends all but the guard first, so that the guard can tell of that.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions};

use super::descendants::{children, end_descendants};
use super::keeper::{ENDS, fork, vanish};
use super::keeper_socket::{Handover, LeftMember};
use super::signals;
use super::title::{Role, set_title};

/// How long a guard may take to tell that nobody is left.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long, if the keeper is asked to end.
const SHORT_FAREWELL: Duration = Duration::from_secs(1);

/// Bytes that are thrown away at once.
const DISCARD_BYTES: usize = 64 << 10;

/// What a guard does; it gets the worker's last word.
pub(crate) type Guard = Box<dyn FnOnce(&[u8], Left)>;

/// Says to a guard whether anybody is left, and which members have ended.
#[derive(Debug)]
pub(crate) struct Left {
    /// Ranks of members that have ended, 32 bits each. Its other end is closed when nobody is left, or the keeper is gone.
    ended: OwnedFd,
}

impl Left {
    /// Members that have ended since the last look, and whether any descendant of the worker lives.
    pub(crate) fn look(&self) -> (Vec<u32>, bool) {
        let (mut ended, mut rank) = (Vec::new(), [0; size_of::<u32>()]);
        loop {
            // A pipe takes so few bytes whole, and gives them whole if only such are in it.
            match rustix::io::retry_on_intr(|| rustix::io::read(&self.ended, &mut rank)) {
                Ok(4) => ended.push(u32::from_le_bytes(rank)),
                Err(Errno::AGAIN) => return (ended, true),
                Ok(_) | Err(_) => return (ended, false),
            }
        }
    }
}

impl AsFd for Left {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }
}

/// Guards what is left of a worker that was killed, or ends it if the keeper was asked to. An error says that it could not
/// even begin.
pub(super) fn stand_guard(mut handover: Handover, guard: Guard, signals: &OwnedFd, is_asked: bool) -> io::Result<()> {
    let Some(word) = handover.word.take() else { return Ok(()) };
    let (ended, tell) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let Some(pid) = fork()? else { run_guard(guard, word.expose(), Left { ended }, (handover, tell)) };
    let mut watch = Watch {
        guard: pid,
        tell: Some(tell),
        members: std::mem::take(&mut handover.members),
        has_changed: true,
        farewell: None,
    };
    if is_asked {
        watch.end_all()?;
    }
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
        set_title(Role::Guard, "");
        signals::set_mask(&signals::NONE)?;
        guard(word, left);
        io::Result::Ok(())
    }));
    vanish(i32::from(!matches!(ran, Ok(Ok(())))))
}

struct Watch {
    guard: Pid,
    /// Takes the ranks of members that have ended; closed when nobody is left.
    tell: Option<OwnedFd>,
    /// Those of whose end the guard was not told.
    members: BTreeMap<u32, LeftMember>,
    /// Somebody has ended since the last look at who is left.
    has_changed: bool,
    /// When the guard must have ended, once nobody is left.
    farewell: Option<Instant>,
}

impl Watch {
    /// Takes note of signals and ended processes; false when it is time to end what is left.
    fn goes_on(&mut self, signals: &OwnedFd) -> io::Result<bool> {
        while let Some(signal) = signals::take(signals)? {
            if ENDS.iter().any(|ends| ends.as_raw() == signal) {
                self.end_all()?;
            }
        }
        while let Ok(Some((pid, _))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid == self.guard {
                return Ok(false);
            }
            self.has_changed = true;
        }
        if std::mem::take(&mut self.has_changed) {
            let living = children(&[self.guard])?;
            self.tell_ended(&living);
            if living.is_empty() && self.tell.take().is_some() {
                self.farewell = self.farewell.or(Some(Instant::now() + FAREWELL));
            }
        }
        Ok(self.farewell.is_none_or(|farewell| Instant::now() < farewell))
    }

    /// Ends everyone but the guard, which may tell of it.
    fn end_all(&mut self) -> io::Result<()> {
        end_descendants(&[self.guard]).map_err(io::Error::other)?;
        self.has_changed = true;
        self.farewell = Some(Instant::now() + SHORT_FAREWELL);
        Ok(())
    }

    /// Tells the guard of members that are not among those who live: the worker may have reaped some and not said so.
    fn tell_ended(&mut self, living: &[Pid]) {
        let Some(tell) = &self.tell else { return };
        let living: HashSet<Pid> = living.iter().copied().collect();
        let is_told = |rank: &u32| rustix::io::retry_on_intr(|| rustix::io::write(tell, &rank.to_le_bytes())).is_ok();
        // The pipe has room for far more than an agent has members.
        self.members.retain(|rank, member| living.contains(&member.process) || !is_told(rank));
    }

    /// Sleeps until something happens.
    fn wait(&mut self, signals: &OwnedFd) -> io::Result<()> {
        let timeout = self.farewell.map(|at| Timespec::try_from(at.saturating_duration_since(Instant::now())));
        let timeout = timeout.transpose().map_err(io::Error::other)?;
        let pipes = self.members.values().flat_map(|member| &member.pipes).map(AsFd::as_fd);
        let all = std::iter::once(signals.as_fd()).chain(pipes);
        let mut all: Vec<PollFd<'_>> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut all, timeout.as_ref()))?;
        Ok(())
    }

    /// Reads what members write. A pipe that has ended, or cannot be read, is closed.
    fn discard(&mut self) {
        let mut buffer = vec![0; DISCARD_BYTES];
        for member in self.members.values_mut() {
            member.pipes.retain(|pipe| {
                let read = rustix::io::retry_on_intr(|| rustix::io::read(pipe, &mut buffer[..]));
                matches!(read, Ok(1..) | Err(Errno::AGAIN))
            });
        }
    }
}
