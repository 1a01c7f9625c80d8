//! The board as its hub keeps it: the memory, the writer, and how far the slowest spoke has read.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::layout::{BOARD, board};
use super::memory::{Memory, Writers};
use super::ring::RingWriter;
use crate::frame::Frame;

/// See the module.
#[derive(Debug)]
pub(super) struct Board {
    memory: Memory,
    pub(super) descriptor: Arc<OwnedFd>,
    writer: RingWriter,
    /// No spoke was behind this when it was last looked at.
    slowest: u32,
}

impl Board {
    pub(super) fn new() -> io::Result<Board> {
        let (memory, descriptor) = Memory::create(c"banyan-board", BOARD, Writers::Maker)?;
        Ok(Board { memory, descriptor: Arc::new(descriptor), writer: RingWriter::new(board()), slowest: 0 })
    }

    /// How far it is written.
    pub(super) fn written(&self) -> u32 {
        self.writer.written()
    }

    /// Writes a frame for all but one of the spokes that read, if the slowest of them leaves room. `readers` gives those that
    /// do, and how far each says it has read; `lied` is told of one that cannot have, which then no longer counts.
    pub(super) fn write(
        &mut self,
        but: u32,
        frame: &Frame,
        readers: impl Iterator<Item = (u32, u32)>,
        lied: impl FnMut(u32),
    ) -> bool {
        let words = self.memory.words();
        if self.writer.write(words, but, frame, self.slowest) {
            return true;
        }
        self.slowest = self.find_slowest(readers, lied);
        self.writer.write(words, but, frame, self.slowest)
    }

    fn find_slowest(&self, readers: impl Iterator<Item = (u32, u32)>, mut lied: impl FnMut(u32)) -> u32 {
        let written = self.writer.written();
        let mut longest = 0;
        for (spoke, read) in readers {
            match self.writer.is_behind(read) {
                true => longest = longest.max(written.wrapping_sub(read)),
                false => lied(spoke),
            }
        }
        written.wrapping_sub(longest)
    }
}
