//! Where things lie in the memory of a hub, in words of 32 bits.
//!
//! First what all share: positions, each in a cache line of its own, and the board. Then a place for each spoke: its
//! positions, the ring down to it, and in a page of its own the ring up from it.

use super::ring::Ring;

/// Words of a cache line; positions that different processes write lie this far apart.
const LINE: usize = 16;

/// Words of a page.
const PAGE: usize = 1024;

/// Words of the board: frames of many collectives of the size that programs begin with, and little enough to stay in
/// the cache.
const BOARD: usize = 32 * PAGE;

/// Words of the ring down to one spoke: what it gets before it waits again.
const DOWN: usize = PAGE / 2;

/// Words of the ring up from one spoke.
const UP: usize = PAGE;

/// Words of everything that belongs to one spoke: positions and the ring down in the first page, the ring up in the
/// second.
const PLACE: usize = 2 * PAGE;

/// How often spokes have announced something.
pub(super) const ARRIVALS: usize = LINE;

/// From how many arrivals on the hub wants to be woken.
pub(super) const WAKE_AT: usize = 2 * LINE;

/// Whether the hub sleeps.
pub(super) const ASLEEP: usize = 3 * LINE;

/// Whether something must not wait for [`WAKE_AT`].
pub(super) const URGENT: usize = 4 * LINE;

/// The board.
pub(super) const fn board() -> Ring {
    Ring { written: 0, data: PAGE, capacity: BOARD as u32 }
}

/// The place of a spoke.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place(usize);

impl Place {
    pub(super) fn of(spoke: u32) -> Place {
        Place(PAGE + BOARD + spoke as usize * PLACE)
    }

    /// Whether the hub writes to this spoke here, and not by its socket.
    pub(super) fn is_open(self) -> usize {
        self.0
    }

    /// How far the spoke has read the board. The hub sets it once, before it opens the place.
    pub(super) fn board_read(self) -> usize {
        self.0 + LINE
    }

    /// How far the spoke has read the ring down to it.
    pub(super) fn down_read(self) -> usize {
        self.0 + 2 * LINE
    }

    /// How far the hub has read the ring up from it.
    pub(super) fn up_read(self) -> usize {
        self.0 + 3 * LINE
    }

    pub(super) fn down(self) -> Ring {
        Ring { written: self.0 + 4 * LINE, data: self.0 + PAGE / 2, capacity: DOWN as u32 }
    }

    pub(super) fn up(self) -> Ring {
        Ring { written: self.0 + 5 * LINE, data: self.0 + PAGE, capacity: UP as u32 }
    }
}

/// Words that a hub with so many spokes needs.
pub(super) fn words(spokes: u32) -> usize {
    Place::of(spokes).0
}
