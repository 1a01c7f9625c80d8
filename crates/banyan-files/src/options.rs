//! How a writer batches records, and what survives which crash.

use std::time::Duration;

/// How a [`Writer`](super::Writer) works. [`WriterOptions::default`] suits most.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterOptions {
    /// The field (by its path: `time`, `header.time`) that records are found by in
    /// [`Reader::seek_time`](super::Reader::seek_time). Formats without such a field have records without time.
    pub time_field: Option<String>,
    /// Records are gathered up to about this many bytes, then written as one block. A damaged block costs all its
    /// records. Larger records have blocks of their own.
    pub block_bytes: usize,
    /// When blocks must have reached the system or the disk.
    pub durability: Durability,
}

banyan_ndr::setters!(WriterOptions {
    block_bytes: usize,
    durability: Durability,
} some {
    time_field: impl Into<String>,
});

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        WriterOptions { time_field: None, block_bytes: 128 << 10, durability: Durability::FlushBlocks }
    }
}

/// When blocks must have reached the system or the disk.
///
/// A crash never costs more than what is listed: whatever the policy, the file is readable up to its last complete
/// block, and [`Writer::append`](super::Writer::append) continues there. *The batch* is what was written since the last
/// block was full, or since [`flush`](super::Writer::flush).
///
/// | policy | a crash of the process costs at most | a crash of the machine costs at most |
/// | --- | --- | --- |
/// | `None` | the batch, and what the destination holds back (a file: nothing) | what the system had not written yet |
/// | `FlushBlocks` | the batch | what the system had not written yet (often 30 s) |
/// | `SyncOnClose` | the batch | everything since the start until `finish` returns; then nothing |
/// | `SyncEvery(d)` | the batch | the batch, and the blocks of the last `d` |
/// | `SyncEveryBlock` | the batch | the batch |
///
/// `SyncEvery` is looked at when a block is written: there is no thread that syncs an idle file. Syncing applies to
/// files; on other destinations all but `None` flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Nothing is asked of the destination.
    None,
    /// Blocks are handed to the operating system as soon as they are full.
    FlushBlocks,
    /// And synced to the disk by [`finish`](super::Writer::finish).
    SyncOnClose,
    /// And synced to the disk when a block is written at least this long after the last sync, and by `finish`.
    SyncEvery(Duration),
    /// And synced to the disk, each of them.
    SyncEveryBlock,
}

impl Durability {
    pub(super) fn syncs(self) -> bool {
        !matches!(self, Durability::None | Durability::FlushBlocks)
    }
}
