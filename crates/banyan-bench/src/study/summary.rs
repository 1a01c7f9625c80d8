//! The figures of all repetitions of one thing, as a median with its interval.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::Serialize;

use super::figure::one_text;
use super::{Figure, Interval, median, median_interval};

/// What a figure is a figure of: the same in every repetition, and in every study.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Key {
    /// Which bench.
    pub bench: String,
    /// What was done.
    pub op: String,
    /// By whom.
    pub system: String,
    /// With what.
    pub parameters: BTreeMap<String, String>,
    /// What is counted.
    pub unit: String,
}

/// All values of a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// What they are values of.
    #[serde(flatten)]
    pub key: Key,
    /// In the order of the runs.
    pub values: Vec<f64>,
    /// Their median.
    pub median: f64,
    /// Where it is likely to lie.
    pub interval: Option<Interval>,
}

impl Key {
    /// Of a figure.
    pub fn of(figure: &Figure) -> Key {
        Key {
            bench: figure.bench.clone(),
            op: figure.op.clone(),
            system: figure.system.clone(),
            parameters: figure.parameters.clone(),
            unit: figure.unit.clone(),
        }
    }

    /// Whether more is better, as with all rates.
    pub fn is_rate(&self) -> bool {
        self.unit.ends_with("/s")
    }

    /// Whether it counts time.
    pub fn is_time(&self) -> bool {
        ["ns", "µs", "ms", "s"].contains(&self.unit.as_str())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.bench, self.op, self.system, one_text(&self.parameters))
    }
}

/// The figures by their keys, in the order in which the keys come first.
pub fn summarize(figures: &[Figure]) -> Vec<Summary> {
    let mut places = HashMap::new();
    let mut groups: Vec<(Key, Vec<f64>)> = Vec::new();
    for figure in figures.iter().filter(|figure| figure.value.is_finite()) {
        let key = Key::of(figure);
        let place = *places.entry(key.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((key, Vec::new()));
        }
        groups[place].1.push(figure.value);
    }
    let summary = |(key, values): (Key, Vec<f64>)| {
        let (median, interval) = (median(&values)?, median_interval(&values));
        Some(Summary { key, values, median, interval })
    };
    groups.into_iter().filter_map(summary).collect()
}

/// A number with as many digits as mean something.
pub fn amount(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 1000.0 || size == 0.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 0.1 => 3,
        size if size >= 0.01 => 4,
        size if size >= 0.001 => 5,
        _ => return format!("{value:.3e}"),
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::super::compare::tests::figures;
    use super::*;

    #[test]
    fn repetitions_are_brought_together_and_other_parameters_kept_apart() {
        let mut all = figures("banyan", "ms", &[3.0, 1.0, 2.0]);
        all.extend(figures("floor", "ms", &[7.0]));
        let summaries = summarize(&all);
        let seen: Vec<(&str, f64)> =
            summaries.iter().map(|summary| (summary.key.system.as_str(), summary.median)).collect();
        assert_eq!(seen, [("banyan", 2.0), ("floor", 7.0)]);
        assert_eq!(summaries[0].interval.map(|interval| (interval.low, interval.high)), Some((1.0, 3.0)));
    }

    #[test]
    fn amounts_have_three_digits_or_four() {
        let shown: Vec<String> = [0.0, 0.000_123_4, 0.012_34, 1.23456, 12.3456, 123.456, 123_456.7].map(amount).into();
        assert_eq!(shown, ["0", "1.234e-4", "0.0123", "1.235", "12.35", "123.5", "123457"]);
    }
}
