//! A bell: wakes whoever watches it, in this process or in others, however many they are. An eventfd.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

/// What a new one counts. Whoever has it may read it, and each read takes one off: nobody lives to see it at 0, where it
/// would be silent.
const MANY: u64 = 1 << 62;

/// See the module.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A new one, which other processes can be given.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn new() -> io::Result<Bell> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK | EventfdFlags::SEMAPHORE)?;
        rustix::io::write(&bell, &MANY.to_ne_bytes())?;
        Ok(Bell(bell))
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

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::Poller;
    use std::time::Duration;

    #[test]
    fn a_bell_rings_for_all_whatever_one_of_them_does_to_it() {
        let bell = Bell::new().unwrap();
        let pollers = [Poller::new().unwrap(), Poller::new().unwrap()];
        pollers.iter().for_each(|poller| poller.register_bell(bell.as_fd(), 7).unwrap());
        let meddle = |value: u64| {
            // Reads what it can, and writes as much as fits.
            for _ in 0..3 {
                rustix::io::read(&bell, &mut [0; 8]).unwrap();
            }
            let _ = rustix::io::write(&bell, &value.to_ne_bytes());
        };
        for value in [0, 1, u64::MAX - 1 - MANY, u64::MAX - 1] {
            let mut ready = Vec::new();
            pollers.iter().for_each(|poller| poller.sleep(Some(Duration::ZERO), &mut ready).unwrap());
            meddle(value);
            bell.ring();
            for poller in &pollers {
                poller.sleep(Some(Duration::ZERO), &mut ready).unwrap();
                assert_eq!(ready.len(), 1, "after {value}");
            }
        }
    }
}
