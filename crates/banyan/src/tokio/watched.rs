//! What tokio watches: a descriptor that is ready as long as there is something to do.
//!
//! Tokio is told when a descriptor becomes ready, not that it still is. A look at a network may leave something for the next
//! one, so readiness is taken back only when the descriptor is asked and is not ready.

use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::task::Poll;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};

/// A descriptor of our own, which stays open as long as tokio watches it.
#[derive(Debug)]
pub(super) struct Watched(AsyncFd<OwnedFd>);

/// That a descriptor was ready: [`clear_ready`](AsyncFdReadyGuard::clear_ready) takes it back.
pub(super) type Ready<'a> = AsyncFdReadyGuard<'a, OwnedFd>;

impl Watched {
    /// Watches what the descriptor of a network or back-end stands for.
    pub(super) fn new(network: &impl AsFd) -> io::Result<Watched> {
        let descriptor = network.as_fd().try_clone_to_owned()?;
        #[expect(
            deprecated,
            reason = "sound for a descriptor that nobody else can close; its successor is unsafe to call"
        )]
        let descriptor = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
        Ok(Watched(descriptor))
    }

    /// Whether there is something to do now.
    pub(super) fn is_ready(&self) -> io::Result<bool> {
        let mut watched = [PollFd::new(&self.0, PollFlags::IN)];
        Ok(retry_on_intr(|| poll(&mut watched, Some(&Timespec::default())))? > 0)
    }

    /// Waits until tokio knows that there is something to do, or was.
    pub(super) async fn ready(&self) -> io::Result<Ready<'_>> {
        self.0.readable().await
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
