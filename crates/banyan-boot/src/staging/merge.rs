//! Putting a directory that was stored under a temporary name into one that exists.
//!
//! Files and links take the place of what has their name, each at once; directories are kept and get the modes of those
//! that were sent. Below the top no symbolic link is followed.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::store::DIRECTORY;

/// Moves everything named from one directory into another. An error comes with the name it happened at.
pub(super) fn merge(
    from: &OwnedFd,
    to: &Path,
    names: &[PathBuf],
    directories: &[(PathBuf, u32)],
) -> Result<(), (PathBuf, io::Error)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let to = rustix::fs::open(to, flags, Mode::empty()).map_err(|error| (PathBuf::new(), error.into()))?;
    let kept: HashSet<&Path> = directories.iter().map(|(name, _)| name.as_path()).collect();
    for name in names {
        let moved = if kept.contains(name.as_path()) { open_up(&to, name) } else { take_place(from, &to, name) };
        moved.map_err(|error| (name.clone(), error.into()))?;
    }
    // The innermost first: their parents may then forbid to reach them.
    for (name, mode) in directories.iter().rev() {
        let changed = open(&to, name).and_then(|directory| set_mode(&directory, *mode));
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

fn take_place(from: &OwnedFd, to: &OwnedFd, name: &Path) -> rustix::io::Result<()> {
    let (old, last) = locate(from, name)?;
    let (new, _) = locate(to, name)?;
    rustix::fs::renameat(&old, &last, &new, &last)
}
