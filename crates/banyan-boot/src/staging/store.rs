//! Storing a staged stream: under a temporary name, checked, then renamed into place; or nothing is left of it.
//!
//! The stream is not trusted. Names are checked, and everything is made relative to descriptors of directories that were
//! made here, never through a symbolic link.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use super::Offer;
use super::assembly::Assembled;
use super::entry::{EntryKind, FileTime, HEAD_BYTES, Head, is_sound_name, stays_inside};
use super::holes;
use super::leftover::{MadeDirectories, TEMPORARY, make_held, make_writable, remove, remove_leftovers, temporary_name};
use super::merge::{Obstacle, Special, merge};
use super::{parcel, place};
use crate::problem::ProblemKind;
use banyan_hosts::cause;

/// Age after which a temporary file is one that a killed agent has left: no transfer takes so long.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// Flags for directories that must not be reached through links.
pub(super) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Flags for files that must not exist yet.
pub(super) const NEW_FILE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The host that something is stored on, as the offer does not know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'s> {
    /// The session's cache, if it has one of its own.
    pub(crate) cache: Option<&'s [u8]>,
    /// What the host is called.
    pub(crate) host: &'s str,
    /// Whether the directory that the target goes into may be a symbolic link: one that the user has named.
    pub(crate) follows: bool,
}

/// Why a stream could not be stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("{0}")]
    NoPlace(String),
    #[error("what came for {} is not what was sent: its hash is wrong; it was damaged, or changed while it was read", .0.display())]
    Damaged(PathBuf),
    #[error("what came for {path} cannot be stored: {why}", path = .0.display(), why = .1)]
    Refused(PathBuf, String),
    #[error("{} exists and is a directory, which is never replaced; remove it first", .0.display())]
    Exists(PathBuf),
    #[error("{} exists and is not a directory; remove it first", .0.display())]
    NoDirectory(PathBuf),
    #[error(
        "{} is a symbolic link, which is not followed; remove it, or name the directory it leads to with a / behind it",
        .0.display()
    )]
    Link(PathBuf),
    #[error(
        "{} is {what}, which a copy would replace: files are put into place by renaming; give the name of a file or a directory",
        .path.display()
    )]
    Special { path: PathBuf, what: Special },
    #[error(
        "{} belongs to someone else, or others may write to it; programs are not started from such a directory",
        .0.display()
    )]
    Unsafe(PathBuf),
    #[error(
        "{} cannot be written: no space left on the device ({free} bytes free, {needed} needed){}",
        .path.display(), .kept.as_ref().map(|kept| format!("; what has come is kept as {}", kept.display())).unwrap_or_default()
    )]
    NoSpace { path: PathBuf, free: u64, needed: u64, kept: Option<PathBuf> },
    #[error("{} cannot be written: {}", .path.display(), cause(.source))]
    Write { path: PathBuf, source: io::Error },
}

impl StoreError {
    /// What kind of problem of its host it is.
    pub(crate) fn kind(&self) -> ProblemKind {
        match self {
            StoreError::Write { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                ProblemKind::NotPermitted
            }
            StoreError::NoSpace { .. } => ProblemKind::NoSpace,
            _ => ProblemKind::Staging,
        }
    }

    /// Whether what came is to blame, not the host it came to.
    pub(super) fn is_of_what_came(&self) -> bool {
        matches!(self, StoreError::NoPlace(_) | StoreError::Damaged(_) | StoreError::Refused(..))
    }
}

/// A stream on its way to the disk. Dropped before [`finish`](Store::finish), it leaves nothing.
#[derive(Debug)]
pub(crate) struct Store {
    /// Where it goes.
    target: PathBuf,
    /// A path in the directory in which the temporary name is: the target, or one within it.
    beside: PathBuf,
    in_cache: bool,
    parent: OwnedFd,
    temporary: OsString,
    hash: String,
    length: u64,
    hasher: blake3::Hasher,
    state: StoreState,
    /// The directory that is staged, once it was made.
    root: Option<OwnedFd>,
    /// Says that someone works on what has the temporary name.
    held: Option<OwnedFd>,
    /// Whether the first entry came.
    begun: bool,
    /// Directories, which get their modes at the end: they may forbid writing.
    directories: Vec<(PathBuf, u32)>,
    parcel: Option<Announced>,
    /// What the one file of the stream is, if its content came in slices before.
    assembled: Option<Box<Assembled>>,
    finished: bool,
    /// The directories it is in; last, for they can go only after what is in them.
    made: MadeDirectories,
}

/// What a parcel was said to hold: exactly that must come.
#[derive(Debug)]
struct Announced {
    names: Vec<PathBuf>,
    /// How many came.
    came: usize,
}

#[derive(Debug)]
enum StoreState {
    /// Head and name of an entry, as far as they came.
    Head(Vec<u8>),
    /// Inside a file.
    File { file: File, head: Head, left: u64 },
    /// Inside the target of a link.
    Link { name: PathBuf, target: Vec<u8>, length: usize },
}

impl Store {
    /// Makes ready to store; `None` if this host has it.
    pub(crate) fn begin(offer: &Offer, site: Site<'_>) -> Result<Option<Store>, StoreError> {
        Store::make_ready(offer, site, None)
    }

    /// Makes ready to put a file into place whose content has come, with what stands before that.
    pub(super) fn begin_end(offer: &Offer, site: Site<'_>, assembled: Box<Assembled>) -> Result<Store, StoreError> {
        let target = assembled.target().to_owned();
        let store = Store::make_ready(offer, site, Some(assembled))?;
        store.ok_or_else(|| StoreError::Refused(target, "it is there already".into()))
    }

    fn make_ready(
        offer: &Offer,
        site: Site<'_>,
        mut assembled: Option<Box<Assembled>>,
    ) -> Result<Option<Store>, StoreError> {
        let target = target(offer, site).map_err(StoreError::NoPlace)?;
        let in_cache = offer.path.is_none();
        if !is_hash(&offer.hash) || !place::is_destination(&target) {
            return Err(StoreError::Refused(target, "it is not a place for a file".into()));
        }
        let parcel = match offer.names.as_deref().map(parcel::names_of) {
            Some(None) => return Err(StoreError::Refused(target, "it has names that lead elsewhere".into())),
            Some(Some(names)) => Some(Announced { names, came: 0 }),
            None => None,
        };
        let (parent, made) = open_parent(&target, in_cache, site.follows)?;
        if !in_cache {
            check_target(&target, &parent, parcel.is_some() && offer.directory)?;
        }
        if let Some(parcel) = &parcel
            && assembled.is_none()
            && parcel::has(&target, &parcel.names, offer)
        {
            return Ok(None);
        }
        let (beside, parent) = if parcel.is_some() { workplace(&target, parent)? } else { (target.clone(), parent) };
        let made = assembled.as_mut().map_or(made, |assembled| std::mem::take(&mut assembled.made));
        let store = Store {
            parent,
            in_cache,
            temporary: temporary_name().map_err(|source| StoreError::Write { path: target.clone(), source })?,
            hash: offer.hash.clone(),
            length: offer.length,
            hasher: blake3::Hasher::new(),
            state: StoreState::Head(Vec::new()),
            root: None,
            held: None,
            begun: false,
            directories: Vec::new(),
            parcel,
            assembled,
            finished: false,
            made,
            beside,
            target,
        };
        if in_cache {
            store.check_owner()?;
            if store.is_there(offer) {
                return Ok(None);
            }
            store.sweep();
        }
        if offer.large.is_none() {
            store.check_space(offer.on_disk.min(offer.length))?;
        }
        Ok(Some(store))
    }

    /// Refuses what there is no space for.
    pub(super) fn check_space(&self, needed: u64) -> Result<(), StoreError> {
        match self.free() {
            Some(free) if free < needed => {
                Err(StoreError::NoSpace { path: self.target.clone(), free, needed, kept: None })
            }
            _ => Ok(()),
        }
    }

    /// The directory in which it is put together.
    pub(super) fn parent(&self) -> io::Result<OwnedFd> {
        self.parent.try_clone()
    }

    /// The directories that were made for it, which someone else is to keep in mind.
    pub(super) fn give_directories(&mut self) -> MadeDirectories {
        std::mem::take(&mut self.made)
    }

    /// The path of that directory.
    pub(super) fn directory(&self) -> &Path {
        self.beside.parent().unwrap_or(Path::new("/"))
    }

    /// Where it will be.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// The next bytes of the stream.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        if self.hasher.count() + bytes.len() as u64 > self.length {
            return Err(StoreError::Damaged(self.target.clone()));
        }
        self.hasher.update(bytes);
        while !bytes.is_empty() {
            match &mut self.state {
                StoreState::Head(head) => {
                    let missing = missing_of_head(head).min(bytes.len());
                    head.extend_from_slice(&bytes[..missing]);
                    bytes = &bytes[missing..];
                    if missing_of_head(head) == 0 {
                        let head = std::mem::take(head);
                        self.entry(&head)?;
                    }
                }
                StoreState::File { file, head, left } => {
                    let count = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                    let written = holes::write(file, &bytes[..count], head.length - *left);
                    *left -= count as u64;
                    bytes = &bytes[count..];
                    written.map_err(|source| self.failed(source))?;
                    self.end_file()?;
                }
                StoreState::Link { target, length, .. } => {
                    let count = (*length - target.len()).min(bytes.len());
                    target.extend_from_slice(&bytes[..count]);
                    bytes = &bytes[count..];
                    self.end_link()?;
                }
            }
        }
        Ok(())
    }

    /// The stream has ended: checks it and puts it into place.
    pub(crate) fn finish(mut self) -> Result<(), StoreError> {
        let whole = self.begun && matches!(&self.state, StoreState::Head(head) if head.is_empty());
        if !whole || self.hasher.finalize().to_hex().as_str() != self.hash {
            return Err(StoreError::Damaged(self.target.clone()));
        }
        if self.parcel.as_ref().is_some_and(|parcel| parcel.came < parcel.names.len()) {
            return Err(StoreError::Damaged(self.target.clone()));
        }
        if self.parcel.is_some() && self.root.is_some() && self.is_target_there() {
            return self.merge();
        }
        self.set_directory_modes()?;
        // It may have come since it was looked for.
        if let Some(refusal) = self.special() {
            return Err(refusal);
        }
        let name = self.target.file_name().unwrap_or_default();
        match rustix::fs::renameat(&self.parent, &self.temporary, &self.parent, name) {
            Ok(()) => self.finished = true,
            // Another agent of this user was faster: the content is the same.
            Err(Errno::NOTEMPTY | Errno::EXIST) if self.in_cache => {}
            // As with a file system that several hosts share.
            Err(Errno::NOTEMPTY | Errno::EXIST) if self.parcel.is_some() && self.root.is_some() => {
                make_writable(&self.beside.with_file_name(&self.temporary));
                return self.merge();
            }
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ISDIR) => return Err(StoreError::Exists(self.target.clone())),
            Err(error) => return Err(self.failed(error.into())),
        }
        Ok(())
    }

    /// Puts a directory into the one that is there. What is left under the temporary name is removed.
    fn merge(&self) -> Result<(), StoreError> {
        let (Some(root), Some(parcel)) = (&self.root, &self.parcel) else { return Ok(()) };
        let opened = match self.target.file_name().filter(|_| self.beside == self.target) {
            Some(name) => rustix::fs::openat(&self.parent, name, DIRECTORY, Mode::empty()),
            // It is put together within the target.
            None => rustix::io::fcntl_dupfd_cloexec(&self.parent, 0),
        };
        let to = opened.map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP => StoreError::NoDirectory(self.target.clone()),
            error => self.failed(error.into()),
        })?;
        merge(root, &to, &parcel.names, &self.directories).map_err(|(name, obstacle)| {
            let path = if name.as_os_str().is_empty() { self.target.clone() } else { self.target.join(name) };
            let source = match obstacle {
                Obstacle::Special(what) => return StoreError::Special { path, what },
                Obstacle::System(source) => source,
            };
            match Errno::from_io_error(&source) {
                Some(Errno::ISDIR | Errno::NOTEMPTY) => StoreError::Exists(path),
                Some(Errno::NOTDIR | Errno::LOOP) => StoreError::NoDirectory(path),
                _ => StoreError::Write { path, source },
            }
        })
    }

    /// Why the target must stay what it is, if it is special. One that things are put together within is a directory.
    fn special(&self) -> Option<StoreError> {
        let beside = self.target.file_name().filter(|_| self.beside == self.target)?;
        let what = Special::at(&self.parent, beside)?;
        Some(StoreError::Special { path: self.target.clone(), what })
    }

    /// A head with its name is here.
    fn entry(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let head = bytes.first_chunk::<HEAD_BYTES>().and_then(Head::decode);
        let head = head.ok_or_else(|| self.refuse("it has an entry that cannot be read"))?;
        let name = PathBuf::from(OsString::from_vec(bytes[HEAD_BYTES..].to_vec()));
        let is_top = name.as_os_str().is_empty();
        if is_top == self.begun || !is_top && (self.root.is_none() || !is_sound_name(&name)) {
            return Err(self.refuse(&format!("it has an entry with the name {name:?}")));
        }
        if let Some(parcel) = &mut self.parcel {
            if parcel.names.get(parcel.came) != Some(&name) {
                return Err(self.refuse(&format!("it has an entry {name:?} that was not announced")));
            }
            parcel.came += 1;
        }
        self.begun = true;
        let made = match head.kind {
            EntryKind::Directory => self.make_directory(&name, head.mode),
            EntryKind::File => match self.assembled.take() {
                Some(assembled) if assembled.total() == head.length => self.take_file(&name, head, *assembled),
                Some(_) => return Err(self.refuse("it is not as long as its slices")),
                None => self.make_file(&name, head),
            },
            EntryKind::Link if is_top => return Err(self.refuse("it is a symbolic link")),
            EntryKind::Link => {
                let length = usize::try_from(head.length).unwrap_or(usize::MAX);
                self.state = StoreState::Link { name, target: Vec::new(), length };
                Ok(())
            }
        };
        made.map_err(|error| self.failed(error.into()))?;
        self.end_file()
    }

    fn make_directory(&mut self, name: &Path, mode: u32) -> rustix::io::Result<()> {
        self.state = StoreState::Head(Vec::new());
        if name.as_os_str().is_empty() {
            let parent = self.parent.as_fd();
            let (root, held) = make_held(parent, &mut self.temporary, |name| {
                rustix::fs::mkdirat(parent, name, Mode::RWXU)?;
                rustix::fs::openat(parent, name, DIRECTORY, Mode::empty()).map_err(|error| match error {
                    // Taken for left over, and gone already.
                    Errno::NOENT => Errno::WOULDBLOCK,
                    error => error,
                })
            })?;
            (self.root, self.held) = (Some(root), Some(held));
        } else {
            let (parent, last) = self.locate(name)?;
            let parent = parent.as_ref().map_or(self.parent.as_fd(), AsFd::as_fd);
            rustix::fs::mkdirat(parent, &last, Mode::RWXU)?;
        }
        self.directories.push((name.to_owned(), mode));
        Ok(())
    }

    fn make_file(&mut self, name: &Path, head: Head) -> rustix::io::Result<()> {
        let new =
            |parent: BorrowedFd<'_>, name: &OsStr| rustix::fs::openat(parent, name, NEW_FILE, Mode::RUSR | Mode::WUSR);
        let file = if name.as_os_str().is_empty() {
            let parent = self.parent.as_fd();
            let (file, held) = make_held(parent, &mut self.temporary, |name| new(parent, name))?;
            self.held = Some(held);
            file
        } else {
            let (parent, last) = self.locate(name)?;
            new(parent.as_ref().map_or(self.parent.as_fd(), AsFd::as_fd), &last)?
        };
        self.state = StoreState::File { file: file.into(), head, left: head.length };
        Ok(())
    }

    /// The same with one whose content is there.
    fn take_file(&mut self, name: &Path, head: Head, assembled: Assembled) -> rustix::io::Result<()> {
        let (parent, last) = self.locate(name)?;
        let file = assembled.partial.move_to(parent.as_ref().map_or(self.parent.as_fd(), AsFd::as_fd), &last)?;
        if parent.is_none() {
            self.held = Some(rustix::io::fcntl_dupfd_cloexec(&file, 0)?);
        }
        self.state = StoreState::File { file, head, left: 0 };
        Ok(())
    }

    /// A file is complete when nothing is left of it.
    fn end_file(&mut self) -> Result<(), StoreError> {
        let StoreState::File { file, head, left: 0 } = &self.state else { return Ok(()) };
        let ended = file.set_permissions(Permissions::from_mode(head.mode));
        let ended = ended.and_then(|()| head.time.map_or(Ok(()), |time| Ok(set_time(file, time)?)));
        ended.map_err(|source| self.failed(source))?;
        self.state = StoreState::Head(Vec::new());
        Ok(())
    }

    fn end_link(&mut self) -> Result<(), StoreError> {
        let StoreState::Link { name, target, length } = &self.state else { return Ok(()) };
        if target.len() < *length {
            return Ok(());
        }
        let target = PathBuf::from(OsString::from_vec(target.clone()));
        if !stays_inside(name, &target) {
            return Err(self.refuse(&format!("its link {name:?} leads to {target:?}, outside of it")));
        }
        let made = self.locate(name).and_then(|(parent, last)| {
            let parent = parent.as_ref().map_or(self.parent.as_fd(), AsFd::as_fd);
            rustix::fs::symlinkat(&target, parent, &last)
        });
        made.map_err(|error| self.failed(error.into()))?;
        self.state = StoreState::Head(Vec::new());
        Ok(())
    }

    /// The directory that a name is to be made in (`None`: beside the target) and its last component. No component is
    /// followed if it is a link.
    fn locate(&self, name: &Path) -> rustix::io::Result<(Option<OwnedFd>, OsString)> {
        let Some(last) = name.file_name() else { return Ok((None, self.temporary.clone())) };
        let root = self.root.as_ref().ok_or(Errno::NOTDIR)?;
        let mut at = rustix::io::fcntl_dupfd_cloexec(root, 0)?;
        for component in name.parent().into_iter().flat_map(Path::components) {
            at = rustix::fs::openat(&at, component.as_os_str(), DIRECTORY, Mode::empty())?;
        }
        Ok((Some(at), last.to_owned()))
    }

    fn set_directory_modes(&self) -> Result<(), StoreError> {
        // The innermost first: their parents may then forbid to reach them.
        for (name, mode) in self.directories.iter().rev() {
            let changed = self.locate(name).and_then(|(parent, last)| {
                let parent = parent.as_ref().map_or(self.parent.as_fd(), AsFd::as_fd);
                let directory = rustix::fs::openat(parent, &last, DIRECTORY, Mode::empty())?;
                rustix::fs::fchmod(directory, Mode::from_raw_mode(*mode))
            });
            changed.map_err(|error| self.failed(error.into()))?;
        }
        Ok(())
    }

    /// Whether the cache has it: a file of the right length (one that a power failure cut short has another), or a
    /// directory.
    fn is_there(&self, offer: &Offer) -> bool {
        let Ok(about) = rustix::fs::statat(&self.parent, &offer.hash, AtFlags::SYMLINK_NOFOLLOW) else { return false };
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => offer.directory,
            FileType::RegularFile => {
                let length = u64::try_from(about.st_size).unwrap_or(0) + HEAD_BYTES as u64;
                !offer.directory && length == offer.length
            }
            _ => false,
        }
    }

    /// Whether something has the name of the target, or is put together within it.
    fn is_target_there(&self) -> bool {
        self.beside != self.target || kind_of(&self.parent, self.target.file_name().unwrap_or_default()).is_some()
    }

    fn check_owner(&self) -> Result<(), StoreError> {
        let about = rustix::fs::fstat(&self.parent).map_err(|error| self.failed(error.into()))?;
        let ours = about.st_uid == rustix::process::geteuid().as_raw();
        if ours && about.st_mode & 0o022 == 0 {
            return Ok(());
        }
        Err(StoreError::Unsafe(self.target.parent().unwrap_or(&self.target).to_owned()))
    }

    /// Removes what agents that were killed have left in the cache.
    fn sweep(&self) {
        let Some(cache) = self.target.parent() else { return };
        let entries = std::fs::read_dir(cache).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().as_bytes().starts_with(TEMPORARY.as_bytes())) {
            let modified = entry.metadata().and_then(|about| about.modified());
            let age = modified.ok().and_then(|modified| modified.elapsed().ok());
            if age.is_some_and(|age| age > STALE) {
                remove(&entry.path());
            }
        }
    }

    /// Bytes that this user may still write there.
    fn free(&self) -> Option<u64> {
        free(&self.parent)
    }

    fn refuse(&self, why: &str) -> StoreError {
        StoreError::Refused(self.target.clone(), why.to_owned())
    }

    pub(super) fn failed(&self, source: io::Error) -> StoreError {
        match (source.kind(), self.free()) {
            (io::ErrorKind::StorageFull, Some(free)) => {
                StoreError::NoSpace { path: self.target.clone(), free, needed: self.length, kept: None }
            }
            _ => StoreError::Write { path: self.target.clone(), source },
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if !self.finished && self.begun {
            remove(&self.beside.with_file_name(&self.temporary));
        }
    }
}

/// Bytes that this user may still write where a file or directory is.
pub(super) fn free(at: impl AsFd) -> Option<u64> {
    let about = rustix::fs::fstatvfs(at).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

/// Sets when a file was last written to.
pub(super) fn set_time(file: impl AsFd, time: FileTime) -> rustix::io::Result<()> {
    let last_modification = Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() };
    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    rustix::fs::futimens(file, &Timestamps { last_access, last_modification })
}

/// Bytes that an entry's head and name still lack.
fn missing_of_head(head: &[u8]) -> usize {
    let name = if head.len() < HEAD_BYTES { 0 } else { usize::from(u16::from_le_bytes([head[2], head[3]])) };
    (HEAD_BYTES + name).saturating_sub(head.len())
}

fn is_hash(text: &str) -> bool {
    text.len() == 2 * blake3::OUT_LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Where it goes on this host.
fn target(offer: &Offer, site: Site<'_>) -> Result<PathBuf, String> {
    let Some(path) = &offer.path else { return Ok(place::cache(site.cache, site.host)?.join(&offer.hash)) };
    if offer.names.is_none() {
        return place::destination(Path::new(&OsString::from_vec(path.clone())));
    }
    let target = place::destination(&place::for_host(path, site.host))?;
    match &offer.name {
        Some(name) if place::is_directory(&target) => {
            let name = OsString::from_vec(name.clone());
            if parcel::is_one_name(&name) {
                Ok(target.join(name))
            } else {
                Err(format!("{name:?} is not a name for a file"))
            }
        }
        _ => Ok(target),
    }
}

/// What has a name in a directory. Links are not followed.
fn kind_of(directory: &OwnedFd, name: &OsStr) -> Option<FileType> {
    let about = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(about.st_mode))
}

/// Refuses a target that something else has the name of. A directory goes into one that is there; a file takes the place of a
/// file, or of a link that leads to no directory.
fn check_target(target: &Path, parent: &OwnedFd, is_directory: bool) -> Result<(), StoreError> {
    let name = target.file_name().unwrap_or_default();
    if let Some(what) = Special::at(parent, name) {
        return Err(StoreError::Special { path: target.to_owned(), what });
    }
    match kind_of(parent, name) {
        Some(FileType::Symlink) if is_directory || target.is_dir() => Err(StoreError::Link(target.to_owned())),
        Some(FileType::Directory) if !is_directory => Err(StoreError::Exists(target.to_owned())),
        Some(FileType::RegularFile) if is_directory => Err(StoreError::NoDirectory(target.to_owned())),
        _ => Ok(()),
    }
}

/// Where a parcel is put together: beside its target, from where renaming is one step; or within it, if it is a directory
/// on another file system or its own directory may not be written to. A path in that directory, and the directory.
fn workplace(target: &Path, parent: OwnedFd) -> Result<(PathBuf, OwnedFd), StoreError> {
    let name = target.file_name().unwrap_or_default();
    let failed = |error: Errno| StoreError::Write { path: target.to_owned(), source: error.into() };
    if kind_of(&parent, name) == Some(FileType::Directory) {
        let within = rustix::fs::openat(&parent, name, DIRECTORY, Mode::empty()).map_err(failed)?;
        let device = |directory: &OwnedFd| rustix::fs::fstat(directory).ok().map(|about| about.st_dev);
        let is_writable = rustix::fs::accessat(&parent, ".", Access::WRITE_OK, AtFlags::empty()).is_ok();
        if device(&within) != device(&parent) || !is_writable {
            return Ok((target.join("part"), within));
        }
    }
    Ok((target.to_owned(), parent))
}

/// Removes what processes of this user that were killed have left where parcels for this target are put together; see
/// [`remove_leftovers`].
pub fn remove_leftovers_of(target: &Path) {
    let parent = target.parent().unwrap_or(Path::new("/"));
    let opened = rustix::fs::open(parent, DIRECTORY, Mode::empty());
    let beside = opened.ok().and_then(|parent| workplace(target, parent).ok());
    if let Some(directory) = beside.as_ref().and_then(|(beside, _)| beside.parent()) {
        remove_leftovers(directory);
    }
}

/// Opens the directory that the target goes into, and makes it if it is missing. Links on the way there are the user's
/// own; the directory itself may be one only if it `follows`. A cache stays, whatever becomes of what is to go there: others
/// use it at the same time.
fn open_parent(target: &Path, in_cache: bool, follows: bool) -> Result<(OwnedFd, MadeDirectories), StoreError> {
    let parent = target.parent().unwrap_or(Path::new("/"));
    let is_link = !follows && parent.is_symlink();
    let failed = |source: io::Error| match source.kind() {
        _ if is_link => StoreError::Link(parent.to_owned()),
        io::ErrorKind::AlreadyExists => StoreError::NoDirectory(parent.to_owned()),
        _ => StoreError::Write { path: parent.to_owned(), source },
    };
    let made = if in_cache {
        DirBuilder::new().recursive(true).mode(0o700).create(parent).map(|()| MadeDirectories::default())
    } else {
        MadeDirectories::make(parent)
    };
    let made = made.map_err(failed)?;
    let flags = if follows { DIRECTORY.difference(OFlags::NOFOLLOW) } else { DIRECTORY };
    let opened = rustix::fs::open(parent, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    Ok((opened, made))
}
