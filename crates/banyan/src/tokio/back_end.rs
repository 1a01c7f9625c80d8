//! A member on tokio.

use std::io;
use std::ops::{Deref, DerefMut};

use super::watched::{Ready, Watched, give_way};
use banyan_tree::{BackEnd, Incoming, Report, TreeError};

/// A [`BackEnd`] whose waiting calls are futures.
///
/// The other methods of the back-end are there, too. Records that were sent and held back go with the next call that
/// receives, or with [`flush`](BackEnd::flush).
#[derive(Debug)]
pub struct AsyncBackEnd {
    watched: Watched,
    back_end: BackEnd,
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
        Ok(AsyncBackEnd { watched: Watched::new(&back_end)?, back_end })
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
        self.back_end
    }

    async fn wait<T>(
        &mut self,
        mut look: impl FnMut(&mut BackEnd) -> Result<Option<T>, TreeError>,
    ) -> Result<T, TreeError> {
        let mut ready: Option<Ready<'_>> = None;
        loop {
            // Before any wait, too: what an earlier call took in makes no descriptor ready.
            if let Some(found) = look(&mut self.back_end)? {
                return Ok(found);
            }
            if self.watched.is_ready()? {
                give_way().await;
                continue;
            }
            if let Some(mut ready) = ready.take() {
                ready.clear_ready();
            }
            ready = Some(self.watched.ready().await?);
        }
    }
}

impl Deref for AsyncBackEnd {
    type Target = BackEnd;

    fn deref(&self) -> &BackEnd {
        &self.back_end
    }
}

impl DerefMut for AsyncBackEnd {
    fn deref_mut(&mut self) -> &mut BackEnd {
        &mut self.back_end
    }
}
