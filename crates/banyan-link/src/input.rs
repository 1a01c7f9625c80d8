//! Bytes that have arrived: the slab they are received into, and the blocks of whole frames made of it.
//!
//! Whole frames at the front of a slab become a block that is shared and never written again; what is left of the slab,
//! the part of a frame that has not arrived completely, moves to the next one. Blocks that fill less than three quarters of
//! an ordinary slab are copied out instead, so that a payload never keeps much more than its block alive, and a slab, warm in the
//! cache, serves many small reads. What follows them stays where it is: a long frame is received once and never moved.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

use crate::frame::{Frame, HEADER_BYTES, Header, frame_cost};
use crate::output::KEPT_ENTRIES;
use crate::pool::PoolSpan;
use crate::slab::{SLAB_BYTES, Slab, Slabs};

/// A block is copied out of its slab when more than one part of so many of that would be held in vain. Nodes hold blocks of
/// all their children until each has sent as much: the slabs of 64 would be four megabytes, and each a cold one.
const WASTED: usize = 4;

/// A part of a frame, and a block in a longer slab than others, is copied out when it fills less than one part of so many.
const WORTH_KEEPING: usize = 4;

/// What is left of a slab is moved to its front if it is no longer than this: then the next read has all of the slab.
const MOVED: usize = 4096;

#[derive(Debug)]
pub(crate) struct Input {
    slabs: Slabs,
    /// Empty when nothing was received that is not in a block.
    slab: Slab,
    /// Where in the slab bytes begin that are in no block: a multiple of [`FRAME_ALIGN`](crate::FRAME_ALIGN).
    start: usize,
    /// Where they end.
    filled: usize,
    /// Bytes of the frame that begins there, as far as that is known.
    wanted: usize,
    /// Bytes of the last frame, if it did not fit an ordinary slab: the next one gets a slab that it fits, and is not moved.
    long: usize,
    blocks: VecDeque<Bytes>,
    block_bytes: usize,
}

/// A frame as it is taken.
#[derive(Debug)]
pub(crate) enum Taken {
    Whole(Frame),
    /// Its payload lies in the peer's pool.
    Apart(Header, PoolSpan),
}

impl Input {
    pub(crate) fn new(slabs: Slabs) -> Input {
        Input {
            slabs,
            slab: Slab::default(),
            start: 0,
            filled: 0,
            wanted: 0,
            long: 0,
            blocks: VecDeque::new(),
            block_bytes: 0,
        }
    }

    /// Where the next bytes go: never empty.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        self.space_for(1)
    }

    /// Where the next bytes go: room for at least so many.
    pub(crate) fn space_for(&mut self, more: usize) -> &mut [u8] {
        let rest = self.filled - self.start;
        let needed = self.wanted.max(rest + more);
        if self.slab.len() - self.start < needed {
            self.make_room(needed);
        }
        &mut self.slab[self.filled..]
    }

    /// Moves what has arrived to the front of a slab that has room for so many bytes.
    fn make_room(&mut self, needed: usize) {
        let needed = needed.max(self.long).max(SLAB_BYTES);
        if self.slab.len() >= needed {
            self.slab.copy_within(self.start..self.filled, 0);
        } else {
            let mut larger = self.slabs.take(needed);
            larger[..self.filled - self.start].copy_from_slice(&self.slab[self.start..self.filled]);
            self.slabs.give_back(std::mem::replace(&mut self.slab, larger));
        }
        self.filled -= self.start;
        self.start = 0;
    }

    /// So many bytes were put there.
    pub(crate) fn advance(&mut self, count: usize) {
        self.filled += count;
        assert!(self.filled <= self.slab.len(), "more was received than there was space");
    }

    /// What has arrived and is in no block.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.slab[self.start..self.filled]
    }

    /// What lies in blocks and was not yet taken.
    pub(crate) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// The frame that follows the whole ones takes so many bytes; 0 when its header has not arrived.
    pub(crate) fn want(&mut self, bytes: usize) {
        self.wanted = bytes;
        self.long = if bytes > SLAB_BYTES { bytes } else { self.long };
    }

    /// Makes a block of the first `count` bytes, which are whole frames.
    pub(crate) fn make_block(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        if count < self.long && self.wanted <= SLAB_BYTES {
            // Short ones follow the long one.
            self.long = 0;
        }
        let end = self.start + count;
        let is_wasted = match self.slab.len() {
            ..=SLAB_BYTES => (self.slab.len() - count) * WASTED > self.slab.len(),
            // One that was taken for a long frame.
            long => count * WORTH_KEEPING < long,
        };
        let block = if is_wasted {
            let block = Slabs::own(&self.slab[self.start..end]);
            self.discard(count);
            block
        } else {
            let rest = Slab::from_slice(&self.slab[end..self.filled]);
            let block = self.start..end;
            (self.start, self.filled) = (0, rest.len());
            self.slabs.share(std::mem::replace(&mut self.slab, rest)).slice(block)
        };
        self.block_bytes += block.len();
        self.blocks.push_back(block);
    }

    /// Drops the first `count` bytes.
    pub(crate) fn discard(&mut self, count: usize) {
        self.start += count;
        if self.filled - self.start <= MOVED {
            self.slab.copy_within(self.start..self.filled, 0);
            (self.start, self.filled) = (0, self.filled - self.start);
        }
    }

    /// The next frame of a user. The frames in blocks have been checked.
    pub(crate) fn next_frame(&mut self) -> Option<Taken> {
        loop {
            let block = self.blocks.front_mut()?;
            let Some(header) = block.first_chunk::<HEADER_BYTES>() else {
                self.blocks.pop_front();
                continue;
            };
            let header = Header::decode(header).expect("checked when the block was made");
            let (following, size) = (header.following(), frame_cost(header.following()));
            self.block_bytes -= size;
            if header.kind.is_link() {
                block.advance(size);
                continue;
            }
            let mut payload = block.split_to(size);
            payload.advance(HEADER_BYTES);
            payload.truncate(following);
            return Some(match payload.first_chunk() {
                Some(place) if header.is_apart => Taken::Apart(header, PoolSpan::decode(*place)),
                _ => Taken::Whole(header.with_payload(payload)),
            });
        }
    }

    /// Forgets the frames that were not taken.
    pub(crate) fn forget(&mut self) {
        (self.blocks, self.block_bytes) = (VecDeque::new(), 0);
    }

    /// Nothing more is to be read for now: gives memory back. A part of a frame keeps only what it needs.
    pub(crate) fn settle(&mut self) {
        let rest = self.filled - self.start;
        if rest == 0 {
            self.slabs.give_back(std::mem::take(&mut self.slab));
        } else if rest * WORTH_KEEPING < self.slab.len() && self.wanted <= SLAB_BYTES {
            let rest = Slab::from_slice(self.bytes());
            (self.start, self.filled) = (0, rest.len());
            self.slabs.give_back(std::mem::replace(&mut self.slab, rest));
        }
        if self.blocks.is_empty() && self.blocks.capacity() > KEPT_ENTRIES {
            self.blocks = VecDeque::new();
        }
    }
}
