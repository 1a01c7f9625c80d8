//! Putting a directory that was stored under a temporary name into one that exists.
//!
//! Files and links take the place of what has their name, each at once, unless that is [special](Special); directories are
//! kept and get the modes of those that were sent. No symbolic link is followed.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::entry::FileTime;
use super::leftover::{make_held, temporary_name};
use super::store::{DIRECTORY, NEW_FILE, set_time};

/// Something that is neither a file nor a directory nor a link to one of them. It is never replaced: whoever names a device, a
/// FIFO or a socket means what is behind it, and a file in its place would take it from everyone else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    Device,
    Fifo,
    Socket,
}

impl Special {
    /// What has this name in a directory, or what a link of this name leads to; `None` if it may be replaced, or nothing is
    /// there.
    pub(super) fn at(directory: impl AsFd, name: &OsStr) -> Option<Special> {
        let about = rustix::fs::statat(directory, name, AtFlags::empty()).ok()?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::CharacterDevice | FileType::BlockDevice => Some(Special::Device),
            FileType::Fifo => Some(Special::Fifo),
            FileType::Socket => Some(Special::Socket),
            _ => None,
        }
    }
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Special::Device => "a device",
            Special::Fifo => "a FIFO",
            Special::Socket => "a socket",
        })
    }
}

/// Why something does not take its place.
#[derive(Debug)]
pub(super) enum Obstacle {
    Special(Special),
    System(io::Error),
}

impl<E: Into<io::Error>> From<E> for Obstacle {
    fn from(error: E) -> Obstacle {
        Obstacle::System(error.into())
    }
}

/// Moves everything named from one directory into another. An obstacle comes with the name it was met at.
pub(super) fn merge(
    from: &OwnedFd,
    to: &OwnedFd,
    names: &[PathBuf],
    directories: &[(PathBuf, u32)],
) -> Result<(), (PathBuf, Obstacle)> {
    let kept: HashSet<&Path> = directories.iter().map(|(name, _)| name.as_path()).collect();
    for name in names {
        let is_kept = kept.contains(name.as_path());
        let moved = if is_kept { open_up(to, name).map_err(Into::into) } else { take_place(from, to, name) };
        moved.map_err(|error| (name.clone(), error))?;
    }
    // The innermost first: their parents may then forbid to reach them.
    for (name, mode) in directories.iter().rev() {
        let changed = open(to, name).and_then(|directory| set_mode(&directory, *mode));
        changed.map_err(|error| (name.clone(), error.into()))?;
    }
    Ok(())
}

/// A directory below the top, or the top itself, reached through no link.
pub(super) fn open(top: &OwnedFd, name: &Path) -> rustix::io::Result<OwnedFd> {
    let mut at = rustix::io::fcntl_dupfd_cloexec(top, 0)?;
    for component in name.components() {
        at = rustix::fs::openat(&at, component.as_os_str(), DIRECTORY, Mode::empty())?;
    }
    Ok(at)
}

/// The directory of a name, and its last component.
fn locate(top: &OwnedFd, name: &Path) -> rustix::io::Result<(OwnedFd, OsString)> {
    let last = name.file_name().ok_or(Errno::ISDIR)?;
    Ok((open(top, name.parent().unwrap_or(Path::new("")))?, last.to_owned()))
}

/// Makes a directory if it is missing, and sees that its owner may write to it.
fn open_up(top: &OwnedFd, name: &Path) -> rustix::io::Result<()> {
    if let Ok((parent, last)) = locate(top, name) {
        match rustix::fs::mkdirat(&parent, &last, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    let directory = open(top, name)?;
    let mode = rustix::fs::fstat(&directory)?.st_mode;
    set_mode(&directory, mode | Mode::RWXU.as_raw_mode())
}

/// Sets the permissions of a directory; what else its mode says stays.
fn set_mode(directory: &OwnedFd, mode: u32) -> rustix::io::Result<()> {
    let old = Mode::from_raw_mode(rustix::fs::fstat(directory)?.st_mode);
    let permissions = Mode::RWXU | Mode::RWXG | Mode::RWXO;
    let new = (old - permissions) | (Mode::from_raw_mode(mode) & permissions);
    // Whoever may write to a directory of someone else may not change its mode.
    if old == new { Ok(()) } else { rustix::fs::fchmod(directory, new) }
}

fn take_place(from: &OwnedFd, to: &OwnedFd, name: &Path) -> Result<(), Obstacle> {
    let (old, last) = locate(from, name)?;
    let (new, _) = locate(to, name)?;
    if let Some(special) = Special::at(&new, &last) {
        return Err(Obstacle::Special(special));
    }
    match rustix::fs::renameat(&old, &last, &new, &last) {
        Err(Errno::XDEV) => Ok(take_place_elsewhere(&old, &new, &last)?),
        moved => Ok(moved?),
    }
}

/// The same where another file system is mounted below the destination: a copy is made there, beside what it replaces.
fn take_place_elsewhere(old: &OwnedFd, new: &OwnedFd, last: &OsStr) -> io::Result<()> {
    let mut temporary = temporary_name()?;
    let made = copy(old, last, new, &mut temporary)
        .and_then(|held| Ok(rustix::fs::renameat(new, &temporary, new, last).map(|()| drop(held))?));
    if made.is_err() {
        // Nothing was made before some errors.
        let _ = rustix::fs::unlinkat(new, &temporary, AtFlags::empty());
    }
    made
}

/// Copies a file or a link. The copy of a file is not left over as long as what is returned lives.
fn copy(old: &OwnedFd, name: &OsStr, new: &OwnedFd, copy: &mut OsString) -> io::Result<Option<OwnedFd>> {
    let about = rustix::fs::statat(old, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(about.st_mode) == FileType::Symlink {
        rustix::fs::symlinkat(rustix::fs::readlinkat(old, name, Vec::new())?, new, &*copy)?;
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut from = File::from(rustix::fs::openat(old, name, flags, Mode::empty())?);
    let make = |name: &OsStr| rustix::fs::openat(new, name, NEW_FILE, Mode::RUSR | Mode::WUSR);
    let (to, held) = make_held(new.as_fd(), copy, make)?;
    let mut to = File::from(to);
    io::copy(&mut from, &mut to)?;
    rustix::fs::fchmod(&to, Mode::from_raw_mode(about.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO))?;
    let nanoseconds = u32::try_from(about.st_mtime_nsec).unwrap_or(0);
    set_time(&to, FileTime { seconds: about.st_mtime, nanoseconds })?;
    Ok(Some(held))
}
