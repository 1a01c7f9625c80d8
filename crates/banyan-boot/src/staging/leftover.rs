//! What goes again if nothing comes of it: temporary files and directories, those made on the way to a destination, and what
//! was left by processes that were killed.
//!
//! Whoever stores something holds a lock on what it has under a temporary name. The kernel lets go of it with the process,
//! in whatever way that ends; so what nobody holds is left over, and may be removed at once.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

/// How the names of files begin that are not complete yet; sixteen hexadecimal digits follow.
pub(crate) const TEMPORARY: &str = ".banyan-";

/// Names that are tried. That one is taken for left over needs another process in the moment in which it is made.
const NAMES: usize = 8;

/// Opens what may be anything, and never waits.
const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// A name that nothing else has.
pub(super) fn temporary_name() -> io::Result<OsString> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("{TEMPORARY}{:016x}", u64::from_ne_bytes(random)).into())
}

fn is_temporary(name: &str) -> bool {
    let digits = name.strip_prefix(TEMPORARY).unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// Makes something under a temporary name, and marks it as being worked on for as long as what is returned second lives.
/// If someone has taken it for left over in the moment between, it is made anew under another name.
pub(super) fn make_held<T: AsFd>(
    directory: BorrowedFd<'_>,
    name: &mut OsString,
    make: impl Fn(&OsStr) -> rustix::io::Result<T>,
) -> rustix::io::Result<(T, OwnedFd)> {
    for _ in 0..NAMES {
        match make(name).and_then(|made| Ok((hold(&made)?, made))) {
            // It may have been removed, and let go, before it was held.
            Ok((held, made)) if rustix::fs::statat(directory, &*name, AtFlags::SYMLINK_NOFOLLOW).is_ok() => {
                return Ok((made, held));
            }
            Ok(_) | Err(Errno::WOULDBLOCK) => {
                *name = temporary_name().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            }
            Err(error) => return Err(error),
        }
    }
    Err(Errno::WOULDBLOCK)
}

/// Marks a temporary file or directory as being worked on, for as long as what is returned lives.
fn hold(temporary: impl AsFd) -> rustix::io::Result<OwnedFd> {
    let held = rustix::io::fcntl_dupfd_cloexec(temporary, 0)?;
    match rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive) {
        // Someone who looks for leftovers was faster, and removes it.
        Err(Errno::WOULDBLOCK) => Err(Errno::WOULDBLOCK),
        // On file systems without locks nobody can hold it to be left over, either.
        Ok(()) | Err(_) => Ok(held),
    }
}

/// Removes what processes of this user that were killed have left in a directory: temporary files and directories of
/// [`ParcelStore`](super::ParcelStore) that nobody is working on. What cannot be removed stays.
pub fn remove_leftovers(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_temporary)
            && let Some(held) = left_over(&entry.path())
        {
            remove(&entry.path());
            // Not before: whoever has just made it, and comes for the lock, must not get it while it is removed.
            drop(held);
        }
    }
}

/// What nobody is working on, held until it is removed.
fn left_over(path: &Path) -> Option<OwnedFd> {
    let found = rustix::fs::open(path, LOOK, Mode::empty()).ok()?;
    let ours = rustix::fs::fstat(&found).is_ok_and(|about| {
        let kind = FileType::from_raw_mode(about.st_mode);
        about.st_uid == rustix::process::geteuid().as_raw()
            && matches!(kind, FileType::RegularFile | FileType::Directory)
    });
    (ours && rustix::fs::flock(&found, FlockOperation::NonBlockingLockExclusive).is_ok()).then_some(found)
}

/// Removes a file or a whole directory, whatever modes its directories have by now.
pub(super) fn remove(path: &Path) {
    let is_directory = path.symlink_metadata().is_ok_and(|about| about.is_dir());
    if !is_directory {
        // It may be gone already: nothing was made before an error.
        let _ = std::fs::remove_file(path);
        return;
    }
    if std::fs::remove_dir_all(path).is_err() {
        make_writable(path);
        // What still cannot be removed belongs to somebody else by now.
        let _ = std::fs::remove_dir_all(path);
    }
}

pub(super) fn make_writable(directory: &Path) {
    let _ = std::fs::set_permissions(directory, Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

/// Directories that were made for what is to come, the innermost first. Dropped, those are removed that hold nothing: whatever
/// has arrived keeps them.
#[derive(Debug, Default)]
pub struct MadeDirectories(Vec<PathBuf>);

impl MadeDirectories {
    /// Makes a directory, and those above it that are missing.
    ///
    /// # Errors
    /// When that is not possible; nothing is left then.
    pub fn make(directory: &Path) -> io::Result<MadeDirectories> {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let made = MadeDirectories(directory.ancestors().take_while(is_missing).map(Path::to_owned).collect());
        DirBuilder::new().recursive(true).mode(0o777).create(directory)?;
        Ok(made)
    }
}

impl Drop for MadeDirectories {
    fn drop(&mut self) {
        for directory in &self.0 {
            // One that holds something stays, as do those above it.
            let _ = std::fs::remove_dir(directory);
        }
    }
}
