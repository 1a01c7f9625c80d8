//! A front-end on tokio.

use std::future::{Future, poll_fn};
use std::io;
use std::ops::Deref;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use banyan_tree::{Network, Report, Stream, TreeError, Wave};
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};

use super::watched::{Watched, give_way};

/// A [`Network`] whose waiting calls are futures.
///
/// Several tasks may wait at once: for waves of different streams, say. Do not use
/// [`background`](Network::background) at the same time: its thread reads what tasks wait for.
#[derive(Debug)]
pub struct AsyncNetwork {
    network: AsyncFd<Watched<Network>>,
    waiters: Mutex<Waiters>,
}

/// Tasks that wait. Whoever looks takes in what has come for all of them, which then makes no descriptor ready.
#[derive(Debug, Default)]
struct Waiters {
    /// How often something was taken in.
    taken: u64,
    wakers: Vec<Waker>,
}

impl AsyncNetwork {
    /// Has tokio watch a network.
    ///
    /// # Errors
    /// When the system refuses to watch one more descriptor.
    ///
    /// # Panics
    /// Outside of a runtime whose I/O driver is enabled.
    pub fn new(network: Network) -> io::Result<AsyncNetwork> {
        let network = AsyncFd::with_interest(Watched(network), Interest::READABLE)?;
        Ok(AsyncNetwork { network, waiters: Mutex::default() })
    }

    /// Waits for the next wave of any stream, as [`Network::recv_any`] does.
    ///
    /// # Errors
    /// As [`Network::recv_any`].
    pub async fn recv_any(&self) -> Result<Wave, TreeError> {
        self.wait(Network::try_recv_any).await
    }

    /// Waits for the next wave of a stream of this network, as [`Stream::recv`] does.
    ///
    /// # Errors
    /// As [`Stream::recv`].
    pub async fn next_wave(&self, stream: &Stream) -> Result<Wave, TreeError> {
        self.wait(|_| stream.try_recv()).await
    }

    /// Waits for the next event, as [`Network::recv_event`] does.
    ///
    /// # Errors
    /// As [`Network::recv_event`].
    pub async fn recv_event(&self) -> Result<Report, TreeError> {
        self.wait(Network::try_recv_event).await
    }

    /// Gives the network back.
    pub fn into_inner(self) -> Network {
        self.network.into_inner().0
    }

    async fn wait<T>(&self, look: impl Fn(&Network) -> Result<Option<T>, TreeError>) -> Result<T, TreeError> {
        let mut guard: Option<AsyncFdReadyGuard<'_, Watched<Network>>> = None;
        loop {
            let taken = self.waiters().taken;
            let takes_in = self.network.get_ref().is_ready()?;
            let found = look(self);
            if takes_in {
                self.wake_all();
            }
            if let Some(found) = found? {
                return Ok(found);
            }
            if self.network.get_ref().is_ready()? {
                give_way().await;
                continue;
            }
            if let Some(mut guard) = guard.take() {
                guard.clear_ready();
            }
            guard = self.something(taken).await?;
        }
    }

    /// Waits until the descriptor is ready, or another task has taken something in since this number was read.
    async fn something(&self, taken: u64) -> io::Result<Option<AsyncFdReadyGuard<'_, Watched<Network>>>> {
        let mut ready = pin!(self.network.readable());
        poll_fn(|context| {
            if self.waiters().wait(taken, context.waker()) {
                ready.as_mut().poll(context).map_ok(Some)
            } else {
                Poll::Ready(Ok(None))
            }
        })
        .await
    }

    fn wake_all(&self) {
        let mut waiters = self.waiters();
        waiters.taken += 1;
        let wakers = std::mem::take(&mut waiters.wakers);
        drop(waiters);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiters {
    /// Whether a task has to wait, because nothing was taken in since: then it is woken when something is.
    fn wait(&mut self, taken: u64, waker: &Waker) -> bool {
        if self.taken != taken {
            return false;
        }
        if !self.wakers.iter().any(|known| known.will_wake(waker)) {
            self.wakers.push(waker.clone());
        }
        true
    }
}

impl Deref for AsyncNetwork {
    type Target = Network;

    fn deref(&self) -> &Network {
        &self.network.get_ref().0
    }
}
