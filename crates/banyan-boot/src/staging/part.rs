//! The parts in which a parcel is offered: all of it at once, or a large file in slices.
//!
//! The way of a large file has three steps. A question: who lacks it? Then one slice after the other, in order, each
//! with its own hash: whoever has it already, from a transfer that was cut, gets nothing. In the end what stands before
//! its content (directories, names, modes), upon which hosts that have all slices put the file into place.
//!
//! The hashes of all slices are taken before the first is sent. So what changes while it is sent is noticed, and what
//! arrives is what the file was when it was first read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::error::StageError;
use super::pack::ParcelPacker;
use super::parcel::{CONTENT, Parcel};
use super::{Large, Offer, PIECE, ParcelTarget};
use crate::described;

/// A step: who lacks the file?
pub(crate) const QUESTION: u32 = 0;
/// A step: a slice of the file.
pub(crate) const SLICE: u32 = 1;
/// A step: all slices are there.
pub(crate) const END: u32 = 2;

/// Bytes of a slice at most: what is sent again when a transfer was cut.
pub(super) const SLICE_BYTES: u64 = CONTENT;

/// A large file as it was read: what stands before its content, and the hashes of its slices.
#[derive(Debug)]
pub(super) struct Sliced {
    heads: Vec<u8>,
    slices: Vec<blake3::Hash>,
    total: u64,
}

impl Sliced {
    /// Reads all of it.
    pub(super) fn measure(packer: ParcelPacker) -> Result<Sliced, StageError> {
        let (heads, mut file, path, total) = packer.heads()?;
        let mut piece = Vec::with_capacity(PIECE);
        let (mut slices, mut left) = (Vec::new(), total);
        while left > 0 {
            let mut hasher = blake3::Hasher::new();
            let end = left.saturating_sub(SLICE_BYTES);
            while left > end {
                left -= read(&mut file, &path, left - end, &mut piece)?;
                hasher.update(&piece);
            }
            slices.push(hasher.finalize());
        }
        Ok(Sliced { heads, slices, total })
    }

    /// What the whole file is known by.
    pub(super) fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.heads);
        for slice in &self.slices {
            hasher.update(slice.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// Reads the next piece of a file of which so much is left.
fn read(file: &mut File, path: &Path, left: u64, piece: &mut Vec<u8>) -> Result<u64, StageError> {
    let wanted = left.min(PIECE as u64);
    piece.clear();
    match file.take(wanted).read_to_end(piece) {
        Ok(got) if got as u64 == wanted => Ok(wanted),
        Ok(_) => Err(StageError::Changed(path.to_owned())),
        Err(source) => Err(StageError::Read { path: path.to_owned(), source }),
    }
}

/// All parts of a parcel, in the order in which they are offered.
#[derive(Debug)]
pub struct Parts<'p> {
    parcel: &'p Parcel,
    announcement: Offer,
    sliced: Option<Sliced>,
    file: String,
    next: usize,
}

/// A part of a parcel.
#[derive(Debug)]
pub struct Part<'p> {
    parcel: &'p Parcel,
    offer: Offer,
    files: u64,
    bytes: u64,
    content: PartContent,
}

#[derive(Debug, Clone)]
enum PartContent {
    /// The stream of the whole parcel.
    Parcel,
    /// Nothing is sent, whatever the answer.
    Nothing,
    /// Bytes of the file from an offset.
    Slice(u64),
    /// What stands before the content of the file.
    Heads(Bytes),
}

impl Parcel {
    /// The parts it goes in. Reads all of it, for the hashes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn parts(&self) -> Result<Parts<'_>, StageError> {
        let mut announcement = self.announcement();
        let sliced = if self.is_large() {
            Some(Sliced::measure(self.packer())?)
        } else {
            let (hash, length) = self.packer().measure()?;
            (announcement.hash, announcement.length) = (hash.to_hex().to_string(), length);
            None
        };
        let file = sliced.as_ref().map(Sliced::hash).unwrap_or_default();
        Ok(Parts { parcel: self, announcement, sliced, file, next: 0 })
    }
}

impl Parcel {
    /// The file it ends with, at an offset, and its path.
    fn open_at(&self, offset: u64) -> Result<(File, PathBuf), StageError> {
        let mut source = self.source();
        let path = source.below(self.last());
        let (mut file, _) = source.read(self.last())?;
        match file.seek(SeekFrom::Start(offset)) {
            Ok(_) => Ok((file, path)),
            Err(source) => Err(StageError::Read { path, source }),
        }
    }
}

impl Parts<'_> {
    fn of_large(&self, sliced: &Sliced) -> Option<(Offer, u64, u64, PartContent)> {
        let offer = |step: u32, offset: u64, hash: String, length: u64| {
            let large = Large { file: self.file.clone(), step, offset, total: sliced.total, keep: false };
            Offer { hash, length, large: Some(large), ..self.announcement.clone() }
        };
        let Some(slice) = self.next.checked_sub(1) else {
            let length = sliced.total.saturating_add(sliced.heads.len() as u64);
            let question = offer(QUESTION, 0, self.file.clone(), length);
            return Some((question, self.parcel.files(), sliced.total, PartContent::Nothing));
        };
        if let Some(hash) = sliced.slices.get(slice) {
            let offset = slice as u64 * SLICE_BYTES;
            let length = SLICE_BYTES.min(sliced.total - offset);
            return Some((
                offer(SLICE, offset, hash.to_hex().to_string(), length),
                0,
                length,
                PartContent::Slice(offset),
            ));
        }
        let hash = blake3::hash(&sliced.heads).to_hex().to_string();
        let end = offer(END, 0, hash, sliced.heads.len() as u64);
        let heads = PartContent::Heads(sliced.heads.clone().into());
        (slice == sliced.slices.len()).then_some((end, self.parcel.files(), 0, heads))
    }
}

impl<'p> Iterator for Parts<'p> {
    type Item = Part<'p>;

    fn next(&mut self) -> Option<Part<'p>> {
        let parcel = self.parcel;
        let (offer, files, bytes, content) = match &self.sliced {
            Some(sliced) => self.of_large(sliced)?,
            None if self.next > 0 => return None,
            None => (self.announcement.clone(), parcel.files(), parcel.bytes(), PartContent::Parcel),
        };
        self.next += 1;
        Some(Part { parcel, offer, files, bytes, content })
    }
}

/// Where the bytes of a part come from.
#[derive(Debug)]
enum Pieces {
    Packed(ParcelPacker),
    Slice { open: Option<(File, PathBuf)>, offset: u64, left: u64 },
    One(Option<Bytes>),
}

impl Pieces {
    fn next(&mut self, parcel: &Parcel) -> Result<Option<Bytes>, StageError> {
        match self {
            Pieces::Packed(packer) => packer.next(),
            Pieces::One(piece) => Ok(piece.take()),
            Pieces::Slice { left: 0, .. } => Ok(None),
            Pieces::Slice { open, offset, left } => {
                let (mut file, path) = match open.take() {
                    Some(open) => open,
                    None => parcel.open_at(*offset)?,
                };
                let mut piece = Vec::with_capacity(PIECE);
                *left -= read(&mut file, &path, *left, &mut piece)?;
                *open = Some((file, path));
                Ok(Some(piece.into()))
            }
        }
    }
}

impl Part<'_> {
    /// Files and symbolic links that are complete with it.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Bytes of their contents.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it only asks who lacks the file whose slices follow. Nothing is sent for it; and whoever has that file need
    /// not be offered the other parts.
    pub fn is_question(&self) -> bool {
        matches!(self.content, PartContent::Nothing)
    }

    /// What someone must know who has no session and [stores](super::ParcelStore) the part, and how many bytes the
    /// [pieces](Part::pieces) have together; those of all slices, for a question.
    ///
    /// # Errors
    /// When its names are too long.
    pub fn describe(&self) -> Result<(Bytes, u64), StageError> {
        let description =
            described::encode(&self.offer).map_err(|_| StageError::TooLong(self.parcel.top().to_owned()))?;
        Ok((description, self.offer.length))
    }

    /// The stream of its bytes, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = Result<Bytes, StageError>> {
        let mut pieces = match &self.content {
            PartContent::Parcel => Pieces::Packed(self.parcel.packer()),
            PartContent::Nothing => Pieces::One(None),
            PartContent::Slice(offset) => Pieces::Slice { open: None, offset: *offset, left: self.offer.length },
            PartContent::Heads(heads) => Pieces::One(Some(heads.clone())),
        };
        let parcel = self.parcel;
        std::iter::from_fn(move || pieces.next(parcel).transpose())
    }

    /// Under a number, for a place.
    pub(super) fn offer(&self, number: u32, to: &ParcelTarget) -> Offer {
        let bytes = |text: &OsStr| text.as_bytes().to_vec();
        let large = self.offer.large.clone().map(|large| Large { keep: to.partial, ..large });
        let (path, name) = (Some(bytes(to.path.as_os_str())), to.name.as_deref().map(bytes));
        Offer { number, path, name, large, ..self.offer.clone() }
    }

    pub(super) fn top(&self) -> &Path {
        self.parcel.top()
    }
}
