//! What is known of another clock at some time: how far it is ahead, how fast that changes, and within which limits.

/// What is known of another clock at some time of the own one.
///
/// "Ahead" is what the other clock shows less what the own one shows. The true value lies within the limits as long as the
/// clocks keep theirs ([`Limits`](crate::Limits)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The time, by the own clock, in nanoseconds.
    pub at: i64,
    /// How many nanoseconds the other clock is ahead at least, …
    pub low: i64,
    /// … and at most.
    pub high: i64,
    /// How many nanoseconds it gains in a second at least, …
    pub slowest: f64,
    /// … and at most.
    pub fastest: f64,
    /// By how much that changes in a second at most.
    pub wander: f64,
}

/// A time of another clock, by the own one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrected {
    /// The time by the own clock, in nanoseconds.
    pub time: i64,
    /// The true one differs from it by at most this.
    pub bound: i64,
}

/// How often a time is corrected until it does not change any more: each time the error is a thousandth or less.
const ROUNDS: usize = 4;

impl Estimate {
    /// A clock that is the own one.
    pub fn own(at: i64) -> Estimate {
        Estimate { at, low: 0, high: 0, slowest: 0.0, fastest: 0.0, wander: 0.0 }
    }

    /// How many nanoseconds the other clock is ahead.
    pub fn offset(&self) -> i64 {
        self.low + self.high.saturating_sub(self.low) / 2
    }

    /// How many nanoseconds the other clock gains in a second.
    pub fn drift(&self) -> f64 {
        f64::midpoint(self.slowest, self.fastest)
    }

    /// By how much [`offset`](Self::offset) is wrong at most.
    pub fn bound(&self) -> i64 {
        self.high.saturating_sub(self.offset())
    }

    /// What is known of the same clock at another time, later or earlier.
    #[must_use]
    pub fn at(&self, time: i64) -> Estimate {
        if self.is_constant() {
            return Estimate { at: time, ..*self };
        }
        let seconds = seconds(time.saturating_sub(self.at));
        let gains = [self.slowest * seconds, self.fastest * seconds];
        let bend = self.wander * seconds * seconds / 2.0;
        let turn = self.wander * seconds.abs();
        Estimate {
            at: time,
            low: self.low.saturating_add(down(gains[0].min(gains[1]) - bend)),
            high: self.high.saturating_add(up(gains[0].max(gains[1]) + bend)),
            slowest: self.slowest - turn,
            fastest: self.fastest + turn,
            wander: self.wander,
        }
    }

    /// A time of the other clock, by the own one.
    pub fn correct(&self, theirs: i64) -> Corrected {
        let mut time = theirs.saturating_sub(self.offset());
        for _ in 0..ROUNDS {
            time = theirs.saturating_sub(self.at(time).offset());
        }
        let there = self.at(time);
        Corrected { time, bound: there.bound().saturating_add(there.gained_in(there.bound())) }
    }

    /// What is known of the other clock by a third one, which `by` compares with the own one.
    #[must_use]
    pub fn then(&self, by: &Estimate) -> Estimate {
        let there = self.at(by.at.saturating_add(by.offset()));
        // Where on the own clock's line that is, is not known exactly.
        let more = there.gained_in(by.bound());
        let together = |first: f64, second: f64| first + second + first * second * 1e-9;
        let rates = [
            together(there.slowest, by.slowest),
            together(there.slowest, by.fastest),
            together(there.fastest, by.slowest),
            together(there.fastest, by.fastest),
        ];
        Estimate {
            at: by.at,
            low: there.low.saturating_add(by.low).saturating_sub(more),
            high: there.high.saturating_add(by.high).saturating_add(more),
            slowest: rates.into_iter().fold(f64::INFINITY, f64::min),
            fastest: rates.into_iter().fold(f64::NEG_INFINITY, f64::max),
            // Each is seen at the pace of the other, which differs by far less than this.
            wander: (there.wander + by.wander) * 1.001,
        }
    }

    /// What two estimates of one clock say together, at the later of their times; `None` if they contradict each other.
    pub fn and(&self, other: &Estimate) -> Option<Estimate> {
        let at = self.at.max(other.at);
        let (first, second) = (self.at(at), other.at(at));
        let both = Estimate {
            at,
            low: first.low.max(second.low),
            high: first.high.min(second.high),
            slowest: first.slowest.max(second.slowest),
            fastest: first.fastest.min(second.fastest),
            wander: first.wander.min(second.wander),
        };
        (both.low <= both.high && both.slowest <= both.fastest).then_some(both)
    }

    /// Whether the other clock neither gains nor loses anything: it is the own one.
    fn is_constant(&self) -> bool {
        [self.slowest, self.fastest, self.wander] == [0.0; 3]
    }

    /// How much the other clock gains or loses at most in so many nanoseconds.
    fn gained_in(&self, nanoseconds: i64) -> i64 {
        up(self.slowest.abs().max(self.fastest.abs()) * seconds(nanoseconds))
    }
}

pub(crate) fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 * 1e-9
}

/// Rounded down, and a bit more: what was computed with is not exact either.
pub(crate) fn down(nanoseconds: f64) -> i64 {
    (nanoseconds.floor() as i64).saturating_sub(1)
}

/// Rounded up, and a bit more.
pub(crate) fn up(nanoseconds: f64) -> i64 {
    (nanoseconds.ceil() as i64).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn estimate(at: i64, low: i64, high: i64) -> Estimate {
        Estimate { at, low, high, slowest: 900.0, fastest: 1_100.0, wander: 0.0 }
    }

    #[test]
    fn what_is_known_of_another_time_is_known_less_well() {
        let known = estimate(0, 4_000, 6_000);
        let later = known.at(10 * SECOND);
        assert_eq!((later.low, later.high), (4_000 + 9_000 - 1, 6_000 + 11_000 + 1));
        let earlier = known.at(-10 * SECOND);
        assert_eq!((earlier.low, earlier.high), (4_000 - 11_000 - 1, 6_000 - 9_000 + 1));
        assert_eq!(Estimate::own(0).at(10 * SECOND), Estimate::own(10 * SECOND), "but the own clock is known exactly");
        let turns = Estimate { wander: 20.0, ..known }.at(10 * SECOND);
        assert_eq!((turns.low, turns.high), (later.low - 1_000, later.high + 1_000));
        assert!((turns.slowest - 700.0).abs() < 1e-6 && (turns.fastest - 1_300.0).abs() < 1e-6);
    }

    #[test]
    fn times_are_corrected_however_far_the_clocks_are_apart() {
        // An hour ahead and 100 millionths fast: in a thousand seconds it gains a tenth of a second.
        let known = Estimate { slowest: 100_000.0, fastest: 100_000.0, ..estimate(0, 3_600 * SECOND, 3_600 * SECOND) };
        let theirs = 1_000 * SECOND + 3_600 * SECOND + SECOND / 10;
        let Corrected { time, bound } = known.correct(theirs);
        assert!((time - 1_000 * SECOND).abs() <= bound && bound < 10, "{time} ± {bound}");
    }

    #[test]
    fn two_clocks_that_are_compared_with_a_third_are_compared() {
        let (child, parent) = (estimate(0, 4_000, 6_000), estimate(50, -2_000, -1_000));
        let both = child.then(&parent);
        assert_eq!(both.at, 50);
        assert!((both.low - 2_000).abs() <= 6 && (both.high - 5_000).abs() <= 6, "{both:?}");
        assert!(both.slowest < 1_800.01 && both.fastest > 2_199.99, "{both:?}");
        let own = child.then(&Estimate::own(0));
        assert!(own.low <= child.low && own.high >= child.high && own.bound() <= child.bound() + 4);
    }

    #[test]
    fn what_two_estimates_say_together_is_within_both() {
        let (first, second) = (estimate(0, 4_000, 6_000), estimate(0, 5_000, 9_000));
        let both = first.and(&second).unwrap();
        assert!(both.low >= 4_998 && both.high <= 6_002);
        assert_eq!(first.and(&estimate(0, 7_000, 9_000)), None);
    }
}
