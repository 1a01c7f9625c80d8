//! The thread of an agent that stores one staged stream.
//!
//! The node hands it pieces and looks, when its bell rings, how far it is. It ends by itself when the stream has ended
//! or failed, or when the node lets go of it; then nothing of an incomplete stream is left.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rustix::event::{EventfdFlags, eventfd};

use super::Offer;
use super::assembly::Assembly;
use super::intake::{Begun, Intake};
use super::place::Placed;
use super::store::{Site, StoreError};
use crate::problem::ProblemKind;

/// Pieces that wait for the disk at most.
const QUEUE: usize = 8;

/// How long the end of an agent waits until the temporary file is removed: longer only if the disk hangs.
const REMOVAL: Duration = Duration::from_secs(1);

/// How far a writer is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum WriterProgress {
    /// It looks whether the host has it.
    #[default]
    Looking,
    /// The host has it.
    Had,
    /// The host lacks it; pieces may come.
    Needs,
    /// The host lacks a file whose slices follow.
    Lacks,
    /// It is in place.
    Stored,
    /// It could not be stored, and why.
    Failed(ProblemKind, String),
    /// It cannot be stored because a slice before it was not, which was told.
    GaveUp,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Writer {
    pieces: Option<Sender<(Bytes, bool)>>,
    shared: Arc<WriterState>,
}

#[derive(Debug)]
struct WriterState {
    bell: OwnedFd,
    queued: AtomicUsize,
    state: Mutex<(WriterProgress, bool)>,
    over: Condvar,
}

impl Writer {
    /// Starts a thread that stores what is offered.
    pub(crate) fn start(
        offer: Offer,
        cache: Option<Vec<u8>>,
        host: String,
        placed: Placed,
        assembly: Assembly,
    ) -> io::Result<Writer> {
        let (pieces, queue) = channel();
        let shared = Arc::new(WriterState {
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            queued: AtomicUsize::new(0),
            state: Mutex::default(),
            over: Condvar::new(),
        });
        let theirs = Arc::clone(&shared);
        let run = move || {
            let offer = placed.settle(offer, &host);
            let site = Site { cache: cache.as_deref(), host: &host, follows: true };
            let outcome = Intake::begin(&offer, site, &assembly).and_then(|begun| match begun {
                Begun::Had => Ok(WriterProgress::Had),
                Begun::Lacks => Ok(WriterProgress::Lacks),
                Begun::GaveUp => Ok(WriterProgress::GaveUp),
                Begun::Needs(intake) => store(intake, &queue, &theirs),
            });
            // Before whoever waits for this hears of the end, and ends the process: it may hold files that are to go.
            drop(assembly);
            theirs.end(outcome.unwrap_or_else(|error| WriterProgress::Failed(error.kind(), error.to_string())));
        };
        std::thread::Builder::new().name("banyan stage".into()).spawn(run)?;
        Ok(Writer { pieces: Some(pieces), shared })
    }

    /// What becomes readable when there is progress, or room again.
    pub(crate) fn bell(&self) -> &OwnedFd {
        &self.shared.bell
    }

    /// How far it is; silences the bell.
    pub(crate) fn progress(&self) -> WriterProgress {
        // Nothing to read only means that it did not ring.
        let _ = rustix::io::read(&self.shared.bell, &mut [0; 8]);
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Whether it takes another piece.
    pub(crate) fn has_room(&self) -> bool {
        self.shared.queued.load(Ordering::Acquire) < QUEUE
    }

    /// The next piece. After a failure it goes nowhere.
    pub(crate) fn push(&self, piece: Bytes, last: bool) {
        self.shared.queued.fetch_add(1, Ordering::AcqRel);
        if self.pieces.as_ref().is_none_or(|pieces| pieces.send((piece, last)).is_err()) {
            self.shared.queued.store(0, Ordering::Release);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.pieces = None;
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Whether it was in time or not: there is nothing else to do about it.
        drop(self.shared.over.wait_timeout_while(state, REMOVAL, |(_, over)| !*over));
    }
}

impl WriterState {
    fn tell(&self, progress: WriterProgress) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 = progress;
        self.ring();
    }

    fn end(&self, progress: WriterProgress) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (progress, true);
        self.queued.store(0, Ordering::Release);
        self.over.notify_all();
        self.ring();
    }

    /// A piece was stored; whoever waits for room hears of it.
    fn took_one(&self) {
        let before = self.queued.fetch_update(Ordering::AcqRel, Ordering::Acquire, |queued| queued.checked_sub(1));
        if before == Ok(QUEUE) {
            self.ring();
        }
    }

    fn ring(&self) {
        // A bell that rings already is as good.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}

fn store(
    mut intake: Intake,
    queue: &Receiver<(Bytes, bool)>,
    shared: &WriterState,
) -> Result<WriterProgress, StoreError> {
    shared.tell(WriterProgress::Needs);
    while let Ok((piece, last)) = queue.recv() {
        intake.push(&piece)?;
        drop(piece);
        shared.took_one();
        if last {
            intake.finish()?;
            return Ok(WriterProgress::Stored);
        }
    }
    Ok(WriterProgress::Failed(ProblemKind::Staging, format!("{} was given up", intake.target().display())))
}
