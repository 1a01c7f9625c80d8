//! What tokio watches: a descriptor that is ready as long as there is something to do.
//!
//! Tokio is told when a descriptor becomes ready, not that it still is. A look at a network may leave something for the next
//! one, so readiness is taken back only when the descriptor is asked and is not ready.

use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::task::Poll;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

/// Something with a descriptor, whose number tokio wants.
#[derive(Debug)]
pub(super) struct Watched<T>(pub(super) T);

impl<T: AsFd> AsRawFd for Watched<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl<T: AsFd> Watched<T> {
    /// Whether there is something to do now.
    pub(super) fn is_ready(&self) -> io::Result<bool> {
        let mut watched = [PollFd::new(&self.0, PollFlags::IN)];
        Ok(retry_on_intr(|| poll(&mut watched, Some(&Timespec::default())))? > 0)
    }
}

/// Lets other tasks go first.
pub(super) async fn give_way() {
    let mut has_given_way = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_given_way, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
