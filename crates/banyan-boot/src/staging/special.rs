//! What is never replaced, and why not: whoever names a device, a FIFO or a socket means what is behind it, and a file in
//! its place would take it from everyone else.

use std::ffi::OsStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType};

/// Something that is neither a file nor a directory nor a link to one of them.
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

impl std::fmt::Display for Special {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Special::Device => "a device",
            Special::Fifo => "a FIFO",
            Special::Socket => "a socket",
        })
    }
}
