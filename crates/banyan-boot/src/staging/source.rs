//! What is read to be staged: a file, or a directory and all below it.
//!
//! The path that was given may lead through symbolic links; below it none is followed, whatever is put there while it is
//! read, unless the user wants them [followed](Links::Follow). Whoever may write to a directory that another user copies
//! cannot make that user read anything else.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::entry::{FileTime, MAX_NAME, stays_inside};
use super::error::StageError;
use super::merge;
use super::reading::Links;
use super::store::DIRECTORY;

/// Flags for files to read. What was a file may have become a pipe, which nobody may ever write to.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Bytes that the system counts a block as.
const BLOCK: u64 = 512;

/// A file of no more than this that takes no room on a disk may have another length than it says, as those of /proc have.
const UNSURE_LENGTH: u64 = 64 << 10;

/// Bytes that are kept at most of a file whose length is not known before it is read.
const KEPT_BYTES: u64 = 16 << 20;

/// See the module. It is opened when first asked for something.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    links: Links,
    top: Option<OwnedFd>,
    /// The directory that was asked last, which most names that follow are in, too.
    parent: Option<(PathBuf, OwnedFd)>,
}

/// What is to be packed under a name.
#[derive(Debug)]
pub(super) enum Found {
    /// `on_disk` is the room it takes, less than its length if it has holes.
    File {
        mode: u32,
        length: u64,
        on_disk: u64,
        time: FileTime,
    },
    Directory {
        mode: u32,
    },
    Link {
        mode: u32,
        target: PathBuf,
    },
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
    pub(super) fn new(path: &Path, links: Links) -> Source {
        Source { path: path.to_owned(), links, top: None, parent: None }
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
            FileType::Symlink if self.links == Links::Follow => self.follow(name),
            FileType::Symlink => self.link(name, about.st_mode),
            _ => Err(StageError::Kind(self.below(name))),
        }
    }

    /// What a link leads to.
    fn follow(&mut self, name: &Path) -> Result<Found, StageError> {
        let last = name.file_name().unwrap_or_default();
        let about = self.parent(name).and_then(|parent| rustix::fs::statat(parent, last, AtFlags::empty()));
        let about = match about {
            Err(Errno::NOENT | Errno::LOOP) => return Err(StageError::Nowhere(self.below(name))),
            about => about.map_err(|error| self.unread(name, error))?,
        };
        match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => Ok(file(&about)),
            FileType::Directory if self.is_within(name, &about) => Err(StageError::Nowhere(self.below(name))),
            FileType::Directory => Ok(Found::Directory { mode: about.st_mode }),
            _ => Err(StageError::Kind(self.below(name))),
        }
    }

    /// Whether a name is in this directory.
    fn is_within(&mut self, name: &Path, directory: &Stat) -> bool {
        name.ancestors().skip(1).any(|above| {
            let about = self.open(above).and_then(rustix::fs::fstat);
            about.is_ok_and(|about| (about.st_dev, about.st_ino) == (directory.st_dev, directory.st_ino))
        })
    }

    /// The content of a file, if that is not as long as the system says; those of /proc have no length before they are read.
    pub(super) fn content_of_unknown_length(
        &mut self,
        name: &Path,
        found: &Found,
    ) -> Result<Option<Vec<u8>>, StageError> {
        let Found::File { length: ..=UNSURE_LENGTH, on_disk: 0, .. } = found else { return Ok(None) };
        let (file, _) = self.read(name)?;
        let mut content = Vec::new();
        let read = file.take(KEPT_BYTES + 1).read_to_end(&mut content);
        match read {
            Err(source) => Err(StageError::Read { path: self.below(name), source }),
            Ok(_) if content.len() as u64 == found.length() => Ok(None),
            Ok(_) if content.len() as u64 > KEPT_BYTES => Err(StageError::Endless(self.below(name))),
            Ok(_) => Ok(Some(content)),
        }
    }

    /// Opens a file for reading, and looks at it once more: it may be another one by now.
    pub(super) fn read(&mut self, name: &Path) -> Result<(File, Found), StageError> {
        let opened = match name.file_name() {
            None => rustix::fs::open(&self.path, READ, Mode::empty()),
            Some(last) => {
                let flags = if self.links == Links::Follow { READ } else { READ | OFlags::NOFOLLOW };
                self.parent(name).and_then(|parent| rustix::fs::openat(parent, last, flags, Mode::empty()))
            }
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
        let listed = self.open(name).and_then(|directory| {
            let mut names = Vec::new();
            for entry in Dir::new(directory)? {
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

    /// A directory by its name.
    fn open(&mut self, name: &Path) -> rustix::io::Result<OwnedFd> {
        let follows = self.links == Links::Follow && !name.as_os_str().is_empty();
        let top = self.top()?;
        if follows {
            return rustix::fs::openat(top, name, DIRECTORY.difference(OFlags::NOFOLLOW), Mode::empty());
        }
        merge::open(top, name)
    }

    /// The directory that a name is in.
    fn parent(&mut self, name: &Path) -> rustix::io::Result<BorrowedFd<'_>> {
        let wanted = name.parent().unwrap_or(Path::new(""));
        if self.parent.as_ref().is_none_or(|(known, _)| known != wanted) {
            let opened = self.open(wanted)?;
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
    let length = u64::try_from(about.st_size).unwrap_or(0);
    let on_disk = u64::try_from(about.st_blocks).unwrap_or(0).saturating_mul(BLOCK).min(length);
    let time = FileTime { seconds: about.st_mtime, nanoseconds: u32::try_from(about.st_mtime_nsec).unwrap_or(0) };
    Found::File { mode: about.st_mode, length, on_disk, time }
}
