//! The observers' file of a process: what observers write, and the lock among them.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock, fstat};

use super::segment::{Segment, SegmentError, check_beginning, read_words};
use crate::layout::{self, observers};
use crate::memory::{Access, Map};
use crate::place::{OBSERVERS, SEGMENT};

/// How long to wait for other observers that have the lock. They have it for microseconds, unless they are stopped.
const PATIENCE: Duration = Duration::from_secs(1);

/// The observers' file, open and checked.
#[derive(Debug)]
pub(super) struct Board {
    map: Map,
    file: Arc<OwnedFd>,
    /// The segment's, for errors.
    path: PathBuf,
}

/// Keeps other observers from changing who has which slot.
#[derive(Debug)]
pub(super) struct Locked(Arc<OwnedFd>);

impl Board {
    pub(super) fn open(segment: &Segment) -> Result<Board, SegmentError> {
        let name = segment.path.file_name().and_then(|name| name.to_str()?.strip_suffix(SEGMENT));
        let name = format!("{}{OBSERVERS}", name.ok_or_else(|| segment.damaged("its name"))?);
        let file = segment.place.open_file(&name, OFlags::RDWR).map_err(|error| segment.io(error))?;
        let path = segment.path.with_file_name(&name);
        let head = read_words(&file, 0, observers::HEADER_WORDS).map_err(|error| segment.io(error))?;
        check_beginning(&path, &head, layout::OBSERVERS_MAGIC)?;
        let length = fstat(&file).map_err(|error| segment.io(error.into()))?.st_size;
        // Layout 1 has one size; a later layout that this reader can read keeps what is here at its place.
        let tables = [
            (observers::SLOTS, layout::SLOTS_AT),
            (observers::WATCHED, layout::WATCHED_AT),
            (observers::CURSORS, layout::CURSORS_AT),
            (observers::MAILBOX, layout::MAILBOX_AT),
        ];
        let is_as_expected = tables.iter().all(|(table, at)| head[*table] == *at as u64);
        if head[layout::TOKEN] != segment.token || length < layout::OBSERVERS_BYTES as i64 || !is_as_expected {
            return Err(segment.damaged("the observers' file"));
        }
        let map = Map::new(&file, 0, layout::OBSERVERS_BYTES, Access::Write).map_err(|error| segment.io(error))?;
        Ok(Board { map, file: file.into(), path: segment.path.clone() })
    }

    pub(super) fn words(&self) -> &[AtomicU64] {
        self.map.words()
    }

    /// Waits for the lock, for a second at most.
    pub(super) fn lock(&self) -> Result<Locked, SegmentError> {
        let deadline = Instant::now() + PATIENCE;
        while flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() >= deadline {
                return Err(SegmentError::Locked { path: self.path.clone() });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Locked(self.file.clone()))
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing the file would do the same.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}
