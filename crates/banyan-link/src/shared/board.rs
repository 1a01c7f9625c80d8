//! The board as its hub keeps it: the writer, and how far the slowest spoke has read.

use std::sync::atomic::{AtomicU32, Ordering};

use super::layout::{Place, board};
use super::ring::Writer;
use crate::frame::Frame;

/// See the module.
#[derive(Debug)]
pub(super) struct Board {
    writer: Writer,
    /// No spoke was behind this when it was last looked at.
    slowest: u32,
}

impl Board {
    pub(super) fn new() -> Board {
        Board { writer: Writer::new(board()), slowest: 0 }
    }

    /// How far it is written.
    pub(super) fn written(&self) -> u32 {
        self.writer.written()
    }

    /// Writes a frame for all but one of the spokes that read, if the slowest of them leaves room. `readers` gives those
    /// that do; `lied` is told of one whose position cannot be, which then no longer counts.
    pub(super) fn write(
        &mut self,
        words: &[AtomicU32],
        but: u32,
        frame: &Frame,
        readers: impl Iterator<Item = u32>,
        lied: impl FnMut(u32),
    ) -> bool {
        if self.writer.write(words, but, frame, self.slowest) {
            return true;
        }
        self.slowest = self.find_slowest(words, readers, lied);
        self.writer.write(words, but, frame, self.slowest)
    }

    fn find_slowest(&self, words: &[AtomicU32], readers: impl Iterator<Item = u32>, mut lied: impl FnMut(u32)) -> u32 {
        let written = self.writer.written();
        let mut longest = 0;
        for spoke in readers {
            let read = words[Place::of(spoke).board_read()].load(Ordering::Acquire);
            match self.writer.is_behind(read) {
                true => longest = longest.max(written.wrapping_sub(read)),
                false => lied(spoke),
            }
        }
        written.wrapping_sub(longest)
    }
}
