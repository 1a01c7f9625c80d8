//! Finding blocks one after the other, and the next one behind damage.
//!
//! The scanner does no reading: it is offered headers and keeps account of where the next block must be, which records
//! are missing, and what was skipped.

use super::error::{Damage, DamageReason};
use super::layout::{BLOCK_HEADER, BlockHeader, FILE_HEADER, FileId};

/// How far the first block is looked for in a file whose header is damaged, so that something that is no record file
/// at all is refused soon.
pub(super) const HEADER_SEARCH: u64 = 1 << 20;

/// Where in a file a reader is.
#[derive(Debug)]
pub(super) struct Scanner {
    /// The file's id; that of the first block when the file header is damaged.
    file: Option<FileId>,
    /// Where the last block ended: everything before is accounted for.
    pub(super) at: u64,
    /// Number of the next record.
    pub(super) next_record: u64,
    /// Number of the next block.
    pub(super) next_sequence: u64,
    /// What was skipped.
    pub(super) damage: Vec<Damage>,
}

impl Scanner {
    /// Behind the file header.
    pub(super) fn new(file: Option<FileId>) -> Scanner {
        let mut damage = Vec::new();
        if file.is_none() {
            damage.push(Damage {
                offset: 0,
                length: FILE_HEADER as u64,
                records_lost: Some(0),
                reason: DamageReason::FileHeader,
            });
        }
        Scanner { file, at: FILE_HEADER as u64, next_record: 0, next_sequence: 0, damage }
    }

    pub(super) fn file(&self) -> Option<FileId> {
        self.file
    }

    /// The header at `at`, if it is that of a block of this file that can follow those accepted.
    pub(super) fn candidate(&self, at: u64, bytes: &[u8; BLOCK_HEADER]) -> Option<BlockHeader> {
        BlockHeader::parse(bytes, at).filter(|header| self.can_follow(header))
    }

    fn can_follow(&self, header: &BlockHeader) -> bool {
        self.file.is_none_or(|file| file == header.file)
            && header.offset >= self.at
            && header.first_record >= self.next_record
            && header.sequence >= self.next_sequence
    }

    /// Whether it follows with nothing lost in between.
    pub(super) fn continues_with(&self, header: &BlockHeader) -> bool {
        self.can_follow(header)
            && header.offset == self.at
            && header.first_record == self.next_record
            && header.sequence == self.next_sequence
    }

    /// Goes on behind a block that [`candidate`](Self::candidate) gave; what lies between is damage.
    pub(super) fn accept(&mut self, header: &BlockHeader) {
        if !self.continues_with(header) {
            let length = header.offset - self.at;
            self.damage.push(Damage {
                offset: self.at,
                length,
                records_lost: Some(header.first_record - self.next_record),
                reason: if length == 0 { DamageReason::Inconsistent } else { DamageReason::NoBlock },
            });
        }
        self.file = Some(header.file);
        self.at = header.end();
        self.next_record = header.next_record();
        self.next_sequence = header.sequence + 1;
    }

    /// The damage when nothing usable lies between the last block and the end; `torn` is a header that stands there.
    pub(super) fn tail(&self, end: u64, torn: Option<&BlockHeader>) -> Option<Damage> {
        torn_tail(self.at, end, torn.map(|header| header.next_record() - self.next_record))
    }
}

/// The damage when a file ends at `end`, but what is complete ends at `at`.
pub(super) fn torn_tail(at: u64, end: u64, records_lost: Option<u64>) -> Option<Damage> {
    (end > at).then(|| Damage { offset: at, length: end - at, records_lost, reason: DamageReason::TornTail })
}
