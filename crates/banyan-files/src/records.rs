//! A record in a file, and the walk over all of them.

use super::layout::BLOCK_HEADER;
use super::reader::{Block, Reader};
use super::table::{Cursor, TableRecord};
use super::time::Time;
use banyan_ndr::Format;

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
