//! A ring of frames in shared memory: one writer, and readers that each know how far they have read.
//!
//! Positions count words, from 0, and wrap around; they are published after the words before them were written or read.
//! An entry is a word for the users of the ring, the frame's header as on any link, and the payload.

use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;

use crate::arena::Arena;
use crate::frame::{Frame, HEADER_BYTES, Header};

/// Bytes of the longest payload that goes through shared memory. Longer ones are better off with sockets, which carry
/// many kilobytes a system call.
pub const SHARED_PAYLOAD: usize = 1024;

/// Bytes of a word.
const WORD: usize = size_of::<u32>();

/// Words of an entry before its payload.
const HEAD: usize = 1 + HEADER_BYTES / WORD;

/// What lies in shared memory cannot have been written by a correct peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} in shared memory is damaged; all programs of a session must speak one protocol of Banyan")]
#[non_exhaustive]
pub struct SharedError {
    /// What is.
    pub what: &'static str,
}

/// Whether a frame's turn has come that was sent when so many had gone by the socket: positions wrap around.
pub(super) fn has_come(sent_by_socket: u32, taken_from_socket: u32) -> bool {
    sent_by_socket.wrapping_sub(taken_from_socket).cast_signed() <= 0
}

/// Where a ring lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ring {
    /// The word that says how far it is written.
    pub(super) written: usize,
    /// The first of its words.
    pub(super) data: usize,
    /// How many they are; a power of two.
    pub(super) capacity: u32,
}

impl Ring {
    fn word<'a>(&self, words: &'a [AtomicU32], position: u32) -> &'a AtomicU32 {
        &words[self.data + (position & (self.capacity - 1)) as usize]
    }
}

/// Whether a frame can go through shared memory.
pub(super) fn is_small(frame: &Frame) -> bool {
    frame.payload.len() <= SHARED_PAYLOAD
}

/// The side that writes.
#[derive(Debug)]
pub(super) struct RingWriter {
    ring: Ring,
    written: u32,
}

impl RingWriter {
    /// Of memory that is all zeros.
    pub(super) fn new(ring: Ring) -> RingWriter {
        RingWriter { ring, written: 0 }
    }

    /// Of a ring that was written so far before.
    #[cfg(test)]
    pub(super) fn starting_at(ring: Ring, written: u32) -> RingWriter {
        RingWriter { ring, written }
    }

    /// How far it is written.
    pub(super) fn written(&self) -> u32 {
        self.written
    }

    /// Whether a reader can have come so far.
    pub(super) fn is_behind(&self, read: u32) -> bool {
        self.written.wrapping_sub(read) <= self.ring.capacity
    }

    /// Writes a frame that [is small](is_small), if there is room behind what the slowest reader has not read.
    pub(super) fn write(&mut self, words: &[AtomicU32], tag: u32, frame: &Frame, slowest: u32) -> bool {
        let payload = frame.payload.as_ref();
        let size = (HEAD + payload.len().div_ceil(WORD)) as u32;
        let unread = self.written.wrapping_sub(slowest);
        if unread.saturating_add(size) > self.ring.capacity {
            return false;
        }
        let mut position = self.written;
        let mut put = |word: u32| {
            self.ring.word(words, position).store(word, Ordering::Relaxed);
            position = position.wrapping_add(1);
        };
        put(tag);
        let header = frame.header().encode();
        let (words_of_payload, rest) = payload.as_chunks::<WORD>();
        header.as_chunks::<WORD>().0.iter().chain(words_of_payload).for_each(|word| put(u32::from_ne_bytes(*word)));
        if !rest.is_empty() {
            let mut word = [0; WORD];
            word[..rest.len()].copy_from_slice(rest);
            put(u32::from_ne_bytes(word));
        }
        self.written = position;
        words[self.ring.written].store(position, Ordering::Release);
        true
    }
}

/// A side that reads.
#[derive(Debug)]
pub(super) struct RingReader {
    ring: Ring,
    read: u32,
}

impl RingReader {
    pub(super) fn new(ring: Ring, read: u32) -> RingReader {
        RingReader { ring, read }
    }

    /// How far it has read.
    pub(super) fn read(&self) -> u32 {
        self.read
    }

    /// The next frame with its word for users, if there is one and `wanted` takes it. What is not taken stays.
    pub(super) fn next(
        &mut self,
        words: &[AtomicU32],
        arena: &mut Arena,
        wanted: impl FnOnce(u32, &Frame) -> bool,
    ) -> Result<Option<(u32, Frame)>, SharedError> {
        let there = words[self.ring.written].load(Ordering::Acquire).wrapping_sub(self.read);
        if there == 0 {
            return Ok(None);
        }
        if there > self.ring.capacity || (there as usize) < HEAD {
            return Err(SharedError { what: "the position of a ring" });
        }
        let tag = self.ring.word(words, self.read).load(Ordering::Relaxed);
        let header = self.header(words);
        let damaged = SharedError { what: "the header of a frame" };
        let header = Header::decode(&header).map_err(|_| damaged)?;
        let length = header.length as usize;
        let size = HEAD + length.min(SHARED_PAYLOAD).div_ceil(WORD);
        let fits = length <= SHARED_PAYLOAD && size <= there as usize;
        if !fits || header.kind.is_link() || header.is_apart {
            return Err(damaged);
        }
        let frame = header.with_payload(self.payload(words, length, arena));
        if !wanted(tag, &frame) {
            return Ok(None);
        }
        self.read = self.read.wrapping_add(size as u32);
        Ok(Some((tag, frame)))
    }

    fn payload(&self, words: &[AtomicU32], length: usize, arena: &mut Arena) -> Bytes {
        let first = self.read.wrapping_add(HEAD as u32);
        let positions = (0..length.div_ceil(WORD)).map(|at| first.wrapping_add(at as u32));
        arena.gather(length, positions.map(|position| self.ring.word(words, position).load(Ordering::Relaxed)))
    }

    fn header(&self, words: &[AtomicU32]) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        let mut position = self.read;
        for chunk in header.as_chunks_mut::<WORD>().0 {
            position = position.wrapping_add(1);
            *chunk = self.ring.word(words, position).load(Ordering::Relaxed).to_ne_bytes();
        }
        header
    }
}
