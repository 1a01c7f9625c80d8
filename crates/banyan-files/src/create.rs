//! Opening files to write: one writer at a time, and never by overwriting what someone may be reading.
//! A file that is continued is read first, and what is torn at its end is cut off.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Mutex;

use banyan_ndr::{Format, Limits};

use super::error::{Damage, WriteError};
use super::layout::{BlockHeader, FileId, Kind};
use super::options::Durability;
use super::reader::Reader;
use super::store::Store;

/// A new, locked, empty file at `path`.
pub(super) fn create(path: &Path, durability: Durability) -> Result<File, WriteError> {
    remove_old(path)?;
    let file = OpenOptions::new().read(true).append(true).create_new(true).open(path)?;
    lock(&file, path)?;
    if durability.syncs() {
        sync_name(path)?;
    }
    Ok(file)
}

/// Takes the name off a file that exists. The file itself lives on for those who have it open.
fn remove_old(path: &Path) -> Result<(), WriteError> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if !metadata.is_file() {
        return Err(WriteError::NotAFile { path: path.to_owned() });
    }
    let old = OpenOptions::new().append(true).open(path)?;
    lock(&old, path)?;
    Ok(std::fs::remove_file(path)?)
}

/// A locked file at `path`, made if it is not there.
pub(super) fn open_to_append(path: &Path) -> Result<File, WriteError> {
    let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(WriteError::NotAFile { path: path.to_owned() });
    }
    lock(&file, path)?;
    Ok(file)
}

fn lock(file: &File, path: &Path) -> Result<(), WriteError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(WriteError::Locked { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Makes the file's name survive a crash of the machine, where directories can be synced.
fn sync_name(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// The state of a file behind its last complete block. Its torn tail is cut off.
#[derive(Debug)]
pub(super) struct Recovered {
    /// `None` when there is not even a file header: the file is to be started.
    pub(super) file: Option<FileId>,
    pub(super) end: u64,
    pub(super) sequence: u64,
    pub(super) records: u64,
    /// The blocks behind the last index.
    pub(super) unlisted: Vec<BlockHeader>,
    pub(super) last_index: Option<u64>,
    pub(super) formats: Vec<(u64, Format)>,
    pub(super) tail: Option<Damage>,
}

impl Recovered {
    /// Reads the file's blocks and cuts off what is torn.
    pub(super) fn from(file: &File) -> Result<Recovered, WriteError> {
        let store = Store::File(Mutex::new(file.try_clone()?));
        let reader = Reader::from_store(store, Limits::default())?;
        let end = reader.scanner.as_ref().map_or(0, |scanner| scanner.at);
        if reader.tail.is_some() {
            file.set_len(end)?;
        }
        let headers = || reader.blocks.iter().map(|block| &block.header);
        let last_index = headers().rfind(|header| header.kind == Kind::Index).map(|header| header.offset);
        Ok(Recovered {
            file: reader.scanner.as_ref().and_then(|scanner| scanner.file()),
            end,
            sequence: reader.scanner.as_ref().map_or(0, |scanner| scanner.next_sequence),
            records: reader.len(),
            unlisted: headers().filter(|header| last_index.is_none_or(|at| header.offset > at)).cloned().collect(),
            last_index,
            formats: reader.catalog.formats().map(|(at, format)| (at, format.clone())).collect(),
            tail: reader.tail.clone(),
        })
    }
}
