//! A bell: wakes whoever watches it, in this process or in others, however many they are. An eventfd.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

/// See the module.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A new one, which other processes can be given.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn new() -> io::Result<Bell> {
        Ok(Bell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Every [`Poller`](crate::Poller) that has it [registered](crate::Poller::register_bell) becomes ready, once.
    pub fn ring(&self) {
        let ring = || rustix::io::write(&self.0, &1u64.to_ne_bytes());
        if ring() == Err(Errno::AGAIN) {
            // It counts, and is full: somebody else has written to it. Nobody needs the count.
            let _ = rustix::io::read(&self.0, &mut [0; 8]);
            let _ = ring();
        }
    }
}

impl From<OwnedFd> for Bell {
    /// One that another process has made.
    fn from(descriptor: OwnedFd) -> Bell {
        Bell(descriptor)
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
