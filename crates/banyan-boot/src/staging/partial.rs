//! The file in which a large one is put together, beside the place it goes to.
//!
//! Usually it has a temporary name and goes with the process that works on it. If it is to be kept, its name is made of
//! the names of its host and its target: so another session finds it, and there is one at most for each. Whoever works
//! on it holds a lock.
//!
//! What is found under that name is not trusted. It is used only if it is a file of this user that nobody else may write
//! to, that has no other name and that nobody works on; it is opened through no link; and not one byte of it counts before
//! its hash was checked. What is not used stays as it is, and a temporary name serves instead.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::leftover::{make_held, temporary_name};
use super::store::{NEW_FILE, free};
use super::{PIECE, holes};

/// How the names of files begin that are kept; sixteen hexadecimal digits follow.
pub(super) const PARTIAL: &str = ".banyan-partial-";

/// Age after which a kept file is removed by the next copy of a large file to its directory: whoever wanted to go on would
/// have done so.
pub(super) const EXPIRY: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Opens a file to go on with, and nothing that is none: never through a link, and without waiting.
const FOUND: OFlags = OFlags::RDWR.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// See the module. Dropped, it is removed, unless it is to be kept or was moved.
#[derive(Debug)]
pub(super) struct Partial {
    parent: OwnedFd,
    name: OsString,
    file: File,
    stays: bool,
}

/// The name under which what belongs to a target of a host is kept.
pub(super) fn partial_name(host: &str, target: &Path, inside: &Path) -> OsString {
    let mut hasher = blake3::Hasher::new();
    for part in [host.as_bytes(), target.file_name().unwrap_or_default().as_bytes(), inside.as_os_str().as_bytes()] {
        hasher.update(part).update(&[0]);
    }
    format!("{PARTIAL}{}", &hasher.finalize().to_hex()[..16]).into()
}

impl Partial {
    /// Goes on with the file of this name in a directory, or begins one, and keeps it if that is wanted.
    pub(super) fn open(parent: OwnedFd, name: &OsStr, keep: bool) -> io::Result<Partial> {
        let kept = find(parent.as_fd(), name).or_else(|| keep.then(|| make(parent.as_fd(), name)).flatten());
        match kept {
            Some(file) if keep => Ok(Partial { parent, name: name.to_owned(), file, stays: true }),
            Some(file) => {
                let temporary = temporary_name()?;
                rustix::fs::renameat(&parent, name, &parent, &temporary)?;
                Ok(Partial { parent, name: temporary, file, stays: false })
            }
            None => {
                let mut name = temporary_name()?;
                let new = |name: &OsStr| create(parent.as_fd(), name);
                // The lock is that of the file itself.
                let (file, _held) = make_held(parent.as_fd(), &mut name, new)?;
                Ok(Partial { parent, name, file: file.into(), stays: false })
            }
        }
    }

    /// Bytes it has, of whatever kind.
    pub(super) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |about| about.len())
    }

    pub(super) fn cut(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if offset >= self.length() {
            return holes::write(&self.file, bytes, offset);
        }
        // What is there of an earlier copy may be something else than zeros.
        self.file.write_all_at(bytes, offset)
    }

    /// Bytes that this user may still write beside it.
    pub(super) fn free(&self) -> Option<u64> {
        free(&self.parent)
    }

    /// Its name, if it stays when the rest does not come.
    pub(super) fn kept_name(&self) -> Option<&OsStr> {
        self.stays.then_some(&self.name)
    }

    /// Whether its bytes from an offset have this hash.
    pub(super) fn has(&self, offset: u64, length: u64, hash: &str) -> bool {
        if offset.checked_add(length).is_none_or(|end| end > self.length()) {
            return false;
        }
        let mut hasher = blake3::Hasher::new();
        let (mut at, mut left, mut piece) = (offset, length, vec![0; PIECE]);
        while left > 0 {
            let count = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
            if self.file.read_exact_at(&mut piece[..count], at).is_err() {
                return false;
            }
            hasher.update(&piece[..count]);
            (at, left) = (at + count as u64, left - count as u64);
        }
        hasher.finalize().to_hex().as_str() == hash
    }

    /// Gives it another name, in this directory or another one; the file, which is still held.
    pub(super) fn move_to(mut self, directory: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<File> {
        rustix::fs::renameat(&self.parent, &self.name, directory, name)?;
        self.stays = true;
        Ok(rustix::io::fcntl_dupfd_cloexec(&self.file, 0)?.into())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.stays {
            // Whoever removed it before has done the same.
            let _ = rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::empty());
        }
    }
}

fn create(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = NEW_FILE.difference(OFlags::WRONLY).union(OFlags::RDWR);
    rustix::fs::openat(parent, name, flags, Mode::RUSR | Mode::WUSR)
}

/// Begins a file that is kept; `None` if the name is taken, or the file system knows no locks.
fn make(parent: BorrowedFd<'_>, name: &OsStr) -> Option<File> {
    let made = create(parent, name).ok()?;
    if is_held(parent, name, &made) {
        return Some(made.into());
    }
    if rustix::fs::flock(&made, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK) {
        // Nobody could ever hold it. Who holds it now, if somebody does, has it.
        let _ = rustix::fs::unlinkat(parent, name, AtFlags::empty());
    }
    None
}

/// The file of an earlier session, if it can be trusted so far.
fn find(parent: BorrowedFd<'_>, name: &OsStr) -> Option<File> {
    let found = rustix::fs::openat(parent, name, FOUND, Mode::empty()).ok()?;
    (is_own(&found) && is_held(parent, name, &found)).then(|| found.into())
}

/// Whether it is a file of this user, with one name, that nobody else may write to.
fn is_own(found: &OwnedFd) -> bool {
    rustix::fs::fstat(found).is_ok_and(|about| {
        FileType::from_raw_mode(about.st_mode) == FileType::RegularFile
            && about.st_uid == rustix::process::geteuid().as_raw()
            && about.st_mode & 0o7077 == 0
            && about.st_nlink == 1
    })
}

/// Locks it; false if somebody else works on it, or had it and moved it away, or there are no locks.
fn is_held(parent: BorrowedFd<'_>, name: &OsStr, file: &OwnedFd) -> bool {
    if rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return false;
    }
    let there = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    let ours = rustix::fs::fstat(file);
    there.is_ok_and(|there| ours.is_ok_and(|ours| (there.st_ino, there.st_dev) == (ours.st_ino, ours.st_dev)))
}

/// Removes kept files of this user in a directory that nobody has added to for [long](EXPIRY).
pub(super) fn remove_expired(directory: &Path) {
    let is_kept = |name: &OsStr| {
        let digits = name.as_bytes().strip_prefix(PARTIAL.as_bytes()).unwrap_or_default();
        digits.len() == 16 && digits.iter().all(u8::is_ascii_hexdigit)
    };
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if is_kept(&name) && is_expired(&entry.path()) {
            // Not before it was seen that nobody works on it; it may be gone by now.
            let _ = removal(directory, &name);
        }
    }
}

fn is_expired(path: &Path) -> bool {
    let modified = path.symlink_metadata().and_then(|about| about.modified());
    modified.is_ok_and(|modified| SystemTime::now().duration_since(modified).is_ok_and(|age| age > EXPIRY))
}

fn removal(directory: &Path, name: &OsStr) -> rustix::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = rustix::fs::open(directory, flags, Mode::empty())?;
    let held = find(parent.as_fd(), name).ok_or(Errno::WOULDBLOCK)?;
    rustix::fs::unlinkat(&parent, name, AtFlags::empty())?;
    drop(held);
    Ok(())
}
