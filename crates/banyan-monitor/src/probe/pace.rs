//! How often rings are drained: as often as they fill, and rarely when nothing is emitted.

use std::time::{Duration, Instant};

/// Between two drains at least, unless rings fill faster.
const SHORTEST: Duration = Duration::from_millis(1);

/// Between two drains while events come.
const WHILE_BUSY: Duration = Duration::from_millis(20);

/// Between two drains while nothing comes. Observers must drain every few seconds, or count as dead.
const WHILE_IDLE: Duration = Duration::from_millis(200);

/// So many events of one process between two drains are much: a part of the smallest ring.
const MUCH: u64 = 1024;

/// When to drain next.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    due: Instant,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace { interval: WHILE_IDLE, due: Instant::now() }
    }

    pub(super) fn due(&self) -> Instant {
        self.due
    }

    pub(super) fn hurry(&mut self) {
        self.due = Instant::now();
    }

    /// A drain that began then found so many events in the process with most of them.
    pub(super) fn drained(&mut self, begin: Instant, most: u64) {
        self.interval = match most {
            // Twice as long each time.
            0 => (self.interval * 2).clamp(SHORTEST, WHILE_IDLE),
            1..MUCH => {
                let fitting = self.interval.as_secs_f64() * (MUCH / 2) as f64 / most as f64;
                Duration::from_secs_f64(fitting.min(1.0)).clamp(SHORTEST, WHILE_BUSY)
            }
            _ => Duration::ZERO,
        };
        self.due = begin + self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_drains_at_once_while_rings_fill_and_rarely_while_they_do_not() {
        let (mut pace, now) = (Pace::new(), Instant::now());
        pace.drained(now, 1_000_000);
        assert_eq!(pace.due(), now);
        pace.drained(now, 10);
        assert!(pace.due() > now && pace.due() <= now + WHILE_BUSY);
        (0..20).for_each(|_| pace.drained(now, 0));
        assert_eq!(pace.due(), now + WHILE_IDLE);
    }
}
