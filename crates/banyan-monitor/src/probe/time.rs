//! Times of events: from stamps of a process to the monotonic clock of the front-end.

use banyan_clock::Estimate;
use banyan_sensor::Clock;
use banyan_sensor::observe::Observer;
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the monotonic clock of this host.
pub(crate) fn monotonic() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// What is added to the times of this host, as a line: good for a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Correction {
    at: i64,
    offset: i64,
    /// Nanoseconds that the front-end's clock gains in one of this host's.
    drift: f64,
    /// How wrong corrected times are at most.
    pub(super) bound: i64,
}

impl Correction {
    /// What an estimate of the front-end's clock says now.
    pub(super) fn new(estimate: &Estimate, now: i64) -> Correction {
        let there = estimate.at(now);
        Correction { at: now, offset: there.offset(), drift: there.drift() * 1e-9, bound: there.bound() }
    }

    /// A time of this host, by the front-end's clock.
    pub(super) fn correct(&self, time: i64) -> i64 {
        let gained = (time - self.at) as f64 * self.drift;
        time.wrapping_add(self.offset).wrapping_add(gained as i64)
    }
}

/// How stamps of a process become corrected times, as a line: good for a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamps {
    stamp: u64,
    monotonic: i64,
    /// Nanoseconds of a tick.
    pace: f64,
    correction: Correction,
}

/// Ticks over which the pace is measured: so many that rounding to nanoseconds does not matter.
const FAR: u64 = 1 << 50;

impl Stamps {
    pub(super) fn new(observer: &Observer, correction: Correction) -> Stamps {
        let segment = observer.segment();
        let base = segment.base();
        let far = base.stamp.saturating_add(FAR);
        let pace = match segment.clock() {
            Clock::Monotonic => 1.0,
            Clock::Counter => observer.reader().monotonic(far).map_or(1.0, |time| {
                let distance = far.saturating_sub(base.stamp).max(1);
                time.saturating_sub(base.monotonic) as f64 / distance as f64
            }),
        };
        Stamps { stamp: base.stamp, monotonic: base.monotonic as i64, pace, correction }
    }

    /// The corrected time of a stamp.
    pub(super) fn time(&self, stamp: u64) -> i64 {
        let distance = stamp.wrapping_sub(self.stamp) as i64;
        let time = self.monotonic.wrapping_add((distance as f64 * self.pace) as i64);
        self.correction.correct(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrected_time_follows_offset_and_drift() {
        let estimate = Estimate { at: 0, low: 990, high: 1_010, slowest: 100.0, fastest: 100.0, wander: 0.0 };
        let correction = Correction::new(&estimate, 0);
        assert_eq!(correction.correct(0), 1_000);
        assert_eq!(correction.correct(10_000_000_000), 10_000_002_000);
        assert!(correction.bound >= 10);
    }
}
