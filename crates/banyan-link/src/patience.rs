//! How to wait: yielding for a moment, or asleep at once.
//!
//! Waking a sleeping processor takes longer than most answers do. So who has lately been answered quickly looks again
//! for a moment, giving way to every other process, before it goes to sleep. Who waits long goes to sleep at once.

use std::time::{Duration, Instant};

/// How long to yield before sleeping.
const YIELDING: Duration = Duration::from_micros(50);

/// A wait that ended within this time was short: with yielding it would have ended within [`YIELDING`], for the rest is
/// what waking takes.
const SHORT: Duration = Duration::from_micros(100);

/// Short waits that are remembered, at most: so many long ones in a row end the yielding.
const REMEMBERED: u8 = 4;

/// Remembers whether waits were short.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    short: u8,
}

impl Patience {
    /// Until when to yield, for a wait that begins now; `None` to sleep at once.
    pub(crate) fn yield_until(&self, now: Instant) -> Option<Instant> {
        (self.short > 0).then(|| now + YIELDING)
    }

    /// A wait that was not interrupted took so long.
    pub(crate) fn waited(&mut self, time: Duration) {
        self.short = if time <= SHORT { REMEMBERED.min(self.short + 1) } else { self.short.saturating_sub(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_were_answered_quickly_yield() {
        let (now, mut patience) = (Instant::now(), Patience::default());
        assert_eq!(patience.yield_until(now), None);
        patience.waited(SHORT);
        assert_eq!(patience.yield_until(now), Some(now + YIELDING));
        patience.waited(Duration::from_secs(1));
        assert_eq!(patience.yield_until(now), None);
    }

    #[test]
    fn a_few_long_waits_end_the_yielding_however_many_short_ones_there_were() {
        let (now, mut patience) = (Instant::now(), Patience::default());
        (0..1000).for_each(|_| patience.waited(Duration::ZERO));
        (0..REMEMBERED).for_each(|_| patience.waited(Duration::from_secs(1)));
        assert_eq!(patience.yield_until(now), None);
    }
}
