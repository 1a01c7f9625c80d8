//! The clock of a peer, as the exchanges with it show it.
//!
//! An exchange limits the offset at its time from both sides. The offset follows a line, nearly: its slope is at most
//! [`Limits::rate`] and changes by at most [`Limits::wander`] a second, so after so many seconds it is off the line by at most
//! half of that times their square. An exchange that is older limits the line by that much less. All lines that pass between
//! all limits give the slopes, and the offsets at any time, that the peer's clock can have. If no line does, the clock has
//! broken what is assumed of it: it was set, or stood still. Then only the last exchange counts.

use crate::estimate::{Estimate, seconds, up};
use crate::exchange::{Exchange, ExchangeError};

/// What is assumed of two clocks: how much faster one may be than the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// How many nanoseconds one gains in a second at most: 200,000, two clocks that are each wrong by 100 millionths.
    pub rate: f64,
    /// By how much that changes in a second at most: 20, as quartz does that becomes warm.
    pub wander: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { rate: 200_000.0, wander: 20.0 }
    }
}

/// Exchanges that are kept.
const KEPT: usize = 32;

/// What an exchange has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Observed {
    /// It agrees with those before.
    Agrees,
    /// The clock was set, or one of the hosts was suspended, since the last one: the offset has changed by about so many
    /// nanoseconds. What was known before is forgotten.
    Step {
        /// How far the peer's clock was put forward.
        by: i64,
    },
    /// It is from before the last one, and was left out.
    Late,
}

/// The clock of a peer. See the module.
#[derive(Debug, Clone)]
pub struct PeerClock {
    limits: Limits,
    /// Oldest first.
    seen: Vec<Seen>,
    steps: u64,
}

/// The limits that one exchange gives.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// By the own clock.
    at: i64,
    low: i64,
    high: i64,
}

/// The limits of a line, at one time.
struct Line {
    slowest: f64,
    fastest: f64,
    low: f64,
    high: f64,
}

impl PeerClock {
    /// A clock of which nothing is known.
    pub fn new(limits: Limits) -> PeerClock {
        PeerClock { limits, seen: Vec::with_capacity(KEPT + 1), steps: 0 }
    }

    /// Takes an exchange.
    ///
    /// # Errors
    /// If its times cannot be those of an exchange.
    pub fn observe(&mut self, exchange: &Exchange) -> Result<Observed, ExchangeError> {
        let (low, high) = exchange.limits()?;
        // The offset is as limited at some time between sending and receiving.
        let more = up(self.limits.rate * seconds(exchange.received - exchange.sent));
        let new = Seen { at: exchange.received, low: low - more, high: high + more };
        if new.low > new.high {
            return Err(ExchangeError::OutOfOrder);
        }
        if self.seen.last().is_some_and(|last| last.at > new.at) {
            return Ok(Observed::Late);
        }
        let before = self.estimate(new.at);
        self.seen.push(new);
        if self.line(new.at).is_some() {
            self.thin_out();
            return Ok(Observed::Agrees);
        }
        self.seen.drain(..self.seen.len() - 1);
        self.steps += 1;
        let now = new.low + (new.high - new.low) / 2;
        Ok(Observed::Step { by: before.map_or(0, |before| now.saturating_sub(before.offset())) })
    }

    /// What is known of the clock at a time, which may be later or earlier than the last exchange; nothing before the first.
    pub fn estimate(&self, at: i64) -> Option<Estimate> {
        let last = self.seen.last()?;
        let line = self.line(last.at)?;
        let wander = self.limits.wander;
        let (low, high) = (last.offset_of(line.low, f64::floor), last.offset_of(line.high, f64::ceil));
        let known = Estimate { at: last.at, low, high, slowest: line.slowest, fastest: line.fastest, wander };
        Some(known.at(at))
    }

    /// What is known of the clock at the time of the last exchange.
    pub fn latest(&self) -> Option<Estimate> {
        self.estimate(self.seen.last()?.at)
    }

    /// How often the clock was set, or stood still.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The slopes and heights that a line has at this time if it passes between all limits.
    fn line(&self, at: i64) -> Option<Line> {
        let base = self.seen.last()?.low;
        let limits: Vec<(f64, f64, f64)> = self.seen.iter().map(|seen| self.limits_of(seen, at, base)).collect();
        let (mut slowest, mut fastest) = (-self.limits.rate, self.limits.rate);
        for (before, low, high) in &limits {
            for (since, other_low, other_high) in &limits {
                let apart = before - since;
                if apart > 0.0 {
                    fastest = fastest.min((other_high - low) / apart);
                    slowest = slowest.max((other_low - high) / apart);
                } else if apart == 0.0 && low > other_high {
                    return None;
                }
            }
        }
        let low = limits.iter().map(|(before, low, _)| low + slowest * before).fold(f64::NEG_INFINITY, f64::max);
        let high = limits.iter().map(|(before, _, high)| high + fastest * before).fold(f64::INFINITY, f64::min);
        (slowest <= fastest && low <= high).then_some(Line { slowest, fastest, low, high })
    }

    /// How many seconds before a time an exchange was, and what it says of the line there; offsets from a base, so that
    /// computing loses nothing.
    fn limits_of(&self, seen: &Seen, at: i64, base: i64) -> (f64, f64, f64) {
        let before = seconds(at - seen.at);
        let off_the_line = self.limits.wander * before * before / 2.0;
        (before, (seen.low - base) as f64 - off_the_line - 1.0, (seen.high - base) as f64 + off_the_line + 1.0)
    }

    /// Keeps as many as are of use: dense where they are new and sparse where they are old, and of two neighbours the one with
    /// the shorter way.
    fn thin_out(&mut self) {
        if self.seen.len() <= KEPT {
            return;
        }
        let now = self.seen.last().map_or(0, |last| last.at);
        let density = |pair: &[Seen]| (pair[1].at - pair[0].at) as f64 / (now - pair[0].at).max(1) as f64;
        // The newest is needed.
        let pairs = self.seen[..self.seen.len() - 1].windows(2).map(density).enumerate();
        let Some((first, _)) = pairs.min_by(|(_, one), (_, other)| one.total_cmp(other)) else { return };
        let is_second_worse = self.seen[first + 1].width() > self.seen[first].width();
        self.seen.remove(first + usize::from(is_second_worse));
    }
}

impl Seen {
    fn width(&self) -> i64 {
        self.high - self.low
    }

    fn offset_of(&self, from_base: f64, round: fn(f64) -> f64) -> i64 {
        self.low.saturating_add(round(from_base) as i64)
    }
}
