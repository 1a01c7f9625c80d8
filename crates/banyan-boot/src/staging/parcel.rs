//! Parcels: a file or a directory in parts that are staged one by one.
//!
//! A parcel holds some of what is in a directory, with the directories on the way there, or one file as a whole. A host
//! that has all of it already, with the same contents and modes, gets nothing; so a transfer that was cut goes on with
//! the first parcel that is not complete. An existing directory is kept, and what the parcel holds put into it. A large
//! file is a parcel by itself, and travels in [parts](super::part).
//!
//! Parcels are made while one goes along: no more is kept than the names of the directories that are being read.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Offer;
use super::entry::{HEAD_BYTES, MAX_NAME, is_sound_name};
use super::error::StageError;
use super::pack::{Contents, ParcelPacker};
use super::part::Sliced;
use super::reading::{Links, Reading, Skip, Skipped};
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
    reading: Reading,
    names: Vec<PathBuf>,
    files: u64,
    bytes: u64,
    /// Bytes of contents without holes.
    on_disk: u64,
    /// Contents that had to be read to know how long they are.
    contents: Contents,
}

/// All parcels of a file or directory; see the module.
#[derive(Debug)]
pub struct Parcels {
    source: Source,
    reading: Reading,
    /// What is still to be visited; the next is last.
    left: Vec<PathBuf>,
    skipped: Skipped,
}

impl Parcels {
    /// Of a file or directory, which may itself be reached through symbolic links.
    pub fn of(top: &Path, reading: Reading) -> Parcels {
        let source = Source::new(top, reading.links);
        Parcels { source, reading, left: vec![PathBuf::new()], skipped: Skipped::default() }
    }

    /// What is in none of the parcels so far.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// What has a name; `None` if it is skipped.
    fn look(&mut self, name: &Path) -> Result<Option<Found>, StageError> {
        let skip = match self.source.look(name) {
            Ok(Found::Link { .. }) | Err(StageError::Leaves { .. }) if self.reading.links == Links::Skip => Skip::Link,
            Err(error) if !name.as_os_str().is_empty() => error.skip().ok_or(error)?,
            found => return found.map(Some),
        };
        self.skipped.add(skip, name);
        Ok(None)
    }

    fn fill(&mut self) -> Result<Option<Parcel>, StageError> {
        let (top, reading) = (self.source.path().to_owned(), self.reading);
        let contents = Contents::default();
        let mut parcel = Parcel { top, reading, names: Vec::new(), files: 0, bytes: 0, on_disk: 0, contents };
        let mut contents = HashMap::new();
        let mut directories = HashSet::new();
        let (mut entries, mut name_bytes) = (0, 0);
        while let Some(name) = self.left.pop() {
            let Some(found) = self.look(&name)? else { continue };
            let content = self.source.content_of_unknown_length(&name, &found)?;
            let length = content.as_ref().map_or(found.length(), |content| content.len() as u64);
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
                Found::File { on_disk, .. } => {
                    parcel.files += 1;
                    parcel.on_disk += on_disk;
                }
                Found::Link { .. } => parcel.files += 1,
            }
            entries += 1;
            name_bytes += more_bytes;
            parcel.bytes += length;
            if let Some(content) = content {
                parcel.on_disk += length;
                contents.insert(name.clone(), content.into());
            }
            parcel.names.push(name);
        }
        parcel.contents = contents.into();
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

    pub(super) fn packer(&self) -> ParcelPacker {
        ParcelPacker::listed(&self.top, &self.names, self.reading, Contents::clone(&self.contents))
    }

    /// What it is read from.
    pub(super) fn source(&self) -> Source {
        Source::new(&self.top, self.reading.links)
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
        let (on_disk, times) = (self.on_disk, self.reading.times);
        Offer { number: 0, hash, length: 0, on_disk, directory, path: None, name: None, names, times, large }
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
    let mut source = Source::new(top, Links::Keep);
    let lengths = names.iter().map(|name| {
        let found = source.look(name).ok()?;
        Some((HEAD_BYTES + name.as_os_str().len()) as u64 + found.length())
    });
    let length = lengths.sum::<Option<u64>>();
    length == Some(offer.length) && is_same(top, names, offer)
}

fn is_same(top: &Path, names: &[PathBuf], offer: &Offer) -> bool {
    let packer =
        ParcelPacker::listed(top, names, Reading { links: Links::Keep, times: offer.times }, Contents::default());
    if let Some(large) = &offer.large {
        return Sliced::measure(packer).is_ok_and(|there| there.hash() == large.file);
    }
    packer.measure().is_ok_and(|(hash, _)| hash.to_hex().as_str() == offer.hash)
}
