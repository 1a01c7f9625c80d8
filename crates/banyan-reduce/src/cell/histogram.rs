//! How many values fall into each of equal parts of a range.

use super::super::body::{Reader, Writer};
use super::super::layout::Places;

/// Counts by part, and of what lies outside. Every value is counted once.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    low: f64,
    high: f64,
    counts: Vec<u64>,
    under: u64,
    over: u64,
    nan: u64,
}

impl Histogram {
    pub(crate) fn new(low: f64, high: f64, bins: u32) -> Histogram {
        Histogram { low, high, counts: vec![0; bins as usize], under: 0, over: 0, nan: 0 }
    }

    /// Memory behind it.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.counts[..])
    }

    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        (self.under, self.over, self.nan) = (0, 0, 0);
    }

    /// A part contains its beginning; the last one its end too.
    pub(crate) fn take(&mut self, value: f64) {
        let count = if value.is_nan() {
            &mut self.nan
        } else if value < self.low {
            &mut self.under
        } else if value > self.high {
            &mut self.over
        } else {
            let bins = self.counts.len();
            let share = (value - self.low) / (self.high - self.low);
            // Rounding may give the end of the last part, which belongs to it.
            &mut self.counts[((share * bins as f64) as usize).min(bins - 1)]
        };
        *count = count.saturating_add(1);
    }

    /// Places: counts, under, over, NaN.
    pub(crate) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>) {
        let (others, _) = from.slice(at.field(0), self.counts.len() * 8).as_chunks::<8>();
        for (count, other) in self.counts.iter_mut().zip(others) {
            *count = count.saturating_add(u64::from_ne_bytes(*other));
        }
        for (count, field) in [&mut self.under, &mut self.over, &mut self.nan].into_iter().zip(1..) {
            *count = count.saturating_add(from.u64(at.field(field)));
        }
    }

    pub(crate) fn write(&self, out: &mut Writer<'_>, at: Places<'_>) {
        for (index, count) in self.counts.iter().enumerate() {
            out.put(at.field(0) + index * 8, count.to_ne_bytes());
        }
        for (count, field) in [self.under, self.over, self.nan].into_iter().zip(1..) {
            out.put(at.field(field), count.to_ne_bytes());
        }
    }
}
