//! A large file on its way to the disk, slice by slice: what is known of it between one part and the next.
//!
//! There is one at a time; the question for another takes its place. Slices come in order, and only what was checked by
//! hash counts: found in what an earlier session has [kept](super::partial), or sent.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::leftover::MadeDirectories;
use super::partial::{Partial, partial_name, remove_expired};
use super::store::{Store, StoreError};
use super::{Large, Offer};

/// The large file that is being put together, if there is one; all who have a copy of this have the same.
#[derive(Debug, Clone, Default)]
pub struct Assembly(Arc<Mutex<AssemblyState>>);

#[derive(Debug, Default)]
enum AssemblyState {
    #[default]
    Nothing,
    /// This host has the file of this hash; its slices need not come.
    Had(String),
    /// Slices are awaited.
    Open(Box<Assembled>),
    /// Something went wrong with the file of this hash, which was told, or its slice is under way.
    Broken(String),
}

/// A file as far as it has come.
#[derive(Debug)]
pub(super) struct Assembled {
    file: String,
    target: PathBuf,
    /// Where it is put together.
    directory: PathBuf,
    total: u64,
    /// Bytes from the beginning that were checked.
    checked: u64,
    pub(super) partial: Partial,
    /// The directories it is in; behind it, for they can go only after it.
    pub(super) made: MadeDirectories,
}

/// Where a part finds its file.
pub(super) enum FoundPart {
    Had,
    Broken,
    Open(Box<Assembled>),
}

impl Assembly {
    fn state(&self) -> MutexGuard<'_, AssemblyState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host has the file that was asked for.
    pub(super) fn had(&self, large: &Large) {
        *self.state() = AssemblyState::Had(large.file.clone());
    }

    /// Nothing comes of the file that was asked for.
    pub(super) fn broken(&self, large: &Large) {
        *self.state() = AssemblyState::Broken(large.file.clone());
    }

    /// The host lacks the file that was asked for: slices may come. The store knows where they go.
    pub(super) fn open(
        &self,
        store: &mut Store,
        (large, on_disk): (&Large, u64),
        inside: &Path,
        host: &str,
    ) -> Result<(), StoreError> {
        // Whatever was there before lets go of its file, which may be the one that is wanted.
        *self.state() = AssemblyState::Nothing;
        remove_expired(store.directory());
        let name = partial_name(host, store.target(), inside);
        let opened = store.parent().and_then(|parent| Partial::open(parent, &name, large.keep));
        let partial = opened.map_err(|error| store.failed(error))?;
        store.check_space(on_disk.min(large.total).saturating_sub(partial.length()))?;
        if partial.length() > large.total {
            partial.cut(large.total).map_err(|error| store.failed(error))?;
        }
        let (file, target, made) = (large.file.clone(), store.target().to_owned(), store.give_directories());
        let directory = store.directory().to_owned();
        *self.state() = AssemblyState::Open(Box::new(Assembled {
            file,
            target,
            directory,
            total: large.total,
            checked: 0,
            partial,
            made,
        }));
        Ok(())
    }

    /// Takes the file out that a part belongs to, until it is put back; `None` if it was not asked for.
    pub(super) fn take(&self, large: &Large) -> Option<FoundPart> {
        let mut state = self.state();
        match std::mem::take(&mut *state) {
            AssemblyState::Had(file) if file == large.file => {
                *state = AssemblyState::Had(file);
                Some(FoundPart::Had)
            }
            AssemblyState::Open(open) if open.file == large.file && open.total == large.total => {
                *state = AssemblyState::Broken(open.file.clone());
                Some(FoundPart::Open(open))
            }
            AssemblyState::Broken(file) if file == large.file => {
                *state = AssemblyState::Broken(file);
                Some(FoundPart::Broken)
            }
            other => {
                *state = other;
                None
            }
        }
    }

    fn put_back(&self, assembled: Box<Assembled>) {
        *self.state() = AssemblyState::Open(assembled);
    }
}

impl Assembled {
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn is_complete(&self) -> bool {
        self.checked == self.total
    }

    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    fn failed(&self, source: std::io::Error) -> StoreError {
        let path = self.target.clone();
        match (source.kind(), self.partial.free()) {
            (std::io::ErrorKind::StorageFull, Some(free)) => {
                let kept = self.partial.kept_name().map(|name| self.directory.join(name));
                StoreError::NoSpace { path, free, needed: self.total - self.checked, kept }
            }
            _ => StoreError::Write { path, source },
        }
    }
}

/// A slice that is lacking. Dropped before [`finish`](Slice::finish), the whole file comes to nothing in this session.
#[derive(Debug)]
pub(super) struct Slice {
    assembly: Assembly,
    assembled: Box<Assembled>,
    hash: String,
    hasher: blake3::Hasher,
    length: u64,
}

impl Slice {
    /// Makes ready to take a slice; `None` if it is there.
    pub(super) fn begin(
        assembly: &Assembly,
        mut assembled: Box<Assembled>,
        offer: &Offer,
        large: &Large,
    ) -> Result<Option<Slice>, StoreError> {
        let end = large.offset.checked_add(offer.length);
        if large.offset != assembled.checked || offer.length == 0 || end.is_none_or(|end| end > assembled.total) {
            return Err(StoreError::Refused(assembled.target.clone(), "a slice of it came out of turn".into()));
        }
        if assembled.partial.has(large.offset, offer.length, &offer.hash) {
            assembled.checked += offer.length;
            assembly.put_back(assembled);
            return Ok(None);
        }
        let (assembly, hash) = (assembly.clone(), offer.hash.clone());
        Ok(Some(Slice { assembly, assembled, hash, hasher: blake3::Hasher::new(), length: offer.length }))
    }

    pub(super) fn target(&self) -> &Path {
        &self.assembled.target
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let came = self.hasher.count();
        if came + bytes.len() as u64 > self.length {
            return Err(self.damaged());
        }
        self.hasher.update(bytes);
        let written = self.assembled.partial.write(bytes, self.assembled.checked + came);
        written.map_err(|source| self.assembled.failed(source))
    }

    /// All of it came: checks it.
    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        let whole = self.hasher.count() == self.length;
        if !whole || self.hasher.finalize().to_hex().as_str() != self.hash {
            return Err(self.damaged());
        }
        self.assembled.checked += self.length;
        self.assembly.put_back(self.assembled);
        Ok(())
    }

    fn damaged(&self) -> StoreError {
        StoreError::Damaged(self.assembled.target.clone())
    }
}
