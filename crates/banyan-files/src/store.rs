//! Where a reader's bytes are: in memory, in a file that is read, or in a file that is mapped.
//!
//! A map is shared with whoever writes the file. Complete blocks never change (the writer only appends, and cuts off
//! nothing but a torn tail), so only those are mapped; everything that may still change, the end of the file above all,
//! is read by system calls, which fail where a map would kill the process. Other programs keep no such rule, which is
//! why mapping must be asked for.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use memmap2::{Mmap, MmapOptions};

use super::error::ReadError;
use super::layout::{ALIGN, BLOCK_HEADER, BlockHeader, MARKER};
use super::reader::Reader;
use banyan_ndr::{Buffer, Limits};

/// How many bytes are searched for a block at a time.
const SEARCH_CHUNK: usize = 64 << 10;

/// The bytes of a file.
#[derive(Debug)]
pub(super) enum Store {
    /// All of them, in memory.
    Memory(Buffer),
    /// The file, whose blocks are copied out.
    File(Mutex<File>),
    /// The file, and a map of its complete blocks.
    Map { file: File, map: Option<Mmap> },
}

impl Reader {
    /// Opens a file and maps its complete blocks, so that records are used where they lie and nothing is copied. For
    /// files that are larger than memory, and for those of which little is read.
    ///
    /// # Safety
    /// Until the reader is dropped, no program may change or cut off what is in the file now. Appending is allowed, so
    /// a [`Writer`](super::Writer) keeps this rule. If another program breaks it, records change after they were
    /// checked, a `bool` may be neither true nor false, and the system may kill this process. [`open`](Self::open) has
    /// no such rule.
    pub unsafe fn map(path: impl AsRef<Path>, limits: Limits) -> Result<Reader, ReadError> {
        Reader::from_store(Store::Map { file: File::open(path)?, map: None }, limits)
    }
}

impl Store {
    /// How many bytes there are now.
    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            Store::Memory(bytes) => Ok(bytes.len() as u64),
            Store::File(file) => Ok(file.lock().unwrap_or_else(PoisonError::into_inner).metadata()?.len()),
            Store::Map { file, .. } => Ok(file.metadata()?.len()),
        }
    }

    /// Copies bytes out, without the map.
    pub(super) fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        match self {
            Store::Memory(bytes) => {
                let there = slice(bytes, at, out.len() as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
                out.copy_from_slice(there);
                Ok(())
            }
            Store::File(file) => read_exact_at(&file.lock().unwrap_or_else(PoisonError::into_inner), at, out),
            Store::Map { file, .. } => read_exact_at(file, at, out),
        }
    }

    /// Copies bytes out. The caller has compared `len` with the length of the file: that bounds the allocation.
    pub(super) fn read(&self, at: u64, len: u64) -> io::Result<Vec<u8>> {
        let mut out = vec![0; usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?];
        self.read_at(at, &mut out)?;
        Ok(out)
    }

    /// The first block header from `from` (a multiple of 16) on that `accept` takes and that ends before `end`. Reads
    /// everything at most twice, however many markers there are.
    pub(super) fn search(
        &self,
        mut from: u64,
        end: u64,
        accept: impl Fn(u64, &[u8; BLOCK_HEADER]) -> Option<BlockHeader>,
    ) -> io::Result<Option<BlockHeader>> {
        let mut chunk = vec![0; end.saturating_sub(from).min(SEARCH_CHUNK as u64) as usize];
        loop {
            let len = end.saturating_sub(from).min(chunk.len() as u64) as usize;
            if len < BLOCK_HEADER {
                return Ok(None);
            }
            self.read_at(from, &mut chunk[..len])?;
            for at in (0..=len - BLOCK_HEADER).step_by(ALIGN) {
                let bytes = chunk[at..].first_chunk().filter(|bytes| bytes.starts_with(&MARKER));
                if let Some(header) = bytes.and_then(|bytes| accept(from + at as u64, bytes)) {
                    return Ok(Some(header));
                }
            }
            from += ((len - BLOCK_HEADER) / ALIGN * ALIGN + ALIGN) as u64;
        }
    }

    /// Maps the bytes before `end`, which all belong to complete blocks.
    pub(super) fn map(&mut self, end: u64) -> io::Result<()> {
        let Store::Map { file, map } = self else { return Ok(()) };
        let len = usize::try_from(end).map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, "too long to map"))?;
        if map.as_ref().map_or(0, |map| map.len()) != len {
            // SAFETY: the map is read-only and covers complete blocks alone, which writers of record files never
            // change or cut off. That nobody else does either, the caller of `Reader::map` has promised.
            *map = Some(unsafe { MmapOptions::new().len(len).map(&*file)? });
        }
        Ok(())
    }

    /// Bytes of a complete block: where they lie, or a copy that is kept in `copy`.
    pub(super) fn block<'s>(&'s self, at: u64, len: u64, copy: &'s OnceLock<Option<Buffer>>) -> Option<&'s [u8]> {
        match self {
            Store::Memory(bytes) => slice(bytes, at, len),
            Store::Map { map, .. } => slice(map.as_deref()?, at, len),
            Store::File(_) => copy.get_or_init(|| self.copied(at, len).ok()).as_deref(),
        }
    }

    fn copied(&self, at: u64, len: u64) -> io::Result<Buffer> {
        let mut copy = Buffer::new();
        copy.set_len(usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?);
        self.read_at(at, &mut copy)?;
        Ok(copy)
    }
}

/// Nobody else may move the file's position meanwhile: it is locked, or one thread has it.
fn read_exact_at(mut file: &File, at: u64, out: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(out)
}

fn slice(bytes: &[u8], at: u64, len: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(at).ok()?..)?.get(..usize::try_from(len).ok()?)
}
