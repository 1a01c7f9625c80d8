//! Waiting for many descriptors: a thin layer over epoll, level-triggered but for bells.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use crate::patience::Patience;

/// Events taken from the system at once; more come with the next wait.
const EVENTS: usize = 64;

/// The same for those who wait for a few descriptors.
const FEW_EVENTS: usize = 4;

/// What to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interest {
    /// Bytes to read, or the end.
    pub readable: bool,
    /// Room to write.
    pub writable: bool,
}

impl Interest {
    /// To read only.
    pub const READ: Interest = Interest { readable: true, writable: false };
    /// To write only.
    pub const WRITE: Interest = Interest { readable: false, writable: true };
    /// Both.
    pub const BOTH: Interest = Interest { readable: true, writable: true };

    fn flags(self) -> EventFlags {
        let readable = if self.readable { EventFlags::IN } else { EventFlags::empty() };
        let writable = if self.writable { EventFlags::OUT } else { EventFlags::empty() };
        readable | writable
    }
}

/// A descriptor that is ready. Errors and ends count as both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ready {
    /// What it was registered with.
    pub token: u64,
    /// There is something to read, or the end.
    pub readable: bool,
    /// There is room to write, or the end.
    pub writable: bool,
}

/// Waits for many descriptors at once.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    patience: Patience,
}

impl Poller {
    /// One that waits for nothing.
    pub fn new() -> io::Result<Poller> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Poller { epoll, patience: Patience::default() })
    }

    /// Another one that waits for the same descriptors, for another thread.
    pub fn try_clone(&self) -> io::Result<Poller> {
        Ok(Poller { epoll: self.epoll.try_clone()?, patience: Patience::default() })
    }

    /// Waits for a descriptor from now on. It is forgotten when it is closed.
    pub fn register(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(token), interest.flags())?)
    }

    /// Waits for a bell from now on: something that is never read, and ready once for each time that it was written to.
    pub fn register_bell(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(token), EventFlags::IN | EventFlags::ET)?)
    }

    /// Waits for something else.
    pub fn modify(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, EventData::new_u64(token), interest.flags())?)
    }

    /// Forgets a descriptor.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    /// Waits until a descriptor is ready or the time is over; `ready` then has those that are. With `None` there is no
    /// end to it. Who was lately answered quickly yields for a moment before it sleeps.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        if timeout == Some(Duration::ZERO) {
            return self.take::<EVENTS>(timeout, ready);
        }
        let start = Instant::now();
        if let Some(end) = self.patience.yield_until(start) {
            self.take::<EVENTS>(Some(Duration::ZERO), ready)?;
            while ready.is_empty() && Instant::now() < end {
                std::thread::yield_now();
                self.take::<EVENTS>(Some(Duration::ZERO), ready)?;
            }
        }
        if ready.is_empty() {
            self.take::<EVENTS>(timeout.map(|timeout| timeout.saturating_sub(start.elapsed())), ready)?;
        }
        self.patience.waited(start.elapsed());
        Ok(())
    }

    /// As [`wait`](Self::wait), asleep at once: for a process whose answers come from many others that want its
    /// processor meanwhile.
    pub fn wait_asleep(&self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        self.take::<EVENTS>(timeout, ready)
    }

    /// As [`wait`](Self::wait), for a process that is one of many on its machine and waits for a few descriptors: asleep
    /// at once, without a look at the clock, and touching little memory, for all of it is cold when it wakes.
    pub fn sleep(&self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        self.take::<FEW_EVENTS>(timeout, ready)
    }

    fn take<const MOST: usize>(&self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let timeout = timeout.map(|time| Timespec::try_from(time).unwrap_or(LONGEST));
        let mut space = [const { MaybeUninit::uninit() }; MOST];
        let events = match epoll::wait(&self.epoll, &mut space, timeout.as_ref()) {
            Ok((events, _)) => events,
            // Interrupted by a signal: nothing is ready, and the caller looks around.
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let ended = EventFlags::ERR | EventFlags::HUP;
        ready.extend(events.iter().map(|event| {
            let (flags, data) = (event.flags, event.data);
            Ready {
                token: data.u64(),
                readable: flags.intersects(EventFlags::IN | ended),
                writable: flags.intersects(EventFlags::OUT | ended),
            }
        }));
        Ok(())
    }
}

/// Stands for times that the system cannot count.
const LONGEST: Timespec = Timespec { tv_sec: 1 << 30, tv_nsec: 0 };

/// Ready to read when one of its descriptors is ready: pollers can wait for pollers.
impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
