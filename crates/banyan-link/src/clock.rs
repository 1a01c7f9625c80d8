//! The time, as the kernel leaves it in the memory of every process.
//!
//! [`Instant::now`] reads the same, and asks the C library for the way there, which lies on pages of its own. In a process
//! that was asleep beside many others each page that is looked at takes a third of a microsecond.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A moment by the one clock and by the other.
static BEGIN: OnceLock<(Duration, Instant)> = OnceLock::new();

/// How often both clocks are read to find that moment: one may be long after the other, if another process is between.
const READINGS: usize = 8;

/// This moment: never before what [`Instant::now`] said, and ahead of it by as long as it takes to read.
pub fn now() -> Instant {
    let (time, instant) = BEGIN.get_or_init(|| {
        let readings = (0..READINGS).map(|_| (monotonic(), Instant::now(), monotonic()));
        let closest = readings.min_by_key(|(before, _, after)| after.saturating_sub(*before));
        closest.map_or_else(|| (monotonic(), Instant::now()), |(time, instant, _)| (time, instant))
    });
    *instant + monotonic().saturating_sub(*time)
}

fn monotonic() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    // Both count from the start of the machine, nanoseconds below a second.
    Duration::new(tv_sec.cast_unsigned(), tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_clock_that_others_read() {
        for _ in 0..1000 {
            let (before, first, second) = (Instant::now(), now(), now());
            assert!(before <= first && first <= second);
            let ahead = first.saturating_duration_since(Instant::now());
            assert!(ahead < Duration::from_secs(60), "ahead by {ahead:?}");
        }
    }
}
