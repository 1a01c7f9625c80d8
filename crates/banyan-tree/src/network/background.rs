//! A thread that drives a network while nobody waits for it: optional, for front-ends that compute for long.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use banyan_link::{Bell, Deadline};

use super::Network;
use super::shared::SharedNetwork;
use crate::error::TreeError;

/// A thread that drives a network until this is dropped.
///
/// Members are answered and waves come in, as far as windows allow, while the program computes. In return, a thread that
/// waits for something is told by this one when it has come, instead of finding it itself: round trips take longer. A
/// network without one has no such thread.
pub struct Background {
    stop: Arc<AtomicBool>,
    bell: Bell,
    thread: Option<JoinHandle<()>>,
}

impl Network {
    /// Drives the network in a thread of its own, until what this returns is dropped.
    ///
    /// # Errors
    /// When the system has no thread or descriptor to spare.
    pub fn background(&self) -> Result<Background, TreeError> {
        let (stop, bell) = (Arc::new(AtomicBool::new(false)), Bell::new()?);
        self.shared.core().driver.watch_bell(&bell)?;
        let (shared, told) = (Arc::clone(&self.shared), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("banyan-tree".into()).spawn(move || drive(&shared, &told))?;
        Ok(Background { stop, bell, thread: Some(thread) })
    }
}

fn drive(shared: &SharedNetwork, stop: &AtomicBool) {
    // An error ends the thread: whoever waits next meets the same one, and is told.
    let _ = shared.wait(Deadline::NEVER, |_| stop.load(Ordering::Acquire).then_some(Ok(())));
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.bell.ring();
        if let Some(thread) = self.thread.take() {
            // If it panicked, that was said where it happened.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background").finish_non_exhaustive()
    }
}
