//! What can go wrong with a record file: errors, and damage that a reader goes on behind.

use std::io;
use std::path::PathBuf;

use banyan_ndr::EncodeError;

/// A stretch of a file that could not be used. Everything outside of all damage was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Where it begins.
    pub offset: u64,
    /// How many bytes it takes.
    pub length: u64,
    /// How many records it cost; `None` when that cannot be known, as nothing behind it says how many there were.
    pub records_lost: Option<u64>,
    /// What is wrong.
    pub reason: DamageReason,
}

/// What is wrong with a stretch of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageReason {
    /// The file header; the blocks are read all the same.
    #[error("the file header is damaged")]
    FileHeader,
    /// The file ends within a block: the writer stopped there, or is still at it.
    #[error("the file ends within a block")]
    TornTail,
    /// No block begins where one should.
    #[error("there is no block where one should begin")]
    NoBlock,
    /// The payload of a block does not have the checksum in its header.
    #[error("the block's checksum is wrong")]
    Checksum,
    /// The checksums are right, but what the block says cannot be.
    #[error("the block contradicts itself or those before it")]
    Inconsistent,
    /// The block is whole, but describes some of its records by a format whose description is lost.
    #[error("the format described at {0} is lost")]
    FormatLost(u64),
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at bytes {}..{}", self.reason, self.offset, self.offset.saturating_add(self.length))?;
        match self.records_lost {
            Some(0) => write!(f, " (no record lost)"),
            Some(1) => write!(f, " (1 record lost)"),
            Some(count) => write!(f, " ({count} records lost)"),
            None => write!(f, " (records lost: unknown)"),
        }
    }
}

/// Why a file or a record in it cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system refused.
    #[error("cannot read the record file: {0}")]
    Io(#[from] io::Error),
    /// Something else.
    #[error("not a record file: it has no file header, and no block in its first {searched} bytes")]
    NotARecordFile {
        /// How far blocks were looked for.
        searched: u64,
    },
    /// A later version wrote it.
    #[error("the record file has version {0}, this program reads version 1")]
    Version(u32),
    /// The file became shorter while it was read.
    #[error("the record file was cut to {now} bytes while it was read; it had {before} (open it anew)")]
    Cut {
        /// Bytes read before.
        before: u64,
        /// Bytes there now.
        now: u64,
    },
    /// There is no record of this number.
    #[error("there is no record {number}: the file has {len}, counted from 0")]
    NoSuchRecord {
        /// The number.
        number: u64,
        /// How many there are.
        len: u64,
    },
    /// The record was in a part of the file that is damaged.
    #[error("record {number} is lost{}", .damage.as_ref().map(|damage| format!(": {damage}")).unwrap_or_default())]
    Lost {
        /// The number.
        number: u64,
        /// The damage, when its place is known.
        damage: Option<Damage>,
    },
}

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system refused.
    #[error("cannot write the record file: {0}")]
    Io(#[from] io::Error),
    /// Another writer has the file.
    #[error("{path}: another writer has this record file open; records of two writers would overwrite each other")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The path leads to something that cannot be locked and extended.
    #[error("{path}: not a regular file; use Writer::stream to write records to it")]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file to append to cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A body that is none of its format.
    #[error("the body has {found} bytes, format {format} takes {wanted}{}", if *.or_more { " or more" } else { "" })]
    Size {
        /// The format's name.
        format: String,
        /// Bytes given.
        found: usize,
        /// Bytes of the fixed part.
        wanted: usize,
        /// Whether the format has references.
        or_more: bool,
    },
    /// The record has no body.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A write failed before, so that what the file holds behind the last block is unknown.
    #[error("an earlier write to this record file failed; open it again with Writer::append, which repairs its end")]
    Failed,
}
