//! Where things lie in the memory of a hub, in words of 32 bits.
//!
//! There are three kinds of memory, each a file of its own, since who may write is decided for a whole file:
//!
//! - the *signals*, which all write: that something has arrived, and whether the hub sleeps. No frame lies there, and nothing
//!   that is found there is more than a reason to look;
//! - the *board*, which only the hub writes;
//! - a *place* for each spoke, a page that only the hub and this spoke have. What the hub writes and what the spoke writes lie
//!   in cache lines of their own, and behind them the two rings.
//!
//! Processes that are woken by the thousand find all of it cold, so what is read together lies together.

use super::ring::Ring;

/// Words of a cache line; what different processes write lies this far apart.
const LINE: usize = 16;

/// Words of a page.
const PAGE: usize = 1024;

/// Words of the board's ring: frames of many collectives of the size that programs begin with, and little enough to stay in
/// the cache.
const BOARD_RING: usize = 32 * PAGE;

/// Words of the ring down to one spoke: what it gets before it waits again.
const DOWN: usize = PAGE / 4;

/// Words of the ring up from one spoke.
const UP: usize = PAGE / 2;

/// Words of the signals.
pub(super) const SIGNALS: usize = PAGE;

/// Words of the board.
pub(super) const BOARD: usize = PAGE + BOARD_RING;

/// Words of everything that belongs to one spoke.
pub(super) const PLACE: usize = PAGE;

/// Signals: how often the hub has begun to look at the rings.
pub(super) const LOOKS: usize = 0;

/// Signals: from how many arrivals on the hub wants to be woken.
pub(super) const WAKE_AT: usize = 1;

/// Signals: whether the hub sleeps. The one spoke that wakes it says that it does no more.
pub(super) const ASLEEP: usize = 2;

/// Signals: how many spokes have announced something, each once for every look of the hub.
pub(super) const ARRIVALS: usize = LINE;

/// Signals: whether something must not wait for [`WAKE_AT`].
pub(super) const URGENT: usize = LINE + 1;

/// Place: whether the hub writes to this spoke here, and not by its socket.
pub(super) const IS_OPEN: usize = 0;

/// Place: how far the hub has read the ring up from it.
pub(super) const UP_READ: usize = 1;

/// Place: how far the spoke has read the board. The hub sets it once, before it opens the place.
pub(super) const BOARD_READ: usize = LINE;

/// Place: how far the spoke has read the ring down to it.
pub(super) const DOWN_READ: usize = LINE + 1;

/// The ring of the board.
pub(super) const fn board() -> Ring {
    Ring { written: 0, data: PAGE, capacity: BOARD_RING as u32 }
}

/// The ring of a place down to its spoke.
pub(super) const fn down() -> Ring {
    Ring { written: 2, data: PLACE - UP - DOWN, capacity: DOWN as u32 }
}

/// The ring of a place up from its spoke.
pub(super) const fn up() -> Ring {
    Ring { written: LINE + 2, data: PLACE - UP, capacity: UP as u32 }
}
