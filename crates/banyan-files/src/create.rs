//! Opening files to write: one writer at a time, and never by overwriting what someone may be reading.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use super::error::WriteError;
use super::options::Durability;

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
