//! What is read to be staged: a file, or a directory and all below it.
//!
//! The path that was given may lead through symbolic links; below it none is followed, whatever is put there while it is
//! read. Whoever may write to a directory that another user copies cannot make that user read anything else.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::entry::{MAX_NAME, stays_inside};
use super::error::StageError;
use super::merge;
use super::store::DIRECTORY;

/// Flags for files to read. What was a file may have become a pipe, which nobody may ever write to.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// See the module. It is opened when first asked for something.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    top: Option<OwnedFd>,
    /// The directory that was asked last, which most names that follow are in, too.
    parent: Option<(PathBuf, OwnedFd)>,
}

/// What is to be packed under a name.
#[derive(Debug)]
pub(super) enum Found {
    File { mode: u32, length: u64 },
    Directory { mode: u32 },
    Link { mode: u32, target: PathBuf },
}

impl Found {
    /// Bytes of its content.
    pub(super) fn length(&self) -> u64 {
        match self {
            Found::File { length, .. } => *length,
            Found::Directory { .. } => 0,
            Found::Link { target, .. } => target.as_os_str().len() as u64,
        }
    }
}

impl Source {
    pub(super) fn new(path: &Path) -> Source {
        Source { path: path.to_owned(), top: None, parent: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at what has this name; the empty name is the top.
    pub(super) fn look(&mut self, name: &Path) -> Result<Found, StageError> {
        if name.as_os_str().len() >= MAX_NAME {
            return Err(StageError::TooLong(self.below(name)));
        }
        let about = self.about(name).map_err(|error| self.unread(name, error))?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => Ok(file(&about)),
            FileType::Directory => Ok(Found::Directory { mode: about.st_mode }),
            FileType::Symlink => self.link(name, about.st_mode),
            _ => Err(StageError::Kind(self.below(name))),
        }
    }

    /// Opens a file for reading, and looks at it once more: it may be another one by now.
    pub(super) fn read(&mut self, name: &Path) -> Result<(File, Found), StageError> {
        let opened = match name.file_name() {
            None => rustix::fs::open(&self.path, READ, Mode::empty()),
            Some(last) => self
                .parent(name)
                .and_then(|parent| rustix::fs::openat(parent, last, READ | OFlags::NOFOLLOW, Mode::empty())),
        };
        let opened = opened.and_then(|descriptor| Ok((rustix::fs::fstat(&descriptor)?, descriptor)));
        match opened {
            Ok((about, descriptor)) if FileType::from_raw_mode(about.st_mode) == FileType::RegularFile => {
                Ok((File::from(descriptor), file(&about)))
            }
            Ok(_) => Err(StageError::Changed(self.below(name))),
            Err(error) => Err(self.unread(name, error)),
        }
    }

    /// The names in a directory, as paths from the top; the first is last.
    pub(super) fn names_in(&mut self, name: &Path) -> Result<Vec<PathBuf>, StageError> {
        let listed = self.top().and_then(|top| {
            let mut names = Vec::new();
            for entry in Dir::new(merge::open(top, name)?)? {
                let child = entry?.file_name().to_bytes().to_vec();
                if child != b"." && child != b".." {
                    names.push(OsString::from_vec(child));
                }
            }
            Ok(names)
        });
        let mut names = listed.map_err(|error| self.unread(name, error))?;
        names.sort_unstable_by(|one, other| other.cmp(one));
        Ok(names.into_iter().map(|child| name.join(child)).collect())
    }

    /// The path of a name, for people.
    pub(super) fn below(&self, name: &Path) -> PathBuf {
        if name.as_os_str().is_empty() { self.path.clone() } else { self.path.join(name) }
    }

    fn about(&mut self, name: &Path) -> rustix::io::Result<Stat> {
        match name.file_name() {
            None => rustix::fs::stat(&self.path),
            Some(last) => rustix::fs::statat(self.parent(name)?, last, AtFlags::SYMLINK_NOFOLLOW),
        }
    }

    fn link(&mut self, name: &Path, mode: u32) -> Result<Found, StageError> {
        let last = name.file_name().unwrap_or_default();
        let target = self.parent(name).and_then(|parent| rustix::fs::readlinkat(parent, last, Vec::new()));
        let target = target.map_err(|error| self.unread(name, error))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if stays_inside(name, &target) {
            Ok(Found::Link { mode, target })
        } else {
            Err(StageError::Leaves { path: self.below(name), target })
        }
    }

    fn top(&mut self) -> rustix::io::Result<&OwnedFd> {
        let top = match self.top.take() {
            Some(top) => top,
            // The path that was given may lead through links.
            None => rustix::fs::open(&self.path, DIRECTORY.difference(OFlags::NOFOLLOW), Mode::empty())?,
        };
        Ok(self.top.insert(top))
    }

    /// The directory that a name is in.
    fn parent(&mut self, name: &Path) -> rustix::io::Result<BorrowedFd<'_>> {
        let wanted = name.parent().unwrap_or(Path::new(""));
        if self.parent.as_ref().is_none_or(|(known, _)| known != wanted) {
            let opened = merge::open(self.top()?, wanted)?;
            self.parent = Some((wanted.to_owned(), opened));
        }
        self.parent.as_ref().map(|(_, parent)| parent.as_fd()).ok_or(Errno::NOTDIR)
    }

    fn unread(&self, name: &Path, error: Errno) -> StageError {
        let path = self.below(name);
        match error {
            // A link has taken the place of what was there.
            Errno::LOOP | Errno::NOTDIR if !name.as_os_str().is_empty() => StageError::Changed(path),
            _ => StageError::Read { path, source: io::Error::from(error) },
        }
    }
}

fn file(about: &Stat) -> Found {
    Found::File { mode: about.st_mode, length: u64::try_from(about.st_size).unwrap_or(0) }
}
