//! The bytes of a record file (`docs/record-files.md`): its header, the header of every block, and the payloads that are a
//! few byte strings, which formats, comments and attributes have.
//!
//! Parsing tells a header from other bytes with certainty enough to resynchronise on: marker, file, place in the file
//! and checksum must all be right. It allocates nothing and trusts nothing.

use std::hash::{BuildHasher, Hasher, RandomState};

use super::time::{Time, TimeKind};

/// Bytes of the file header.
pub(super) const FILE_HEADER: usize = 32;
/// Bytes of a block header.
pub(super) const BLOCK_HEADER: usize = 80;
/// Blocks and bodies start at multiples of this.
pub(super) const ALIGN: usize = banyan_ndr::wire::BODY_ALIGN;
/// The first bytes of every block.
pub(super) const MARKER: [u8; 8] = *b"\xb1bNDRblk";

/// The first bytes of a file. Like PNG's: a transfer that mangles line ends or the high bit is noticed at once.
pub(super) const MAGIC: [u8; 8] = *b"\x89bNDR\r\n\x1a";
const VERSION: u32 = 1;

/// Rounds up to a multiple of [`ALIGN`].
pub(super) fn aligned(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(ALIGN)
}

/// A `u32` at `at`. The callers slice to known lengths first.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A `u64` at `at`.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// A number drawn when a file is made and repeated in its blocks, so that a file stored within a record of another is
/// never mistaken for part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(pub(super) u64);

impl FileId {
    /// A new one. The standard library's hash keys come from the system's random numbers.
    pub(super) fn random() -> FileId {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        FileId(hasher.finish())
    }
}

/// What the first bytes of a file are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileHeader {
    /// A file of this version.
    Good(FileId),
    /// A file that a later version wrote.
    Version(u32),
    /// The checksum is wrong, or it is no record file.
    Bad,
}

impl FileHeader {
    pub(super) fn encode(id: FileId) -> [u8; FILE_HEADER] {
        let mut bytes = [0; FILE_HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&id.0.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(super) fn parse(bytes: &[u8; FILE_HEADER]) -> FileHeader {
        if bytes[..8] != MAGIC || u32_at(bytes, 28) != crc32c::crc32c(&bytes[..28]) {
            return FileHeader::Bad;
        }
        match u32_at(bytes, 8) {
            VERSION => FileHeader::Good(FileId(u64_at(bytes, 16))),
            later => FileHeader::Version(later),
        }
    }
}

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Records.
    Records,
    /// The description of a format.
    Format,
    /// A comment.
    Comment,
    /// An attribute.
    Attribute,
    /// The headers of the blocks since the index before.
    Index,
}

impl Kind {
    fn code(self) -> u8 {
        match self {
            Kind::Records => 1,
            Kind::Format => 2,
            Kind::Comment => 3,
            Kind::Attribute => 4,
            Kind::Index => 5,
        }
    }

    fn from_code(code: u8) -> Option<Kind> {
        [Kind::Records, Kind::Format, Kind::Comment, Kind::Attribute, Kind::Index]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

/// The header of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BlockHeader {
    pub(super) file: FileId,
    /// Where it stands in the file.
    pub(super) offset: u64,
    /// Number of the block.
    pub(super) sequence: u64,
    /// Number of records in all blocks before.
    pub(super) first_record: u64,
    /// Bytes behind the header, a multiple of 16.
    pub(super) payload: u64,
    /// The earliest and the latest time in it.
    pub(super) times: Option<(Time, Time)>,
    pub(super) records: u32,
    pub(super) kind: Kind,
    pub(super) payload_crc: u32,
}

impl BlockHeader {
    /// As bytes.
    pub(super) fn encode(&self) -> [u8; BLOCK_HEADER] {
        let (min, max) = match self.times {
            Some((min, max)) => (min.encode(), max.encode()),
            None => ((TimeKind::None, 0), (TimeKind::None, 0)),
        };
        let mut bytes = [0; BLOCK_HEADER];
        bytes[..8].copy_from_slice(&MARKER);
        let words = [self.file.0, self.offset, self.sequence, self.first_record, self.payload, min.1, max.1];
        for (place, word) in bytes[8..64].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[64..68].copy_from_slice(&self.records.to_le_bytes());
        bytes[68] = self.kind.code();
        bytes[69] = min.0 as u8;
        bytes[70] = max.0 as u8;
        bytes[72..76].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..76]);
        bytes[76..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The header of a block at `offset`, if these bytes are one. Its end fits 63 bits, its numbers do not wrap.
    pub(super) fn parse(bytes: &[u8; BLOCK_HEADER], offset: u64) -> Option<BlockHeader> {
        if bytes[..8] != MARKER || u64_at(bytes, 16) != offset || u32_at(bytes, 76) != crc32c::crc32c(&bytes[..76]) {
            return None;
        }
        let header = BlockHeader {
            file: FileId(u64_at(bytes, 8)),
            offset,
            sequence: u64_at(bytes, 24),
            first_record: u64_at(bytes, 32),
            payload: u64_at(bytes, 40),
            times: times(bytes)?,
            records: u32_at(bytes, 64),
            kind: Kind::from_code(bytes[68])?,
            payload_crc: u32_at(bytes, 72),
        };
        let end = offset.checked_add(BLOCK_HEADER as u64)?.checked_add(header.payload)?;
        header.first_record.checked_add(u64::from(header.records))?;
        header.sequence.checked_add(1)?;
        let sound = header.payload.is_multiple_of(ALIGN as u64)
            && i64::try_from(end).is_ok()
            && (header.records > 0) == (header.kind == Kind::Records);
        sound.then_some(header)
    }

    /// Where the payload begins.
    pub(super) fn payload_at(&self) -> u64 {
        self.offset + BLOCK_HEADER as u64
    }

    /// Where the next block begins.
    pub(super) fn end(&self) -> u64 {
        self.payload_at() + self.payload
    }

    /// Number of the first record behind the block.
    pub(super) fn next_record(&self) -> u64 {
        self.first_record + u64::from(self.records)
    }
}

fn times(bytes: &[u8; BLOCK_HEADER]) -> Option<Option<(Time, Time)>> {
    let min = Time::decode(TimeKind::from_code(bytes[69])?, u64_at(bytes, 48))?;
    let max = Time::decode(TimeKind::from_code(bytes[70])?, u64_at(bytes, 56))?;
    match (min, max) {
        (None, None) => Some(None),
        (Some(min), Some(max)) if min <= max => Some(Some((min, max))),
        _ => None,
    }
}

/// Each string as its length (`u64`), its bytes, and zeros to a multiple of 8; the whole to a multiple of 16.
pub(super) fn encode_texts(texts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for text in texts {
        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        out.extend_from_slice(text);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    out.resize(aligned(out.len()).expect("memory is smaller than the address space"), 0);
    out
}

/// Takes a string from the front.
pub(super) fn take_text<'a>(payload: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (head, rest) = payload.split_at_checked(8)?;
    let len = usize::try_from(u64_at(head, 0)).ok()?;
    let text = rest.get(..len)?;
    *payload = rest.get(len.checked_next_multiple_of(8)?..)?;
    Some(text)
}

/// The `N` strings of a payload; nothing but zeros may follow.
pub(super) fn decode_texts<const N: usize>(mut payload: &[u8]) -> Option<[&[u8]; N]> {
    let mut texts = [&[][..]; N];
    for text in &mut texts {
        *text = take_text(&mut payload)?;
    }
    payload.iter().all(|byte| *byte == 0).then_some(texts)
}
