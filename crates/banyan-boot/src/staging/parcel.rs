//! Parcels: a file or a directory in parts that are staged one by one.
//!
//! A parcel holds some of what is in a directory, with the directories on the way there, or one file as a whole. A host
//! that has all of it already, with the same contents and modes, gets nothing; so a transfer that was cut goes on with
//! the first parcel that is not complete. An existing directory is kept, and what the parcel holds put into it. A large
//! file is a parcel by itself, and travels in [parts](super::part).
//!
//! Parcels are made while one goes along: no more is kept than the names of the directories that are being read.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Offer;
use super::entry::{HEAD_BYTES, MAX_NAME, is_sound_name};
use super::error::StageError;
use super::pack::Packer;
use super::part::Sliced;
use super::source::{Found, Source};

/// Names in a parcel at most.
const NAMES: usize = 1024;

/// Bytes of its names at most, so that the question who has it is short; those of its first entry do not count, with the
/// directories on its way.
const NAME_BYTES: usize = 64 << 10;

/// Bytes of contents in a parcel at most, unless it has one file: what is sent again when a transfer was cut.
pub(super) const CONTENT: u64 = 32 << 20;

/// Names that a description may have: the first entry may bring as many directories along as fit into a path.
const MOST_NAMES: usize = NAMES + MAX_NAME / 2;

/// A part of a file or directory.
#[derive(Debug, Clone)]
pub struct Parcel {
    top: PathBuf,
    names: Vec<PathBuf>,
    files: u64,
    bytes: u64,
}

/// All parcels of a file or directory; see the module.
#[derive(Debug)]
pub struct Parcels {
    source: Source,
    /// What is still to be visited; the next is last.
    left: Vec<PathBuf>,
}

impl Parcels {
    /// Of a file or directory, which may itself be reached through symbolic links.
    pub fn of(top: &Path) -> Parcels {
        Parcels { source: Source::new(top), left: vec![PathBuf::new()] }
    }

    fn fill(&mut self) -> Result<Option<Parcel>, StageError> {
        let mut parcel = Parcel { top: self.source.path().to_owned(), names: Vec::new(), files: 0, bytes: 0 };
        let mut directories = HashSet::new();
        let (mut entries, mut name_bytes) = (0, 0);
        while let Some(name) = self.left.pop() {
            let found = self.source.look(&name)?;
            let length = found.length();
            let ancestors: Vec<&Path> = name.ancestors().skip(1).filter(|path| !directories.contains(*path)).collect();
            let more_bytes =
                ancestors.iter().copied().chain([&*name]).map(|path| path.as_os_str().len() + 1).sum::<usize>();
            let full = parcel.names.len() + ancestors.len() >= NAMES
                || name_bytes + more_bytes > NAME_BYTES
                || parcel.files > 0 && parcel.bytes + length > CONTENT;
            if entries > 0 && full {
                self.left.push(name);
                break;
            }
            for ancestor in ancestors.into_iter().rev() {
                directories.insert(ancestor.to_owned());
                parcel.names.push(ancestor.to_owned());
            }
            match found {
                Found::Directory { .. } => {
                    self.left.extend(self.source.names_in(&name)?);
                    directories.insert(name.clone());
                }
                Found::File { .. } | Found::Link { .. } => parcel.files += 1,
            }
            entries += 1;
            name_bytes += more_bytes;
            parcel.bytes += length;
            parcel.names.push(name);
        }
        Ok((entries > 0).then_some(parcel))
    }
}

impl Iterator for Parcels {
    type Item = Result<Parcel, StageError>;

    /// The next parcel; after an error there is none.
    fn next(&mut self) -> Option<Self::Item> {
        let parcel = self.fill().transpose();
        if matches!(parcel, Some(Err(_))) {
            self.left.clear();
        }
        parcel
    }
}

impl Parcel {
    /// Files and symbolic links in it.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Bytes of their contents.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    pub(super) fn packer(&self) -> Packer {
        Packer::listed(&self.top, &self.names)
    }

    /// Whether it is one file that goes in slices.
    pub(super) fn is_large(&self) -> bool {
        self.files == 1 && self.bytes > CONTENT
    }

    /// The name of what it ends with.
    pub(super) fn last(&self) -> &Path {
        self.names.last().map_or(Path::new(""), PathBuf::as_path)
    }

    /// What is said of all its parts, before it is known where it goes.
    pub(super) fn announcement(&self) -> Offer {
        let names: Vec<&[u8]> = self.names.iter().map(|name| name.as_os_str().as_bytes()).collect();
        let directory = self.top.is_dir();
        let (hash, names, large) = (String::new(), Some(names.join(&0)), None);
        Offer { number: 0, hash, length: 0, directory, path: None, name: None, names, large }
    }
}

/// The names that someone says a parcel has; `None` if no parcel has such names.
pub(super) fn names_of(text: &[u8]) -> Option<Vec<PathBuf>> {
    let names = text.split(|byte| *byte == 0).take(MOST_NAMES + 1);
    let names: Vec<PathBuf> = names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
    let (top, rest) = names.split_first()?;
    let sound = top.as_os_str().is_empty() && rest.iter().all(|name| is_sound_name(name));
    let sound = sound && rest.iter().collect::<HashSet<_>>().len() == rest.len();
    (sound && names.len() <= MOST_NAMES).then_some(names)
}

/// Whether a name is one that something can have in a directory.
pub(super) fn is_one_name(name: &OsString) -> bool {
    let path = Path::new(name);
    is_sound_name(path) && path.components().count() == 1
}

/// Whether a file or directory has what a parcel holds: the same stream would come from it.
pub(super) fn has(top: &Path, names: &[PathBuf], offer: &Offer) -> bool {
    // What is missing or unreadable is not there; lengths are compared first, which takes no reading.
    let mut source = Source::new(top);
    let lengths = names.iter().map(|name| {
        let found = source.look(name).ok()?;
        Some((HEAD_BYTES + name.as_os_str().len()) as u64 + found.length())
    });
    let length = lengths.sum::<Option<u64>>();
    length == Some(offer.length) && is_same(top, names, offer)
}

fn is_same(top: &Path, names: &[PathBuf], offer: &Offer) -> bool {
    if let Some(large) = &offer.large {
        return Sliced::measure(Packer::listed(top, names)).is_ok_and(|there| there.hash() == large.file);
    }
    Packer::listed(top, names).measure().is_ok_and(|(hash, _)| hash.to_hex().as_str() == offer.hash)
}
