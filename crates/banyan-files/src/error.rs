//! Why a record file could not be read or written.

use std::io;
use std::path::PathBuf;

use super::Damage;
use banyan_ndr::EncodeError;

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
