//! Reading a record file: any record by its number, all in order, some by time; what is damaged, and what it cost.
//!
//! Records keep the numbers they were written under, whatever is lost. Blocks of records are checked when they are
//! first touched, and never again. How a file is opened and followed is in `open`.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use banyan_ndr::{Buffer, Format, Limits};

use super::catalog::{Catalog, Comment};
use super::error::{Damage, DamageReason, ReadError};
use super::layout::{BLOCK_HEADER, BlockHeader, Kind};
use super::scan::Scanner;
use super::store::Store;
use super::table::{Checked, Cursor, Table, TableRecord};
use super::time::{Time, Timeline};

/// An open record file.
///
/// A reader can be shared between threads; records borrow from it.
#[derive(Debug)]
pub struct Reader {
    pub(super) store: Store,
    pub(super) limits: Limits,
    pub(super) scanner: Option<Scanner>,
    pub(super) catalog: Catalog,
    pub(super) blocks: Vec<Block>,
    pub(super) tail: Option<Damage>,
    pub(super) indexed: bool,
    pub(super) timeline: OnceLock<Timeline>,
}

/// A block, and what is known of it.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) header: BlockHeader,
    state: AtomicU8,
    /// Its bytes, where they are not used in place. They are checked once, so they must not change afterwards.
    copy: OnceLock<Option<Buffer>>,
}

/// What is known of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    Unchecked,
    Whole,
    FormatLost,
    Header,
    Checksum,
    Inconsistent,
}

impl Block {
    pub(super) fn new(header: BlockHeader, state: State) -> Block {
        Block { header, state: AtomicU8::new(state as u8), copy: OnceLock::new() }
    }

    pub(super) fn state(&self) -> State {
        use State::{Checksum, FormatLost, Header, Inconsistent, Unchecked, Whole};
        let code = self.state.load(Ordering::Relaxed);
        [Unchecked, Whole, FormatLost, Header, Checksum, Inconsistent][usize::from(code)]
    }

    pub(super) fn set(&self, state: State) {
        // Relaxed: every thread that checks a block comes to the same result, and nothing else depends on it.
        self.state.store(state as u8, Ordering::Relaxed);
    }
}

impl Reader {
    /// How many records were written, lost ones included.
    pub fn len(&self) -> u64 {
        self.scanner.as_ref().map_or(0, |scanner| scanner.next_record)
    }

    /// Whether no record was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The record of this number, counted from 0.
    pub fn record(&self, number: u64) -> Result<RecordRef<'_>, ReadError> {
        if number >= self.len() {
            return Err(ReadError::NoSuchRecord { number, len: self.len() });
        }
        let lost = |damage| ReadError::Lost { number, damage };
        let index = self.block_of(number);
        let block = self.blocks.get(index).filter(|block| block.header.first_record <= number);
        let Some(block) = block else {
            return Err(lost(self.gap_before(index)));
        };
        let record = self.table(block).and_then(|table| {
            let mut cursor = table.cursor();
            cursor.skip_records(number - block.header.first_record)?;
            let record = cursor.next()?;
            let format = self.catalog.format(record.format)?;
            Some(RecordRef::new(number, format, record, block.header.payload_at()))
        });
        record.ok_or_else(|| lost(self.block_damage(block)))
    }

    /// The records from number `from` on, in order, without those that are lost ([`damage`](Self::damage) has them).
    pub fn records(&self, from: u64) -> Records<'_> {
        Records::new(self, from)
    }

    /// The formats in the file, in the order in which they first appear.
    pub fn formats(&self) -> impl Iterator<Item = &Format> {
        self.catalog.formats().map(|(_, format)| format)
    }

    /// The comments, in order.
    pub fn comments(&self) -> &[Comment] {
        self.catalog.comments()
    }

    /// The attributes. One that was set several times has its last value.
    pub fn attributes(&self) -> &BTreeMap<String, String> {
        self.catalog.attributes()
    }

    /// Whether the file was opened by its index, not by going through its blocks.
    pub fn is_indexed(&self) -> bool {
        self.indexed
    }

    /// Whether the file ends with an index, as [`Writer::finish`](super::Writer::finish) leaves it. If not, its writer
    /// is still at it, or did not end in order: records at the end may be missing without a trace.
    pub fn is_finished(&self) -> bool {
        self.tail.is_none() && self.blocks.last().is_some_and(|block| block.header.kind == Kind::Index)
    }

    /// The damage met so far, by place. Blocks of records are checked when they are first touched: to know of all
    /// damage, call [`verify`](Self::verify).
    pub fn damage(&self) -> Vec<Damage> {
        let mut damage = self.scanner.as_ref().map(|scanner| scanner.damage.clone()).unwrap_or_default();
        damage.extend(self.blocks.iter().filter_map(|block| self.block_damage(block)));
        damage.extend(self.tail.clone());
        damage.sort_by_key(|damage| damage.offset);
        damage
    }

    /// Checks every block that was not checked yet, and returns all damage.
    pub fn verify(&self) -> Vec<Damage> {
        for block in &self.blocks {
            self.check(block);
        }
        self.damage()
    }

    /// The first block that ends behind record `number`.
    pub(super) fn block_of(&self, number: u64) -> usize {
        self.blocks.partition_point(|block| block.header.next_record() <= number)
    }

    /// The records of a block, if it holds any that can be relied on.
    pub(super) fn table<'r>(&'r self, block: &'r Block) -> Option<Table<'r>> {
        match self.check(block) {
            State::Whole | State::FormatLost if block.header.kind == Kind::Records => {
                Table::open(&self.bytes(block)?[BLOCK_HEADER..])
            }
            _ => None,
        }
    }

    /// Header and payload of a block.
    fn bytes<'r>(&'r self, block: &'r Block) -> Option<&'r [u8]> {
        self.store.block(block.header.offset, BLOCK_HEADER as u64 + block.header.payload, &block.copy)
    }

    /// What is known of a block, after checking it if nothing is.
    fn check(&self, block: &Block) -> State {
        let known = block.state();
        if known != State::Unchecked {
            return known;
        }
        let header = &block.header;
        let state = match self.bytes(block) {
            None => State::Inconsistent,
            Some(bytes) => {
                let (found, payload) = bytes.split_at(BLOCK_HEADER);
                self.check_records(header, found, payload)
            }
        };
        block.set(state);
        state
    }

    fn check_records(&self, header: &BlockHeader, found: &[u8], payload: &[u8]) -> State {
        if found != header.encode() {
            return State::Header;
        }
        if crc32c::crc32c(payload) != header.payload_crc {
            return State::Checksum;
        }
        match Table::open(payload).map(|table| table.check(header, &self.catalog, &self.limits)) {
            Some(Checked::Whole) => State::Whole,
            Some(Checked::FormatLost { .. }) => State::FormatLost,
            Some(Checked::Inconsistent) | None => State::Inconsistent,
        }
    }

    fn block_damage(&self, block: &Block) -> Option<Damage> {
        let header = &block.header;
        let all = u64::from(header.records);
        let (reason, lost) = match block.state() {
            State::Unchecked | State::Whole => return None,
            State::Header => (DamageReason::NoBlock, all),
            State::Checksum => (DamageReason::Checksum, all),
            State::Inconsistent => (DamageReason::Inconsistent, all),
            State::FormatLost => match self.table(block)?.check(header, &self.catalog, &self.limits) {
                Checked::FormatLost { format, records } => (DamageReason::FormatLost(format), records),
                Checked::Whole | Checked::Inconsistent => return None,
            },
        };
        let length = header.end() - header.offset;
        Some(Damage { offset: header.offset, length, records_lost: Some(lost), reason })
    }

    /// The damage that lies right before a block.
    fn gap_before(&self, index: usize) -> Option<Damage> {
        let next = self.blocks.get(index)?.header.offset;
        let gaps = &self.scanner.as_ref()?.damage;
        gaps.iter().find(|gap| gap.offset + gap.length == next).cloned()
    }
}

/// A record where it lies.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RecordRef<'a> {
    /// Its number in the file, counted from 0.
    pub number: u64,
    /// Its format.
    pub format: &'a Format,
    /// Its body, at a multiple of 16 in memory. A length its format allows, but not checked otherwise.
    pub body: &'a [u8],
    /// Its time, if the writer was told which field that is, and the record has it.
    pub time: Option<Time>,
    /// Where in the file the body lies.
    pub offset: u64,
}

impl<'a> RecordRef<'a> {
    pub(super) fn new(number: u64, format: &'a Format, record: TableRecord<'a>, payload_at: u64) -> RecordRef<'a> {
        let TableRecord { body, time, body_at, .. } = record;
        RecordRef { number, format, body, time, offset: payload_at + body_at as u64 }
    }
}

/// The records of a file from one on, in order; made by [`Reader::records`].
#[derive(Debug, Clone)]
pub struct Records<'a> {
    reader: &'a Reader,
    next_block: usize,
    current: Option<BlockWalk<'a>>,
    from: u64,
}

impl<'a> Records<'a> {
    pub(super) fn new(reader: &'a Reader, from: u64) -> Records<'a> {
        Records { reader, next_block: reader.block_of(from), current: None, from }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = RecordRef<'a>;

    fn next(&mut self) -> Option<RecordRef<'a>> {
        loop {
            if let Some(record) = self.current.as_mut().and_then(Iterator::next) {
                return Some(record);
            }
            let block = self.reader.blocks.get(self.next_block)?;
            self.next_block += 1;
            self.current = BlockWalk::new(self.reader, block, self.from);
        }
    }
}

/// The records of one block.
#[derive(Debug, Clone)]
pub(super) struct BlockWalk<'a> {
    reader: &'a Reader,
    cursor: Cursor<'a>,
    number: u64,
    payload_at: u64,
    /// The format met last, and where it is described.
    format: Option<(u64, &'a Format)>,
}

impl<'a> BlockWalk<'a> {
    /// The records of `block` from number `from` on; `None` when the block holds none or is damaged.
    pub(super) fn new(reader: &'a Reader, block: &'a Block, from: u64) -> Option<BlockWalk<'a>> {
        let mut cursor = reader.table(block)?.cursor();
        let number = block.header.first_record.max(from);
        cursor.skip_records(number - block.header.first_record)?;
        let payload_at = block.header.offset + BLOCK_HEADER as u64;
        Some(BlockWalk { reader, cursor, number, payload_at, format: None })
    }
}

impl<'a> Iterator for BlockWalk<'a> {
    type Item = RecordRef<'a>;

    fn next(&mut self) -> Option<RecordRef<'a>> {
        for record in self.cursor.by_ref() {
            let number = self.number;
            self.number += 1;
            if self.format.is_none_or(|(at, _)| at != record.format) {
                self.format = self.reader.catalog.format(record.format).map(|format| (record.format, format));
            }
            if let Some((_, format)) = self.format {
                return Some(RecordRef::new(number, format, record, self.payload_at));
            }
        }
        None
    }
}
