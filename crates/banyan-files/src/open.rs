//! Opening a record file, by its index or by going through its blocks, and following one that still grows.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use super::catalog::Catalog;
use super::error::ReadError;
use super::index;
use super::layout::{ALIGN, BLOCK_HEADER, BlockHeader, FILE_HEADER, FileHeader, Kind, MAGIC};
use super::reader::{Block, Reader, State};
use super::scan::{HEADER_SEARCH, Scanner, torn_tail};
use super::store::Store;
use banyan_ndr::{Buffer, Limits};

/// How many bytes are asked of a stream at a time.
const READ_CHUNK: usize = 64 << 10;

impl Reader {
    /// Opens a file. A file without index is scanned: only its block headers are read for that. A block of records is
    /// read, and checked, when it is first touched, and kept in memory until the reader is dropped: whatever others do
    /// to the file, records do not change. For files larger than memory there are
    /// [`StreamReader`](super::StreamReader) and [`map`](Self::map).
    ///
    /// A writer may append to it meanwhile: what is complete now is seen now, the rest after
    /// [`refresh`](Self::refresh).
    pub fn open(path: impl AsRef<Path>) -> Result<Reader, ReadError> {
        Reader::open_with(path, Limits::default())
    }

    /// [`open`](Self::open) with limits other than the default ones.
    pub fn open_with(path: impl AsRef<Path>, limits: Limits) -> Result<Reader, ReadError> {
        Reader::from_store(Store::File(Mutex::new(File::open(path)?)), limits)
    }

    /// Reads a file that is in memory.
    pub fn from_bytes(bytes: Buffer) -> Result<Reader, ReadError> {
        Reader::from_bytes_with(bytes, Limits::default())
    }

    /// [`from_bytes`](Self::from_bytes) with limits other than the default ones.
    pub fn from_bytes_with(bytes: Buffer, limits: Limits) -> Result<Reader, ReadError> {
        Reader::from_store(Store::Memory(bytes), limits)
    }

    /// Reads all of a stream into memory. [`StreamReader`](super::StreamReader) does with one block at a time.
    pub fn read(mut input: impl Read) -> Result<Reader, ReadError> {
        let mut bytes = Buffer::new();
        loop {
            let filled = bytes.len();
            bytes.set_len(filled + READ_CHUNK.max(filled / 4));
            let got = input.read(&mut bytes[filled..]);
            bytes.set_len(filled + *got.as_ref().unwrap_or(&0));
            match got {
                Ok(0) => return Reader::from_bytes(bytes),
                Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return Err(error.into()),
                _ => {}
            }
        }
    }

    pub(super) fn from_store(store: Store, limits: Limits) -> Result<Reader, ReadError> {
        let mut reader = Reader {
            store,
            limits,
            scanner: None,
            catalog: Catalog::default(),
            blocks: Vec::new(),
            tail: None,
            indexed: false,
            timeline: OnceLock::new(),
        };
        reader.refresh()?;
        Ok(reader)
    }

    /// Looks for blocks that were appended since; returns how many records they hold. Costs little when nothing has
    /// changed. To follow a file, call it when something is known to have been written, or now and then.
    pub fn refresh(&mut self) -> Result<u64, ReadError> {
        let before = self.len();
        let end = self.store.len()?;
        if let Some(scanner) = self.scanner.as_ref().filter(|scanner| end < scanner.at) {
            return Err(ReadError::Cut { before: scanner.at, now: end });
        }
        if self.scanner.is_none() && !self.start(end)? {
            return Ok(0);
        }
        self.scan(end)?;
        let complete = self.scanner.as_ref().map_or(0, |scanner| scanner.at);
        self.store.map(complete)?;
        self.timeline = OnceLock::new();
        // A format that was lost may have come again with an index.
        self.blocks.iter().filter(|b| b.state() == State::FormatLost).for_each(|b| b.set(State::Unchecked));
        Ok(self.len() - before)
    }

    /// Reads the file header, and the index if there is a usable one. Returns whether the header is there yet.
    fn start(&mut self, end: u64) -> Result<bool, ReadError> {
        let mut bytes = [0; FILE_HEADER];
        let there = end.min(FILE_HEADER as u64) as usize;
        self.store.read_at(0, &mut bytes[..there])?;
        if there < FILE_HEADER {
            let magic = there.min(MAGIC.len());
            if bytes[..magic] != MAGIC[..magic] {
                return Err(ReadError::NotARecordFile { searched: end });
            }
            self.tail = torn_tail(0, end, None);
            return Ok(false);
        }
        match FileHeader::parse(&bytes) {
            FileHeader::Version(version) => return Err(ReadError::Version(version)),
            FileHeader::Good(file) => {
                self.scanner = Some(Scanner::new(Some(file)));
                if let Some(blocks) = index::load(&mut self.store, file, end)? {
                    self.indexed = true;
                    blocks.into_iter().try_for_each(|header| self.take(header))?;
                }
            }
            FileHeader::Bad => {
                let scanner = Scanner::new(None);
                let search = end.min(HEADER_SEARCH);
                if find_block(&mut self.store, &scanner, search)?.is_none() {
                    return Err(ReadError::NotARecordFile { searched: search });
                }
                self.scanner = Some(scanner);
            }
        }
        Ok(true)
    }

    /// Goes through the blocks up to `end`.
    fn scan(&mut self, end: u64) -> Result<(), ReadError> {
        while let Some(scanner) = &self.scanner {
            let found = find_block(&mut self.store, scanner, end)?;
            let torn = found.as_ref().filter(|header| header.end() > end);
            match found {
                Some(ref header) if torn.is_none() => self.take(header.clone())?,
                _ => {
                    self.tail = scanner.tail(end, torn);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes a block in. Records are checked when they are read, everything else at once.
    fn take(&mut self, header: BlockHeader) -> Result<(), ReadError> {
        if let Some(scanner) = &mut self.scanner {
            scanner.accept(&header);
        }
        let state = if header.kind == Kind::Records { State::Unchecked } else { self.load(&header)? };
        self.blocks.push(Block::new(header, state));
        Ok(())
    }

    fn load(&mut self, header: &BlockHeader) -> Result<State, ReadError> {
        let mut found = [0; BLOCK_HEADER];
        self.store.read_at(header.offset, &mut found)?;
        if found != header.encode() {
            return Ok(State::Header);
        }
        let payload = self.store.read(header.payload_at(), header.payload)?;
        if crc32c::crc32c(&payload) != header.payload_crc {
            return Ok(State::Checksum);
        }
        let loaded = match header.kind {
            Kind::Index => index::decode(&payload).and_then(|index| {
                index.formats.iter().try_for_each(|(at, encoded)| self.catalog.learn(*at, encoded, &self.limits))
            }),
            _ => self.catalog.load(header, &payload, &self.limits),
        };
        Ok(if loaded.is_some() { State::Whole } else { State::Inconsistent })
    }
}

/// The next block header before `end`; its payload may end behind.
fn find_block(store: &mut Store, scanner: &Scanner, end: u64) -> std::io::Result<Option<BlockHeader>> {
    let at = scanner.at;
    if at.checked_add(BLOCK_HEADER as u64).is_none_or(|payload| payload > end) {
        return Ok(None);
    }
    let mut bytes = [0; BLOCK_HEADER];
    store.read_at(at, &mut bytes)?;
    match scanner.candidate(at, &bytes) {
        Some(header) => Ok(Some(header)),
        None => store.search(at + ALIGN as u64, end, |at, bytes| scanner.candidate(at, bytes)),
    }
}
