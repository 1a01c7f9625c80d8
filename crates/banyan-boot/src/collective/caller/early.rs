//! Data of collectives that this member has not entered yet.
//!
//! Others may be ahead, but only with few collectives ([`PACE`]) and few bytes ([`EAGER`] from each); what is more was
//! not sent by correct members.

use std::collections::VecDeque;

use banyan_link::Frame;

use super::CollectiveError;
use crate::collective::{EAGER, PACE, bundle::OVERHEAD};

/// Most bytes that can come early: those that members may send, and what stands beside them in bundles.
pub(in crate::collective) const fn early_at_most(size: usize) -> usize {
    (EAGER + PACE as usize * OVERHEAD) * size
}

/// Frames that came early.
#[derive(Debug)]
pub(super) struct Early {
    size: usize,
    /// By distance from the next collective.
    frames: VecDeque<Vec<Frame>>,
    count: usize,
    bytes: usize,
}

impl Early {
    pub(super) fn new(size: u32) -> Self {
        Self { size: size as usize, frames: VecDeque::new(), count: 0, bytes: 0 }
    }

    /// Keeps a frame of the collective that is `distance` after the next.
    pub(super) fn keep(&mut self, distance: usize, mut frame: Frame) -> Result<(), CollectiveError> {
        let most = PACE as usize;
        let bytes = self.bytes + frame.payload.len();
        if distance >= most || self.count >= most * self.size || bytes > early_at_most(self.size) {
            return Err(CollectiveError::protocol(&frame));
        }
        // A few bytes must not keep all the memory alive in which they were received.
        frame.detach();
        if self.frames.len() <= distance {
            self.frames.resize_with(distance + 1, Vec::new);
        }
        self.frames[distance].push(frame);
        self.count += 1;
        self.bytes = bytes;
        Ok(())
    }

    /// Gives the frames of the next collective; the one after it is next now.
    pub(super) fn take_next(&mut self) -> Vec<Frame> {
        let frames = self.frames.pop_front().unwrap_or_default();
        self.count -= frames.len();
        self.bytes -= frames.iter().map(|frame| frame.payload.len()).sum::<usize>();
        frames
    }

    /// Bytes that are kept.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
