//! A file or directory as a stream of bytes: the same bytes for the same names, modes and contents.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::PIECE;
use super::entry::{EntryKind, Head, MAX_NAME};
use super::error::StageError;
use super::reading::{Links, Reading};
use super::source::{Found, Source};

/// Contents that were read before, by name: of files that may be other ones when they are read again.
pub(super) type Contents = Arc<HashMap<PathBuf, Bytes>>;

/// What the content of an entry is read from.
#[derive(Debug)]
enum EntryContent {
    File(File),
    Kept(Bytes),
}

impl Read for EntryContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            EntryContent::File(file) => file.read(buffer),
            EntryContent::Kept(bytes) => {
                let count = bytes.len().min(buffer.len());
                buffer[..count].copy_from_slice(&bytes.split_to(count));
                Ok(count)
            }
        }
    }
}

/// Reads what is to be staged, piece by piece.
#[derive(Debug)]
pub(crate) struct ParcelPacker {
    source: Source,
    /// What is still to be visited, as paths from the top; the next one is last.
    left: Vec<PathBuf>,
    /// Whether what a directory holds is visited, too.
    walks: bool,
    /// The file that is being read, and bytes that are left of it.
    file: Option<(EntryContent, PathBuf, u64)>,
    /// Whether heads have the times of files.
    times: bool,
    contents: Contents,
}

/// What stands before the content of an entry.
fn head(found: &Found, name: &Path, times: bool) -> Head {
    let (kind, mode, time) = match found {
        Found::File { mode, time, .. } => (EntryKind::File, *mode, times.then_some(*time)),
        Found::Directory { mode } => (EntryKind::Directory, *mode, None),
        Found::Link { mode, .. } => (EntryKind::Link, *mode, None),
    };
    Head { kind, mode, name: name.as_os_str().len() as u16, length: found.length(), time }
}

impl ParcelPacker {
    /// From a file or directory, which may itself be reached through symbolic links.
    pub(crate) fn new(top: &Path) -> ParcelPacker {
        let (source, left) = (Source::new(top, Links::Keep), vec![PathBuf::new()]);
        ParcelPacker { source, left, walks: true, file: None, times: false, contents: Contents::default() }
    }

    /// From a file or directory, and of what is in it only what is listed: each after its directory, the top first.
    pub(crate) fn listed(top: &Path, names: &[PathBuf], reading: Reading, contents: Contents) -> ParcelPacker {
        let (source, left) = (Source::new(top, reading.links), names.iter().rev().cloned().collect());
        ParcelPacker { source, left, walks: false, file: None, times: reading.times, contents }
    }

    /// The whole stream's hash and length.
    pub(crate) fn measure(mut self) -> Result<(blake3::Hash, u64), StageError> {
        let mut hasher = blake3::Hasher::new();
        let mut piece = Vec::with_capacity(PIECE);
        while self.fill(&mut piece)? {
            hasher.update(&piece);
            piece.clear();
        }
        Ok((hasher.finalize(), hasher.count()))
    }

    /// What stands before the content of the one file that is listed last, and that file, with its path and length.
    pub(super) fn heads(mut self) -> Result<(Vec<u8>, File, PathBuf, u64), StageError> {
        let mut heads = Vec::new();
        while let Some(name) = self.left.pop() {
            self.begin(&name, &mut heads)?;
        }
        match self.file {
            Some((EntryContent::File(file), path, length)) => Ok((heads, file, path, length)),
            _ => Err(StageError::Changed(self.source.path().to_owned())),
        }
    }

    /// The next piece; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, StageError> {
        let mut piece = Vec::with_capacity(PIECE);
        Ok(self.fill(&mut piece)?.then(|| piece.into()))
    }

    /// Fills a piece; false if nothing was left to put into it.
    fn fill(&mut self, piece: &mut Vec<u8>) -> Result<bool, StageError> {
        // An entry is begun only where its head and name fit.
        while piece.len() + HEAD_ROOM <= PIECE {
            match self.file.take() {
                Some((file, path, left)) => self.file = copy(file, path, left, piece)?,
                None => match self.left.pop() {
                    Some(name) => self.begin(&name, piece)?,
                    None => break,
                },
            }
        }
        Ok(!piece.is_empty())
    }

    fn begin(&mut self, name: &Path, piece: &mut Vec<u8>) -> Result<(), StageError> {
        let mut found = self.source.look(name)?;
        if let Found::File { length, .. } = &mut found {
            let content;
            if let Some(kept) = self.contents.get(name) {
                *length = kept.len() as u64;
                content = EntryContent::Kept(kept.clone());
            } else {
                let (file, opened) = self.source.read(name)?;
                (content, found) = (EntryContent::File(file), opened);
            }
            self.file = Some((content, self.source.below(name), found.length()));
        }
        piece.extend_from_slice(&head(&found, name, self.times).encode());
        piece.extend_from_slice(name.as_os_str().as_bytes());
        match &found {
            Found::Directory { .. } if self.walks => self.left.extend(self.source.names_in(name)?),
            Found::File { .. } | Found::Directory { .. } => {}
            Found::Link { target, .. } => piece.extend_from_slice(target.as_os_str().as_bytes()),
        }
        Ok(())
    }
}

/// Room that the head of an entry may take, with its name and the target of a link.
const HEAD_ROOM: usize = super::entry::HEAD_BYTES + 2 * MAX_NAME;

/// Copies from a file into the room of a piece; gives the file back if something is left of it.
fn copy(
    mut file: EntryContent,
    path: PathBuf,
    left: u64,
    piece: &mut Vec<u8>,
) -> Result<Option<(EntryContent, PathBuf, u64)>, StageError> {
    let room = (PIECE - piece.len()) as u64;
    let wanted = left.min(room);
    let got = file.by_ref().take(wanted).read_to_end(piece);
    match got {
        Ok(got) if got as u64 == wanted => Ok((left > wanted).then_some((file, path, left - wanted))),
        Ok(_) => Err(StageError::Changed(path)),
        Err(source) => Err(StageError::Read { path, source }),
    }
}
