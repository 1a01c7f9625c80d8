//! What is wrong with a file, where, and what it cost.

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
