//! Where things lie in the memory of a hub, in words of 32 bits.
//!
//! First what all share: what the hub says in one cache line, what spokes say in another, and the board. Then a page for
//! each spoke: what the hub writes and what the spoke writes, each in a cache line of its own, and the two rings. Processes
//! that are woken by the thousand find all of it cold, so what is read together lies together.

use super::ring::Ring;

/// Words of a cache line; what different processes write lies this far apart.
const LINE: usize = 16;

/// Words of a page.
const PAGE: usize = 1024;

/// Words of the board: frames of many collectives of the size that programs begin with, and little enough to stay in
/// the cache.
const BOARD: usize = 32 * PAGE;

/// Words of the ring down to one spoke: what it gets before it waits again.
const DOWN: usize = PAGE / 4;

/// Words of the ring up from one spoke.
const UP: usize = PAGE / 2;

/// Words of everything that belongs to one spoke.
const PLACE: usize = PAGE;

/// How often the hub has begun to look at the rings.
pub(super) const LOOKS: usize = 1;

/// From how many arrivals on the hub wants to be woken.
pub(super) const WAKE_AT: usize = 2;

/// Whether the hub sleeps. The one spoke that wakes it says that it does no more.
pub(super) const ASLEEP: usize = 3;

/// How many spokes have announced something, each once for every look of the hub.
pub(super) const ARRIVALS: usize = LINE;

/// Whether something must not wait for [`WAKE_AT`].
pub(super) const URGENT: usize = LINE + 1;

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

    /// How far the hub has read the ring up from it.
    pub(super) fn up_read(self) -> usize {
        self.0 + 1
    }

    /// How far the spoke has read the board. The hub sets it once, before it opens the place.
    pub(super) fn board_read(self) -> usize {
        self.0 + LINE
    }

    /// How far the spoke has read the ring down to it.
    pub(super) fn down_read(self) -> usize {
        self.0 + LINE + 1
    }

    pub(super) fn down(self) -> Ring {
        Ring { written: self.0 + 2, data: self.0 + PLACE - UP - DOWN, capacity: DOWN as u32 }
    }

    pub(super) fn up(self) -> Ring {
        Ring { written: self.0 + LINE + 2, data: self.0 + PLACE - UP, capacity: UP as u32 }
    }
}

/// Words that a hub with so many spokes needs.
pub(super) fn words(spokes: u32) -> usize {
    Place::of(spokes).0
}
