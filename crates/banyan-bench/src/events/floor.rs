//! The floor: a ring by hand.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

use super::Step;

/// Slots of 32 bytes: as much memory as a ring of a segment has.
const SLOTS: usize = 8192;

/// Counter, stamp and two words of payload.
type Slot = [AtomicU64; 4];

/// What time it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stamp {
    /// The same clock as Banyan's.
    Own,
    ClockGettime,
    None,
}

pub(super) struct EventFloor {
    slots: Vec<Slot>,
    count: Cell<u64>,
}

impl EventFloor {
    pub(super) fn new() -> EventFloor {
        EventFloor { slots: (0..SLOTS).map(|_| Default::default()).collect(), count: Cell::new(0) }
    }

    #[inline]
    pub(super) fn put(&self, stamp: Stamp, step: Step) {
        let stamp = match stamp {
            Stamp::Own => banyan_sensor::stamp(),
            Stamp::ClockGettime => {
                let now = clock_gettime(ClockId::Monotonic);
                now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
            }
            Stamp::None => 0,
        };
        let count = self.count.get();
        self.count.set(count + 1);
        let slot = &self.slots[count as usize % SLOTS];
        slot[1].store(stamp, Ordering::Relaxed);
        slot[2].store(step.number, Ordering::Relaxed);
        slot[3].store(step.residual.to_bits(), Ordering::Relaxed);
        slot[0].store(count, Ordering::Release);
    }
}
