//! What an observer's thread hands to whoever waits: a queue with a bound and a descriptor.

use std::collections::VecDeque;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use banyan_link::Deadline;
use rustix::event::{EventfdFlags, eventfd};

use crate::error::MonitorError;

/// A descriptor that can be made ready to read, and unready.
#[derive(Debug)]
pub(super) struct Signal(OwnedFd);

impl Signal {
    pub(super) fn new() -> Result<Signal, MonitorError> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Signal(eventfd(0, flags).map_err(std::io::Error::from)?))
    }

    /// Makes it ready.
    pub(super) fn set(&self) {
        // Full is ready.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Makes it unready.
    pub(super) fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A queue between the observer's thread and those who wait.
#[derive(Debug)]
pub(super) struct Queue<T> {
    inner: Mutex<Inner<T>>,
    came: Condvar,
    ready: Signal,
    /// Rung when there is room again.
    wake: Arc<Signal>,
    most: usize,
}

#[derive(Debug)]
struct Inner<T> {
    items: VecDeque<T>,
    /// Nothing more comes, for this reason if there is one.
    over: Option<Option<String>>,
    was_full: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(most: usize, wake: Arc<Signal>) -> Result<Arc<Queue<T>>, MonitorError> {
        let inner = Inner { items: VecDeque::new(), over: None, was_full: false };
        let (inner, came) = (Mutex::new(inner), Condvar::new());
        Ok(Arc::new(Queue { inner, came, ready: Signal::new()?, wake, most }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is room. If not, the thread is woken when there is.
    pub(super) fn has_room(&self) -> bool {
        let mut inner = self.inner();
        inner.was_full = inner.items.len() >= self.most;
        !inner.was_full
    }

    /// Adds items, beyond the bound if they are more than there is room for.
    pub(super) fn extend(&self, items: impl IntoIterator<Item = T>) {
        let mut inner = self.inner();
        let was_empty = inner.items.is_empty();
        inner.items.extend(items);
        if was_empty && !inner.items.is_empty() {
            self.ready.set();
            self.came.notify_all();
        }
    }

    /// Nothing more comes.
    pub(super) fn end(&self, why: Option<String>) {
        let mut inner = self.inner();
        inner.over.get_or_insert(why);
        self.ready.set();
        self.came.notify_all();
    }

    /// Removes what is oldest, and says how many there are.
    pub(super) fn drop_oldest(&self) -> usize {
        let mut inner = self.inner();
        let excess = (inner.items.len() + 1).saturating_sub(self.most);
        inner.items.drain(..excess);
        excess
    }

    fn take(&self, deadline: Deadline) -> Result<T, MonitorError> {
        let deadline = deadline.instant();
        let mut inner = self.inner();
        loop {
            if let Some(item) = inner.items.pop_front() {
                if inner.items.is_empty() && inner.over.is_none() {
                    self.ready.clear();
                }
                if inner.was_full && inner.items.len() <= self.most / 2 {
                    inner.was_full = false;
                    self.wake.set();
                }
                return Ok(item);
            }
            if let Some(why) = &inner.over {
                return Err(MonitorError::Ended(why.clone()));
            }
            inner = match deadline {
                None => self.came.wait(inner).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(MonitorError::TimedOut);
                    }
                    self.came.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// What comes to an observer, one after the other: events of a tap, rows of a query, happenings.
///
/// As a descriptor ([`AsFd`]) it is ready to read when [`try_recv`](Self::try_recv) has something to give.
pub struct Feed<T> {
    queue: Arc<Queue<T>>,
}

impl<T> Feed<T> {
    pub(super) fn new(queue: Arc<Queue<T>>) -> Feed<T> {
        Feed { queue }
    }

    /// Waits for the next one.
    ///
    /// # Errors
    /// When the observer has ended.
    pub fn recv(&self) -> Result<T, MonitorError> {
        self.queue.take(Deadline::NEVER)
    }

    /// As [`recv`](Self::recv), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`recv`](Self::recv), and [`MonitorError::TimedOut`] after the limit.
    pub fn recv_timeout(&self, limit: impl Into<Deadline>) -> Result<T, MonitorError> {
        self.queue.take(limit.into())
    }

    /// The next one that has come already, if there is one.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn try_recv(&self) -> Result<Option<T>, MonitorError> {
        match self.queue.take(Instant::now().into()) {
            Err(MonitorError::TimedOut) => Ok(None),
            taken => taken.map(Some),
        }
    }

    /// One after the other, until the observer ends.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv().ok())
    }
}

impl<T> AsFd for Feed<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.ready.as_fd()
    }
}

impl<T> fmt::Debug for Feed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_ready(fd: impl AsFd) -> bool {
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() == 1
    }

    #[test]
    fn a_feed_is_ready_while_it_has_something_and_wakes_its_source_when_it_has_room() {
        let wake = Arc::new(Signal::new().unwrap());
        let queue = Queue::new(4, Arc::clone(&wake)).unwrap();
        let feed = Feed::new(Arc::clone(&queue));
        assert!(!is_ready(&feed) && queue.has_room());
        queue.extend(0..6);
        assert!(is_ready(&feed) && !queue.has_room() && !is_ready(&*wake));
        (0..4).for_each(|number| assert_eq!(feed.recv().unwrap(), number));
        assert!(is_ready(&*wake) && queue.has_room());
        (4..6).for_each(|number| assert_eq!(feed.recv().unwrap(), number));
        assert!(!is_ready(&feed) && feed.try_recv().unwrap().is_none());
        queue.end(Some("it is late".into()));
        assert!(is_ready(&feed));
        assert_eq!(feed.recv().unwrap_err().to_string(), "the observer has ended: it is late");
    }
}
