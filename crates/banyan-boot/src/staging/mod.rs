//! Staging: a file or a directory of the front-end, brought to every agent of a session.
//!
//! The front-end turns it into one [stream of bytes](pack) and hashes that. Agents are asked first who lacks it; the
//! stream then goes down the tree once, only into subtrees that need it, and each agent [stores](store) it under a
//! temporary name, checks the hash, and renames it into place. Nobody ever sees half a file, and what was damaged, or
//! changed while it was read, is refused. Nothing is flushed to the disk: after a power failure a host may lack it.
//!
//! Reading is done by the caller's thread and storing by a [thread of its own](writer), so that a slow file system never
//! keeps a node from its links. At most a few [pieces](PIECE) wait anywhere: the front-end reads no faster than the
//! slowest agent stores.
//!
//! A [parcel](Parcel) goes the same way, but for a large file: that goes in [slices](part), each asked for, sent and
//! checked by itself, and is [put together](assembly) on each host.

pub(crate) mod assembly;
mod call;
pub(crate) mod entry;
mod error;
mod holes;
mod intake;
mod leftover;
mod merge;
pub(crate) mod pack;
pub(crate) mod parcel;
mod parcel_store;
pub(crate) mod part;
mod partial;
pub(crate) mod place;
mod reading;
mod source;
pub(crate) mod store;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_slices;
pub(crate) mod writer;

use std::ffi::OsString;
use std::path::PathBuf;

use banyan_ndr::Record;

use crate::problem::Problem;

pub use assembly::Assembly;
pub use error::StageError;
pub use leftover::{MadeDirectories, remove_leftovers};
pub use parcel::{Parcel, Parcels};
pub use parcel_store::{ParcelError, ParcelStore, Wanted};
pub use part::{Part, Parts};
pub use place::staged_path;
pub use reading::{Links, Reading, Skip, Skipped};
pub use store::remove_leftovers_of;

/// Bytes of a staged stream that travel in one frame: long enough that system calls vanish, short enough that the first
/// agents store while the front-end still reads.
pub(crate) const PIECE: usize = 512 * 1024;

/// Where a staged file or directory goes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Into the user's cache on each host, under the hash of its content; hosts that have it get nothing.
    Cache,
    /// To this path on each host; from the home directory if it is relative. An existing file is replaced, an existing
    /// directory never.
    Path(PathBuf),
}

/// What staging did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StageReport {
    /// Where it is now, in the same words for all hosts: the path that was asked for, or `@cache/HASH`. A
    /// [`ProcessDistribution`](crate::ProcessDistribution) may have such an `exe` (also `@cache/HASH/bin/program`), and
    /// members find what was staged with [`staged_path`].
    pub path: PathBuf,
    /// BLAKE3 of what was sent, in hexadecimal: names, mode bits and contents.
    pub hash: String,
    /// Bytes that had to be sent to an agent that lacked it.
    pub bytes: u64,
    /// Agents that got it.
    pub stored: u32,
    /// Agents that had it.
    pub had: u32,
    /// Pieces of data that the front-end sent; 0 if nobody lacked it.
    pub pieces: u64,
}

/// Where a [`Parcel`] goes on each host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParcelTarget {
    /// A path; from the home directory if it is relative. `{host}` stands for the name of the host.
    pub path: PathBuf,
    /// The name it gets in there if that path is a directory on the host, other than a copy of it; `None`: it gets that path
    /// in any case.
    pub name: Option<OsString>,
    /// Whether hosts keep what has come of a large file when it is cut, so that another session goes on from there.
    pub partial: bool,
}

/// What became of a [`Parcel`].
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Delivery {
    /// Bytes of contents that were sent, counted for each agent that got them.
    pub delivered: u64,
    /// Bytes of contents that agents had, counted likewise.
    pub had_bytes: u64,
    /// Agents that got it.
    pub stored: u32,
    /// Agents that had it, with the same contents and modes.
    pub had: u32,
    /// Agents that have not got it.
    pub failed: u32,
    /// Their causes.
    pub problems: Vec<Problem>,
}

/// What agents are asked first: do you have this?
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Offer {
    /// Which transfer of the session.
    pub(crate) number: u32,
    /// BLAKE3 of the stream in hexadecimal.
    pub(crate) hash: String,
    /// Bytes of the stream.
    pub(crate) length: u64,
    /// Bytes of its contents that take room on a disk: without holes.
    pub(crate) on_disk: u64,
    /// Whether it is a directory.
    pub(crate) directory: bool,
    /// Where it goes; `None`: into the cache.
    pub(crate) path: Option<Vec<u8>>,
    /// The name it gets in there if that is a directory.
    pub(crate) name: Option<Vec<u8>>,
    /// What a [parcel](parcel) holds, in the order of the stream, with 0 between the names; `None`: it is no parcel.
    pub(crate) names: Option<Vec<u8>>,
    /// Whether the times of files are kept.
    pub(crate) times: bool,
    /// Which part of a large file's way this is; `None`: all of it at once.
    pub(crate) large: Option<Large>,
}

/// A [part](part) of a large file's way.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Large {
    /// Which file: BLAKE3 of its names and modes and of the hashes of its slices, in hexadecimal.
    pub(crate) file: String,
    /// One of [`QUESTION`](part::QUESTION), [`SLICE`](part::SLICE) and [`END`](part::END).
    pub(crate) step: u32,
    /// Where the slice begins.
    pub(crate) offset: u64,
    /// Bytes of the whole file.
    pub(crate) total: u64,
    /// Whether what came is kept when the rest does not.
    pub(crate) keep: bool,
}

/// How a transfer stands in a subtree, in agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) had: u32,
    pub(crate) needs: u32,
    pub(crate) stored: u32,
    pub(crate) failed: u32,
    /// They had not come when it went down, and may come yet.
    pub(crate) late: u32,
}

impl Tally {
    pub(crate) fn plus(self, other: Tally) -> Tally {
        Tally {
            had: self.had.saturating_add(other.had),
            needs: self.needs.saturating_add(other.needs),
            stored: self.stored.saturating_add(other.stored),
            failed: self.failed.saturating_add(other.failed),
            late: self.late.saturating_add(other.late),
        }
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        [self.had, self.needs, self.stored, self.failed, self.late].into_iter().flat_map(u32::to_le_bytes).collect()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Tally> {
        let (words, []) = bytes.as_chunks() else { return None };
        let [had, needs, stored, failed, late] = *words else { return None };
        let [had, needs, stored, failed, late] = [had, needs, stored, failed, late].map(u32::from_le_bytes);
        Some(Tally { had, needs, stored, failed, late })
    }
}
