//! A front-end on tokio.

use std::future::{Future, poll_fn};
use std::io;
use std::ops::Deref;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use super::watched::{Ready, Watched, give_way};
use banyan_tree::{Network, Report, Stream, TreeError, Wave};

/// A [`Network`] whose waiting calls are futures.
///
/// Several tasks may wait at once: for waves of different streams, say. A call that blocks, such as a send without room,
/// takes in what tasks wait for, and they may find it up to a second later. Do not use
/// [`background`](Network::background) at the same time: its thread reads what tasks wait for.
#[derive(Debug)]
pub struct AsyncNetwork {
    watched: Watched,
    network: Network,
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
        Ok(AsyncNetwork { watched: Watched::new(&network)?, network, waiters: Mutex::default() })
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
        self.network
    }

    async fn wait<T>(&self, look: impl Fn(&Network) -> Result<Option<T>, TreeError>) -> Result<T, TreeError> {
        let mut ready: Option<Ready<'_>> = None;
        loop {
            let taken = self.waiters().taken;
            let takes_in = self.watched.is_ready()?;
            let found = look(&self.network);
            if takes_in {
                self.wake_all();
            }
            if let Some(found) = found? {
                return Ok(found);
            }
            if self.watched.is_ready()? {
                give_way().await;
                continue;
            }
            if let Some(mut ready) = ready.take() {
                ready.clear_ready();
            }
            ready = self.something(taken).await?;
        }
    }

    /// Waits until the descriptor is ready, or another task has taken something in since this number was read.
    async fn something(&self, taken: u64) -> io::Result<Option<Ready<'_>>> {
        let mut ready = pin!(self.watched.ready());
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
        &self.network
    }
}
