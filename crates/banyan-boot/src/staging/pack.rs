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
    /// Whether what a directory holds is visited, too.
    walks: bool,
    /// The file that is being read, and bytes that are left of it.
    file: Option<(File, PathBuf, u64)>,
}

/// What is to be packed under a name.
#[derive(Debug)]
pub(super) enum Found {
    File { mode: u32, length: u64 },
    Directory { mode: u32 },
    Link { mode: u32, target: PathBuf },
}

impl Found {
    /// Looks at what has this name below the top. The top itself may be reached through links.
    pub(super) fn at(top: &Path, name: &Path) -> Result<Found, StageError> {
        let path = below(top, name);
        let unread = |source: io::Error| StageError::Read { path: path.clone(), source };
        if name.as_os_str().len() >= MAX_NAME {
            return Err(StageError::TooLong(path));
        }
        let is_top = name.as_os_str().is_empty();
        let about = if is_top { fs::metadata(&path) } else { fs::symlink_metadata(&path) }.map_err(unread)?;
        let mode = about.permissions().mode();
        if about.is_file() {
            Ok(Found::File { mode, length: about.len() })
        } else if about.is_dir() {
            Ok(Found::Directory { mode })
        } else if about.is_symlink() {
            let target = fs::read_link(&path).map_err(unread)?;
            if stays_inside(name, &target) {
                Ok(Found::Link { mode, target })
            } else {
                Err(StageError::Leaves { path, target })
            }
        } else {
            Err(StageError::Kind(path))
        }
    }

    /// Bytes of its content.
    pub(super) fn length(&self) -> u64 {
        match self {
            Found::File { length, .. } => *length,
            Found::Directory { .. } => 0,
            Found::Link { target, .. } => target.as_os_str().len() as u64,
        }
    }

    fn head(&self, name: &Path) -> Head {
        let (kind, mode) = match self {
            Found::File { mode, .. } => (EntryKind::File, *mode),
            Found::Directory { mode } => (EntryKind::Directory, *mode),
            Found::Link { mode, .. } => (EntryKind::Link, *mode),
        };
        Head { kind, mode, name: name.as_os_str().len() as u16, length: self.length() }
    }
}

/// The names in a directory below the top, as paths from the top; the first is last.
pub(super) fn names_in(top: &Path, name: &Path) -> Result<Vec<PathBuf>, StageError> {
    let path = below(top, name);
    let mut names = fs::read_dir(&path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>())
        .map_err(|source| StageError::Read { path, source })?;
    names.sort_unstable_by(|one, other| other.cmp(one));
    Ok(names.into_iter().map(|child| name.join(child)).collect())
}

fn below(top: &Path, name: &Path) -> PathBuf {
    if name.as_os_str().is_empty() { top.to_owned() } else { top.join(name) }
}

impl Packer {
    /// From a file or directory, which may itself be reached through symbolic links.
    pub(crate) fn new(top: &Path) -> Packer {
        Packer { top: top.to_owned(), left: vec![PathBuf::new()], walks: true, file: None }
    }

    /// From a file or directory, and of what is in it only what is listed: each after its directory, the top first.
    pub(crate) fn listed(top: &Path, names: &[PathBuf]) -> Packer {
        Packer { top: top.to_owned(), left: names.iter().rev().cloned().collect(), walks: false, file: None }
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
        let found = Found::at(&self.top, name)?;
        let path = below(&self.top, name);
        let file = match found {
            Found::File { .. } => {
                let unread = |source: io::Error| StageError::Read { path: path.clone(), source };
                Some(File::open(&path).map_err(unread)?)
            }
            Found::Directory { .. } | Found::Link { .. } => None,
        };
        piece.extend_from_slice(&found.head(name).encode());
        piece.extend_from_slice(name.as_os_str().as_bytes());
        match &found {
            Found::File { length, .. } => self.file = file.map(|file| (file, path, *length)),
            Found::Directory { .. } if self.walks => self.left.extend(names_in(&self.top, name)?),
            Found::Directory { .. } => {}
            Found::Link { target, .. } => piece.extend_from_slice(target.as_os_str().as_bytes()),
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
