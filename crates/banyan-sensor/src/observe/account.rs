//! What became of the events of a sensor, for one observer.

/// Events that an observer did not get, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Overwritten before they were read.
    pub overwritten: u64,
    /// Not written, because what was not read would have been overwritten ([`Policy::DropNewest`](crate::Policy)).
    pub full: u64,
    /// Left out by [`Policy::OneIn`](crate::Policy).
    pub sampled: u64,
    /// Not written after waiting in vain ([`Policy::Block`](crate::Policy)).
    pub timed_out: u64,
    /// Longer than a block of the ring.
    pub too_large: u64,
    /// Emitted by a signal handler while its thread was writing an event.
    pub nested: u64,
    /// There was no memory for a ring.
    pub no_room: u64,
    /// Followed by a later event before it was read ([`Policy::LatestOnly`](crate::Policy)).
    pub superseded: u64,
    /// Emitted while another thread was writing the latest event.
    pub contended: u64,
}

impl Dropped {
    /// All of them.
    pub fn total(&self) -> u64 {
        let Dropped { overwritten, full, sampled, timed_out, too_large, nested, no_room, superseded, contended } =
            *self;
        [overwritten, full, sampled, timed_out, too_large, nested, no_room, superseded, contended]
            .into_iter()
            .fold(0, u64::wrapping_add)
    }
}

/// What became of the events of a sensor since an observer watches it: `emitted = delivered + dropped + in flight`.
///
/// `emitted` comes from the program's counters, the others from what the observer did. When the program rests and
/// everything is drained, nothing is in flight.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// The sensor's name.
    pub sensor: String,
    /// Events that the program has emitted.
    pub emitted: u64,
    /// Events that the observer got.
    pub delivered: u64,
    /// Events that it will never get.
    pub dropped: Dropped,
}

impl Account {
    /// Events that are written and not yet read.
    pub fn in_flight(&self) -> u64 {
        self.emitted.wrapping_sub(self.delivered).wrapping_sub(self.dropped.total())
    }
}
