//! Where a reader's bytes are: in memory, or in a file that is mapped.
//!
//! A map is shared with whoever writes the file. Complete blocks never change (the writer only appends, and cuts off
//! nothing but a torn tail), so only those are mapped; everything that may still change, the end of the file above all,
//! is read by system calls, which fail where a map would kill the process.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use memmap2::{Mmap, MmapOptions};

use super::layout::{ALIGN, BLOCK_HEADER, BlockHeader, MARKER};
use crate::Buffer;

/// How many bytes are searched for a block at a time.
const SEARCH_CHUNK: usize = 64 << 10;

/// The bytes of a file.
#[derive(Debug)]
pub(super) enum Store {
    /// All of them, in memory.
    Memory(Buffer),
    /// The file, and a map of its complete blocks.
    File { file: File, map: Option<Mmap> },
}

impl Store {
    /// How many bytes there are now.
    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            Store::Memory(bytes) => Ok(bytes.len() as u64),
            Store::File { file, .. } => Ok(file.metadata()?.len()),
        }
    }

    /// Copies bytes out, without the map.
    pub(super) fn read_at(&mut self, at: u64, out: &mut [u8]) -> io::Result<()> {
        match self {
            Store::Memory(bytes) => {
                let there = slice(bytes, at, out.len() as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
                out.copy_from_slice(there);
                Ok(())
            }
            Store::File { file, .. } => {
                file.seek(SeekFrom::Start(at))?;
                file.read_exact(out)
            }
        }
    }

    /// Copies bytes out. The caller has compared `len` with the length of the file: that bounds the allocation.
    pub(super) fn read(&mut self, at: u64, len: u64) -> io::Result<Vec<u8>> {
        let mut out = vec![0; usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?];
        self.read_at(at, &mut out)?;
        Ok(out)
    }

    /// The first block header from `from` (a multiple of 16) on that `accept` takes and that ends before `end`. Reads
    /// everything at most twice, however many markers there are.
    pub(super) fn search(
        &mut self,
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
        let Store::File { file, map } = self else { return Ok(()) };
        let len = usize::try_from(end).map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, "too long to map"))?;
        if map.as_ref().map_or(0, |map| map.len()) != len {
            // SAFETY: the map is read-only and covers complete blocks alone, which writers of record files never
            // change or cut off. Whoever can break that rule from outside this library can do as much to any map of
            // any program; `Reader::open` says so and names the alternative.
            *map = Some(unsafe { MmapOptions::new().len(len).map(&*file)? });
        }
        Ok(())
    }

    /// Bytes of complete blocks, where they lie.
    pub(super) fn slice(&self, at: u64, len: u64) -> Option<&[u8]> {
        match self {
            Store::Memory(bytes) => slice(bytes, at, len),
            Store::File { map, .. } => slice(map.as_deref()?, at, len),
        }
    }
}

fn slice(bytes: &[u8], at: u64, len: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(at).ok()?..)?.get(..usize::try_from(len).ok()?)
}
