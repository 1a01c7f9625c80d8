//! Rings of another process, and how far they are read.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::layout::{chunk, row};
use crate::memory::Map;
use crate::ring::Ring;

/// A ring, mapped.
#[derive(Debug)]
pub(super) struct OpenRing {
    pub(super) map: Map,
    pub(super) rows: usize,
    pub(super) data: usize,
    pub(super) block: usize,
}

impl OpenRing {
    pub(super) fn control(&self) -> &[AtomicU64] {
        &self.map.words()[..chunk::CONTROL_WORDS]
    }

    pub(super) fn data_words(&self) -> &[AtomicU64] {
        let at = chunk::CONTROL_WORDS + self.rows * chunk::ROW_WORDS;
        &self.map.words()[at..at + self.data]
    }

    pub(super) fn ring(&self) -> Ring<'_> {
        Ring::new(self.control(), self.data_words(), self.block).expect("checked when it was opened")
    }

    /// Events of a sensor that were written to it.
    pub(super) fn written(&self, sensor: usize) -> u64 {
        self.row(sensor).map_or(0, |words| words[row::WRITTEN].load(Ordering::Acquire))
    }

    /// Events of a sensor that the program dropped: full, sampled, timed out, too large, nested.
    pub(super) fn dropped(&self, sensor: usize) -> [u64; 5] {
        let reasons = [row::FULL, row::SAMPLED, row::TIMED_OUT, row::TOO_LARGE, row::NESTED];
        self.row(sensor).map_or([0; 5], |words| reasons.map(|reason| words[reason].load(Ordering::Relaxed)))
    }

    fn row(&self, sensor: usize) -> Option<&[AtomicU64]> {
        let at = chunk::CONTROL_WORDS + sensor * chunk::ROW_WORDS;
        (sensor < self.rows).then(|| self.map.words().get(at..at + chunk::ROW_WORDS))?
    }
}

/// How far the events of one sensor in one ring are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// The first event that counts, and the next one that is expected.
    pub(super) first: u64,
    pub(super) next: u64,
    /// Events that the program had dropped before.
    pub(super) dropped_before: [u64; 5],
}

impl Progress {
    /// From now on.
    pub(super) fn from_now(ring: &OpenRing, sensor: usize) -> Progress {
        let written = ring.written(sensor);
        Progress { first: written, next: written, dropped_before: ring.dropped(sensor) }
    }

    /// From the first event of the ring on.
    pub(super) fn from_start() -> Progress {
        Progress { first: 0, next: 0, dropped_before: [0; 5] }
    }
}
