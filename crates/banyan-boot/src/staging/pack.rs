//! A file or directory as a stream of bytes: the same bytes for the same names, modes and contents.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::PIECE;
use super::entry::{EntryKind, Head, MAX_NAME, stays_inside};
use super::error::StageError;

/// Reads what is to be staged, piece by piece.
#[derive(Debug)]
pub(crate) struct Packer {
    top: PathBuf,
    /// What is still to be visited, as paths from the top; the next one is last.
    left: Vec<PathBuf>,
    /// The file that is being read, and bytes that are left of it.
    file: Option<(File, PathBuf, u64)>,
}

impl Packer {
    /// From a file or directory, which may itself be reached through symbolic links.
    pub(crate) fn new(top: &Path) -> Packer {
        Packer { top: top.to_owned(), left: vec![PathBuf::new()], file: None }
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
        let is_top = name.as_os_str().is_empty();
        let path = if is_top { self.top.clone() } else { self.top.join(name) };
        let unread = |source: io::Error| StageError::Read { path: path.clone(), source };
        if name.as_os_str().len() >= MAX_NAME {
            return Err(StageError::TooLong(path));
        }
        let about = if is_top { fs::metadata(&path) } else { fs::symlink_metadata(&path) }.map_err(unread)?;
        let mode = about.permissions().mode();
        let mut put = |kind: EntryKind, length: u64| {
            let bytes = name.as_os_str().as_bytes();
            let head = Head { kind, mode, name: bytes.len() as u16, length };
            piece.extend_from_slice(&head.encode());
            piece.extend_from_slice(bytes);
        };
        if about.is_file() {
            let file = File::open(&path).map_err(unread)?;
            put(EntryKind::File, about.len());
            self.file = Some((file, path, about.len()));
        } else if about.is_dir() {
            put(EntryKind::Directory, 0);
            let mut names = fs::read_dir(&path)
                .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>())
                .map_err(unread)?;
            names.sort_unstable_by(|one, other| other.cmp(one));
            self.left.extend(names.into_iter().map(|child| name.join(child)));
        } else if about.is_symlink() {
            let target = fs::read_link(&path).map_err(unread)?;
            if !stays_inside(name, &target) {
                return Err(StageError::Leaves { path, target });
            }
            put(EntryKind::Link, target.as_os_str().len() as u64);
            piece.extend_from_slice(target.as_os_str().as_bytes());
        } else {
            return Err(StageError::Kind(path));
        }
        Ok(())
    }
}

/// Room that the head of an entry may take, with its name and the target of a link.
const HEAD_ROOM: usize = super::entry::HEAD_BYTES + 2 * MAX_NAME;

/// Copies from a file into the room of a piece; gives the file back if something is left of it.
fn copy(
    mut file: File,
    path: PathBuf,
    left: u64,
    piece: &mut Vec<u8>,
) -> Result<Option<(File, PathBuf, u64)>, StageError> {
    let room = (PIECE - piece.len()) as u64;
    let wanted = left.min(room);
    let got = file.by_ref().take(wanted).read_to_end(piece);
    match got {
        Ok(got) if got as u64 == wanted => Ok((left > wanted).then_some((file, path, left - wanted))),
        Ok(_) => Err(StageError::Changed(path)),
        Err(source) => Err(StageError::Read { path, source }),
    }
}
