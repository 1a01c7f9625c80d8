//! Where segments are: a directory in memory that only its user can enter, and the names of the files there.

use std::env;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use rustix::fs::{Access, CWD, FallocateFlags, Mode, OFlags};
use rustix::fs::{access, fallocate, fstat, fstatfs, mkdirat, openat, renameat, statfs, unlinkat};
use rustix::process::{Resource, geteuid, getrlimit};

/// Names the directory, for containers and tests. It may be on a disk then.
pub(crate) const VARIABLE: &str = "BANYAN_SENSOR_DIR";

/// How the names of segments end, and of the files that observers write.
pub(crate) const SEGMENT: &str = ".segment";
pub(crate) const OBSERVERS: &str = ".observers";

/// How names of files begin that are being made.
pub(crate) const UNFINISHED: &str = ".new-";

const TMPFS_MAGIC: u64 = 0x0102_1994;

/// The directories in which segments of this user are, the best first. They need not exist.
pub(crate) fn directories() -> Vec<PathBuf> {
    if let Some(directory) = env::var_os(VARIABLE) {
        return vec![directory.into()];
    }
    let runtime = env::var_os("XDG_RUNTIME_DIR").filter(|path| Path::new(path).is_absolute());
    let shared = format!("/dev/shm/banyan-{}", geteuid().as_raw());
    runtime.map(|path| Path::new(&path).join("banyan")).into_iter().chain([shared.into()]).collect()
}

/// Where a program of this user would put its segment on this host. Makes nothing.
///
/// # Errors
/// Why it could not have one: what is said of the last place that was tried.
pub fn where_segments_go() -> io::Result<PathBuf> {
    let mut last = io::Error::other("there is no directory for segments");
    for path in directories() {
        let found = match Place::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => could_be_made(&path),
            found => found.map(|_| ()),
        };
        match found {
            Ok(()) => return Ok(path),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether a directory that is not there could be made where it belongs.
fn could_be_made(path: &Path) -> io::Result<()> {
    let parent = path.parent().ok_or_else(|| io::Error::other("it has no place"))?;
    access(parent, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| about(parent, error.into()))?;
    if env::var_os(VARIABLE).is_none() && statfs(parent)?.f_type as u64 != TMPFS_MAGIC {
        return Err(about(parent, io::Error::other("it is not in memory")));
    }
    Ok(())
}

/// A directory that is fit for segments.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    directory: OwnedFd,
}

impl Place {
    /// The first of the directories that exists or can be made, and is fit.
    pub(crate) fn make() -> io::Result<Place> {
        let mut last = io::Error::other("there is no directory for segments");
        for path in directories() {
            let made = mkdirat(CWD, &path, Mode::RWXU);
            match Place::open(&path) {
                Ok(place) => return Ok(place),
                Err(error) => {
                    last = made
                        .err()
                        .filter(|error| *error != rustix::io::Errno::EXIST)
                        .map_or(error, |made| about(&path, made.into()))
                }
            }
        }
        Err(last)
    }

    /// A directory that is there, in memory unless it was named.
    pub(crate) fn open(path: &Path) -> io::Result<Place> {
        let place = Place::at(path)?;
        if env::var_os(VARIABLE).is_none() && fstatfs(&place.directory)?.f_type as u64 != TMPFS_MAGIC {
            return Err(about(path, io::Error::other("it is not in memory")));
        }
        Ok(place)
    }

    /// A directory that is there, of this user alone.
    pub(crate) fn at(path: &Path) -> io::Result<Place> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let directory = openat(CWD, path, flags, Mode::empty()).map_err(|error| about(path, error.into()))?;
        let status = fstat(&directory)?;
        let refuse = |why: &str| Err(about(path, io::Error::new(io::ErrorKind::PermissionDenied, why)));
        if status.st_uid != geteuid().as_raw() {
            return refuse("another user owns it; remove it, or name another directory in BANYAN_SENSOR_DIR");
        }
        if status.st_mode & 0o077 != 0 {
            return refuse("others can enter it; make its mode 700");
        }
        Ok(Place { path: path.to_owned(), directory })
    }

    /// A file under a preliminary name, with room for so many bytes. Nobody else can open it to write where `mode` says
    /// so, not even this process.
    pub(crate) fn create(&self, name: &str, mode: Mode, bytes: u64) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let unfinished = format!("{UNFINISHED}{name}");
        let file =
            openat(&self.directory, &unfinished, flags, mode).map_err(|error| about(&self.path, error.into()))?;
        if let Err(error) = reserve(&file, 0, bytes) {
            let _ = unlinkat(&self.directory, &unfinished, AtFlags::empty());
            return Err(about(&self.path, error));
        }
        Ok(file)
    }

    /// Gives a file its name.
    pub(crate) fn publish(&self, name: &str) -> io::Result<()> {
        Ok(renameat(&self.directory, format!("{UNFINISHED}{name}"), &self.directory, name)?)
    }

    /// Removes a file, finished or not.
    pub(crate) fn remove(&self, name: &str) {
        // It may be gone.
        let _ = unlinkat(&self.directory, name, AtFlags::empty());
        let _ = unlinkat(&self.directory, format!("{UNFINISHED}{name}"), AtFlags::empty());
    }

    /// Opens a file.
    pub(crate) fn open_file(&self, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(&self.directory, name, flags, Mode::empty())?;
        let status = fstat(&file)?;
        let is_own_file = status.st_uid == geteuid().as_raw() && status.st_mode & libc::S_IFMT == libc::S_IFREG;
        if is_own_file { Ok(file) } else { Err(io::Error::other("not a file of this user")) }
    }
}

/// Gives part of a file memory of its own, so that writing there later cannot fail.
pub(crate) fn reserve(file: &OwnedFd, offset: u64, bytes: u64) -> io::Result<()> {
    // Beyond the limit the kernel would send SIGXFSZ, which ends the program.
    if getrlimit(Resource::Fsize).current.is_some_and(|most| offset + bytes > most) {
        return Err(io::Error::other("the limit on the size of files (ulimit -f) is too low"));
    }
    loop {
        match fallocate(file, FallocateFlags::empty(), offset, bytes) {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

fn about(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
