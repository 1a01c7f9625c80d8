//! How long waves of a stream are waited for, where there is a limit: from when the first contribution to a wave came.

use std::collections::VecDeque;
use std::time::Duration;

use crate::ids::{Level, Time, WaveNumber};

/// Waves that begin within this share of the time to wait are given up together, so that few points in time are kept.
const SHARE: u32 = 16;

/// Each level waits for three quarters of what the level above it waits, so that what one has given up on, and passes on
/// as it is, still comes in time for the next.
const QUARTERS: u32 = 3;

/// Levels below which all wait for the same time.
const DEEPEST: u16 = 8;

#[derive(Debug)]
pub(super) struct Patience {
    wait: Duration,
    /// By this time there was something of all waves before this one.
    begun: VecDeque<(Time, WaveNumber)>,
}

impl Patience {
    /// The patience of a node, when the front-end waits for so long.
    pub(super) fn at(level: Level, front_end: Duration) -> Patience {
        let wait = (0..level.0.min(DEEPEST)).fold(front_end, |wait, _| wait * QUARTERS / 4);
        Patience { wait, begun: VecDeque::new() }
    }

    /// Something has come of the waves before this one.
    pub(super) fn begin(&mut self, until: WaveNumber, now: Time) {
        match self.begun.back_mut() {
            Some((_, last)) if until <= *last => {}
            Some((since, last)) if now <= since.after(self.wait / SHARE) => *last = until,
            _ => self.begun.push_back((now, until)),
        }
    }

    /// The waves before this one are on their way, and not waited for.
    pub(super) fn settle(&mut self, until: WaveNumber) {
        while self.begun.front().is_some_and(|(_, begun)| *begun <= until) {
            self.begun.pop_front();
        }
    }

    /// When it ends.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.begun.front().map(|(since, _)| since.after(self.wait))
    }

    /// The waves before this one have been waited for long enough.
    pub(super) fn exhausted(&mut self, now: Time) -> Option<WaveNumber> {
        let mut until = None;
        while self.deadline().is_some_and(|deadline| deadline <= now) {
            until = self.begun.pop_front().map(|(_, begun)| begun);
        }
        until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_above_wait_longer() {
        let waits = [0, 1, 2, 9, 60_000].map(|level| Patience::at(Level(level), Duration::from_millis(64)).wait);
        assert!(waits.is_sorted_by(|one, other| one >= other) && waits[1] < waits[0], "{waits:?}");
        assert!(waits[4] > Duration::from_millis(1));
    }

    #[test]
    fn waves_are_given_up_when_their_time_is_over_and_not_before() {
        let mut patience = Patience::at(Level(0), Duration::from_nanos(160));
        assert_eq!(patience.deadline(), None);
        patience.begin(WaveNumber(2), Time(0));
        patience.begin(WaveNumber(1), Time(5));
        patience.begin(WaveNumber(3), Time(10));
        patience.begin(WaveNumber(7), Time(11));
        patience.begin(WaveNumber(9), Time(50));
        assert_eq!(patience.deadline(), Some(Time(160)));
        assert_eq!(patience.exhausted(Time(159)), None);
        assert_eq!(patience.exhausted(Time(165)), Some(WaveNumber(3)));
        patience.settle(WaveNumber(6));
        assert_eq!(patience.deadline(), Some(Time(171)));
        patience.settle(WaveNumber(7));
        assert_eq!(patience.exhausted(Time(1000)), Some(WaveNumber(9)));
        assert_eq!(patience.exhausted(Time(1000)), None);
    }
}
