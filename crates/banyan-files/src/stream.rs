//! Reading the blocks of a record file from a stream: in order, one block in memory at a time.
//!
//! What a stream cannot do is look ahead: formats must come before their records (they do), and a format whose
//! description is damaged is lost even if an index repeats it later.

use std::collections::BTreeMap;
use std::io::Read;

use super::catalog::{Catalog, Comment};
use super::error::ReadError;
use super::error::{Damage, DamageReason};
use super::layout::{ALIGN, BLOCK_HEADER, BlockHeader, FILE_HEADER, FileHeader, Kind, MAGIC};
use super::reader::RecordRef;
use super::scan::{HEADER_SEARCH, Scanner, torn_tail};
use super::table::{Checked, Position, Table};
use banyan_ndr::{Buffer, Format, Limits};

/// Memory for a payload grows by at most this much ahead of the bytes received.
const READ_CHUNK: usize = 1 << 20;

/// Reads records from a stream.
#[derive(Debug)]
pub struct StreamReader<R> {
    input: R,
    limits: Limits,
    scanner: Scanner,
    catalog: Catalog,
    damage: Vec<Damage>,
    block: Option<(BlockHeader, Walk)>,
    payload: Buffer,
    ended: bool,
}

/// Where in its block a reader is.
#[derive(Debug, Default)]
struct Walk {
    position: Position,
    /// Number of the next record, counted from the block's first.
    number: u64,
}

impl<R: Read> StreamReader<R> {
    /// Reads the file header.
    pub fn new(input: R) -> Result<StreamReader<R>, ReadError> {
        StreamReader::with_limits(input, Limits::default())
    }

    /// [`new`](Self::new) with limits other than the default ones.
    pub fn with_limits(mut input: R, limits: Limits) -> Result<StreamReader<R>, ReadError> {
        let mut bytes = [0; FILE_HEADER];
        let got = fill(&mut input, &mut bytes)?;
        let magic = got.min(MAGIC.len());
        let mut scanner = match FileHeader::parse(&bytes) {
            FileHeader::Good(file) => Scanner::new(Some(file)),
            FileHeader::Version(version) => return Err(ReadError::Version(version)),
            FileHeader::Bad if got < FILE_HEADER && bytes[..magic] != MAGIC[..magic] => {
                return Err(ReadError::NotARecordFile { searched: got as u64 });
            }
            FileHeader::Bad => Scanner::new(None),
        };
        if got < FILE_HEADER {
            scanner.damage = torn_tail(0, got as u64, None).into_iter().collect();
        }
        Ok(StreamReader {
            input,
            limits,
            scanner,
            catalog: Catalog::default(),
            damage: Vec::new(),
            block: None,
            payload: Buffer::new(),
            ended: got < FILE_HEADER,
        })
    }

    /// The next record; `None` at the end of the stream. What is lost in between is in [`damage`](Self::damage).
    #[expect(clippy::should_implement_trait, reason = "records borrow from the reader, which no Iterator can express")]
    pub fn next(&mut self) -> Result<Option<RecordRef<'_>>, ReadError> {
        while !self.find_record() {
            if !self.next_block()? {
                return Ok(None);
            }
        }
        let Some((header, walk)) = &mut self.block else { return Ok(None) };
        let number = header.first_record + walk.number;
        walk.number += 1;
        let record = Table::open(&self.payload).and_then(|table| walk.position.next(&table));
        let found = record.and_then(|record| Some((record, self.catalog.format(record.format)?)));
        Ok(found.map(|(record, format)| RecordRef::new(number, format, record, header.payload_at())))
    }

    /// Goes to the next record of the block whose format is known; returns whether there is one.
    fn find_record(&mut self) -> bool {
        let (Some((_, walk)), Some(table)) = (&mut self.block, Table::open(&self.payload)) else { return false };
        loop {
            let mut ahead = walk.position.clone();
            match ahead.next(&table) {
                Some(record) if self.catalog.format(record.format).is_some() => return true,
                Some(_) => *walk = Walk { position: ahead, number: walk.number + 1 },
                None => return false,
            }
        }
    }

    /// Reads up to the next whole block; returns whether there is one.
    fn next_block(&mut self) -> Result<bool, ReadError> {
        self.block = None;
        while !self.ended {
            let Some(header) = self.next_header()? else { break };
            if !self.read_payload(&header)? {
                break;
            }
            self.scanner.accept(&header);
            if crc32c::crc32c(&self.payload) != header.payload_crc {
                self.report(&header, DamageReason::Checksum, header.records.into());
                continue;
            }
            if header.kind == Kind::Records {
                if self.open_block(header) {
                    return Ok(true);
                }
            } else if self.catalog.load(&header, &self.payload, &self.limits).is_none() {
                self.report(&header, DamageReason::Inconsistent, 0);
            }
        }
        self.ended = true;
        Ok(false)
    }

    fn open_block(&mut self, header: BlockHeader) -> bool {
        let checked = Table::open(&self.payload).map(|table| table.check(&header, &self.catalog, &self.limits));
        match checked {
            Some(Checked::Whole) => {}
            Some(Checked::FormatLost { format, records }) => {
                self.report(&header, DamageReason::FormatLost(format), records);
            }
            Some(Checked::Inconsistent) | None => {
                self.report(&header, DamageReason::Inconsistent, header.records.into());
                return false;
            }
        }
        self.block = Some((header, Walk::default()));
        true
    }

    fn report(&mut self, header: &BlockHeader, reason: DamageReason, lost: u64) {
        let length = header.end() - header.offset;
        self.damage.push(Damage { offset: header.offset, length, records_lost: Some(lost), reason });
    }

    /// The next block header; slides over what is none, 16 bytes at a time. `None` at the end.
    fn next_header(&mut self) -> Result<Option<BlockHeader>, ReadError> {
        let mut bytes = [0; BLOCK_HEADER];
        let mut at = self.scanner.at;
        let mut got = fill(&mut self.input, &mut bytes)?;
        loop {
            if got < BLOCK_HEADER {
                let end = at + got as u64;
                if self.scanner.file().is_none() {
                    return Err(ReadError::NotARecordFile { searched: end });
                }
                self.damage.extend(self.scanner.tail(end, None));
                return Ok(None);
            }
            if let Some(header) = self.scanner.candidate(at, &bytes) {
                return Ok(Some(header));
            }
            if self.scanner.file().is_none() && at >= HEADER_SEARCH {
                return Err(ReadError::NotARecordFile { searched: at });
            }
            bytes.copy_within(ALIGN.., 0);
            at += ALIGN as u64;
            got = BLOCK_HEADER - ALIGN + fill(&mut self.input, &mut bytes[BLOCK_HEADER - ALIGN..])?;
        }
    }

    /// Reads the payload; returns whether all of it is there.
    fn read_payload(&mut self, header: &BlockHeader) -> Result<bool, ReadError> {
        self.payload.clear();
        let mut left = header.payload;
        while left > 0 {
            let step = left.min(READ_CHUNK as u64) as usize;
            let filled = self.payload.len();
            self.payload.set_len(filled + step);
            let got = fill(&mut self.input, &mut self.payload[filled..])?;
            if got < step {
                let end = header.payload_at() + (filled + got) as u64;
                self.damage.extend(self.scanner.tail(end, Some(header)));
                return Ok(false);
            }
            left -= step as u64;
        }
        Ok(true)
    }
}

impl<R> StreamReader<R> {
    /// The formats met so far.
    pub fn formats(&self) -> impl Iterator<Item = &Format> {
        self.catalog.formats().map(|(_, format)| format)
    }

    /// The comments met so far, in order.
    pub fn comments(&self) -> &[Comment] {
        self.catalog.comments()
    }

    /// The attributes met so far.
    pub fn attributes(&self) -> &BTreeMap<String, String> {
        self.catalog.attributes()
    }

    /// The damage met so far, by place.
    pub fn damage(&self) -> Vec<Damage> {
        let mut damage = [&self.scanner.damage[..], &self.damage[..]].concat();
        damage.sort_by_key(|damage| damage.offset);
        damage
    }
}

/// Reads until `out` is full or the stream ends; returns how much.
fn fill(input: &mut impl Read, out: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < out.len() {
        match input.read(&mut out[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
