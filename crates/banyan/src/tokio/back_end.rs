//! A member on tokio.

use std::io;
use std::ops::{Deref, DerefMut};

use banyan_tree::{BackEnd, Incoming, Report, TreeError};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::watched::{Watched, give_way};

/// A [`BackEnd`] whose waiting calls are futures.
///
/// The other methods of the back-end are there, too. Records that were sent and held back go with the next call that
/// receives, or with [`flush`](BackEnd::flush).
#[derive(Debug)]
pub struct AsyncBackEnd {
    back_end: AsyncFd<Watched<BackEnd>>,
}

impl AsyncBackEnd {
    /// Has tokio watch a back-end.
    ///
    /// # Errors
    /// When the system refuses to watch one more descriptor.
    ///
    /// # Panics
    /// Outside of a runtime whose I/O driver is enabled.
    pub fn new(back_end: BackEnd) -> io::Result<AsyncBackEnd> {
        Ok(AsyncBackEnd { back_end: AsyncFd::with_interest(Watched(back_end), Interest::READABLE)? })
    }

    /// Waits for the next record, as [`BackEnd::recv`] does.
    ///
    /// # Errors
    /// As [`BackEnd::recv`].
    pub async fn recv(&mut self) -> Result<Incoming, TreeError> {
        self.wait(BackEnd::try_recv).await
    }

    /// Waits for the next event, as [`BackEnd::recv_event`] does.
    ///
    /// # Errors
    /// As [`BackEnd::recv_event`].
    pub async fn recv_event(&mut self) -> Result<Report, TreeError> {
        self.wait(BackEnd::try_recv_event).await
    }

    /// Gives the back-end back: to [`leave`](BackEnd::leave), for example.
    pub fn into_inner(self) -> BackEnd {
        self.back_end.into_inner().0
    }

    async fn wait<T>(
        &mut self,
        mut look: impl FnMut(&mut BackEnd) -> Result<Option<T>, TreeError>,
    ) -> Result<T, TreeError> {
        // What came with an earlier call makes no descriptor ready.
        let mut found = look(self)?;
        loop {
            if let Some(found) = found {
                return Ok(found);
            }
            if self.back_end.get_ref().is_ready()? {
                give_way().await;
                found = look(self)?;
                continue;
            }
            let mut guard = self.back_end.readable_mut().await?;
            found = look(&mut guard.get_inner_mut().0)?;
            if found.is_none() && !guard.get_inner().is_ready()? {
                guard.clear_ready();
            }
        }
    }
}

impl Deref for AsyncBackEnd {
    type Target = BackEnd;

    fn deref(&self) -> &BackEnd {
        &self.back_end.get_ref().0
    }
}

impl DerefMut for AsyncBackEnd {
    fn deref_mut(&mut self) -> &mut BackEnd {
        &mut self.back_end.get_mut().0
    }
}
