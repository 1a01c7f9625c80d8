//! Intervals of a number in records, most often of a time.

use std::fmt;

/// Waves that are intervals of a number in the records, most often of a time. Wave k has the records whose number is
/// from `start + k * every` to `start + (k + 1) * every`.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    field: String,
    every: f64,
    start: f64,
}

// Neither number is NaN.
impl Eq for Interval {}

impl Interval {
    /// Intervals of this length, of a field, from a start on. None if the numbers are no numbers, or the length is not
    /// above zero.
    pub fn new(field: impl Into<String>, every: f64, start: f64) -> Option<Interval> {
        let is_valid = every.is_finite() && every > 0.0 && start.is_finite();
        is_valid.then(|| Interval { field: field.into(), every, start })
    }

    /// The path of the field.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The same intervals, counted from another start on.
    pub fn with_start(&self, start: f64) -> Interval {
        Interval { start, ..self.clone() }
    }

    /// The interval that a number lies in; none before the start, and for NaN.
    pub fn of_float(&self, number: f64) -> Option<u64> {
        let at = ((number - self.start) / self.every).floor();
        // Everything above 2^53 is beyond what a float counts by ones.
        (0.0..9.0e15).contains(&at).then_some(at as u64)
    }

    /// The interval that an integer lies in: exact, if length and start are integers.
    pub fn of_integer(&self, number: i128) -> Option<u64> {
        let (every, start) = (self.every as i128, self.start as i128);
        let is_exact = every as f64 == self.every && start as f64 == self.start;
        if !is_exact {
            return self.of_float(number as f64);
        }
        let at = number.checked_sub(start)?.div_euclid(every);
        u64::try_from(at).ok()
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Interval { field, every, start } = self;
        write!(f, "interval {field} {every} from {start}")
    }
}
