//! Two studies, value by value: what has become faster, what slower, and where no difference is shown.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use serde::Serialize;

use crate::Environment;

use super::{Interval, Key, Results, Summary, amount, quotient, summarize};

/// Two studies side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// What was not the same where they were measured.
    pub differences: Vec<Difference>,
    /// What both have.
    pub values: Vec<Line>,
    /// What only the old one has.
    pub only_old: Vec<Key>,
    /// What only the new one has.
    pub only_new: Vec<Key>,
}

/// A fact about the machines or the builds that is not the same in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// Its name.
    pub fact: &'static str,
    /// In the old study; several with commas.
    pub old: String,
    /// In the new one.
    pub new: String,
}

/// One value of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Line {
    /// What it is a value of.
    #[serde(flatten)]
    pub key: Key,
    /// Its median in the old study, and of how many runs.
    pub old: ComparedValue,
    /// And in the new one.
    pub new: ComparedValue,
    /// New divided by old: the median of the quotients of all pairs of runs.
    pub ratio: Option<f64>,
    /// Where the ratio is likely to lie.
    pub interval: Option<Interval>,
    /// What that means.
    pub verdict: Verdict,
}

/// A value in one study.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ComparedValue {
    /// The median.
    pub median: f64,
    /// Of so many runs.
    pub runs: usize,
}

/// What a comparison shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// Less time, or a higher rate.
    Faster,
    /// More time, or a lower rate.
    Slower,
    /// Less of what is neither time nor rate, such as memory.
    Smaller,
    /// More of it.
    Larger,
    /// The interval holds 1: the same, or too few runs to tell them apart.
    NoDifference,
    /// No interval of 95 % can be had from so few runs.
    TooFew,
    /// Some value is zero or less, which has no quotient.
    NotPositive,
}

impl Verdict {
    fn of(key: &Key, interval: Option<&Interval>) -> Verdict {
        let Some(interval) = interval else { return Verdict::NotPositive };
        let (grown, shrunk) = (interval.low > 1.0, interval.high < 1.0);
        match (key.is_rate(), key.is_time()) {
            _ if !interval.is_sure() => Verdict::TooFew,
            _ if !grown && !shrunk => Verdict::NoDifference,
            (true, _) if grown => Verdict::Faster,
            (true, _) => Verdict::Slower,
            (_, true) if grown => Verdict::Slower,
            (_, true) => Verdict::Faster,
            _ if grown => Verdict::Larger,
            _ => Verdict::Smaller,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Smaller => "smaller",
            Verdict::Larger => "larger",
            Verdict::NoDifference => "no difference shown",
            Verdict::TooFew => "too few runs",
            Verdict::NotPositive => "not positive",
        })
    }
}

/// Compares what both studies have measured.
pub fn compare(old: &Results, new: &Results) -> Comparison {
    let differences = differences(&old.environments, &new.environments);
    let (old, new) = (summarize(&old.figures), summarize(&new.figures));
    let of = |summaries: &[Summary]| -> HashMap<Key, usize> {
        summaries.iter().enumerate().map(|(place, summary)| (summary.key.clone(), place)).collect()
    };
    let (in_old, in_new) = (of(&old), of(&new));
    let both = old.iter().filter_map(|old| Some(line(old, &new[*in_new.get(&old.key)?])));
    let missing = |summaries: &[Summary], there: &HashMap<Key, usize>| -> Vec<Key> {
        summaries
            .iter()
            .filter(|summary| !there.contains_key(&summary.key))
            .map(|summary| summary.key.clone())
            .collect()
    };
    let (only_old, only_new) = (missing(&old, &in_new), missing(&new, &in_old));
    Comparison { differences, values: both.collect(), only_old, only_new }
}

fn differences(old: &[Environment], new: &[Environment]) -> Vec<Difference> {
    let facts = |environments: &[Environment]| {
        let mut facts: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
        for (name, value) in environments.iter().flat_map(Environment::facts) {
            facts.entry(name).or_default().insert(value);
        }
        facts
    };
    let (mut old, mut new) = (facts(old), facts(new));
    let names: BTreeSet<&'static str> = old.keys().chain(new.keys()).copied().collect();
    let told = |values: BTreeSet<String>| match values.is_empty() {
        true => "not known".to_owned(),
        false => values.into_iter().collect::<Vec<_>>().join(", "),
    };
    let of = |fact| {
        let (old, new) = (old.remove(fact).unwrap_or_default(), new.remove(fact).unwrap_or_default());
        (old != new).then(|| Difference { fact, old: told(old), new: told(new) })
    };
    names.into_iter().filter_map(of).collect()
}

fn line(old: &Summary, new: &Summary) -> Line {
    let (ratio, interval) = quotient(&old.values, &new.values).unzip();
    let side = |summary: &Summary| ComparedValue { median: summary.median, runs: summary.values.len() };
    let verdict = Verdict::of(&old.key, interval.as_ref());
    Line { key: old.key.clone(), old: side(old), new: side(new), ratio, interval, verdict }
}

impl Comparison {
    /// How often a verdict was given.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.values.iter().filter(|line| line.verdict == verdict).count()
    }

    /// A table for people, with what was not the same above it, and what exists on one side only below it.
    pub fn table(&self) -> String {
        let keys: Vec<String> = self.values.iter().map(|line| line.key.to_string()).collect();
        let width = keys.iter().map(|key| key.chars().count()).max().unwrap_or(0).max("value".len());
        let head = ("value", "old", "new", "unit", "ratio", "95 % interval");
        let mut out = String::new();
        for Difference { fact, old, new } in &self.differences {
            out += &format!("not the same {fact}: {old} (old), {new} (new)\n");
        }
        out += &format!(
            "{:<width$}  {:>10}  {:>10}  {:<8}{:>7}  {:<17}  verdict\n",
            head.0, head.1, head.2, head.3, head.4, head.5
        );
        for (line, key) in self.values.iter().zip(&keys) {
            let ratio = line.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
            let interval = line.interval.filter(Interval::is_sure);
            let interval = interval.map_or_else(|| "-".to_owned(), |at| format!("{:.3} to {:.3}", at.low, at.high));
            let (old, new) = (amount(line.old.median), amount(line.new.median));
            let unit = &line.key.unit;
            out += &format!(
                "{key:<width$}  {old:>10}  {new:>10}  {unit:<8}{ratio:>7}  {interval:<17}  {}\n",
                line.verdict
            );
        }
        for (keys, side) in [(&self.only_old, "old"), (&self.only_new, "new")] {
            keys.iter().for_each(|key| out += &format!("only in the {side} one: {key}\n"));
        }
        out + &self.conclusion()
    }

    /// How many of each verdict.
    fn conclusion(&self) -> String {
        let all = [
            Verdict::Faster,
            Verdict::Slower,
            Verdict::Smaller,
            Verdict::Larger,
            Verdict::NoDifference,
            Verdict::TooFew,
            Verdict::NotPositive,
        ];
        let counts = all.map(|verdict| (verdict, self.count(verdict)));
        let counts: Vec<String> = counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(verdict, count)| format!("{count} {verdict}"))
            .collect();
        let told = if counts.is_empty() { "nothing to compare".to_owned() } else { counts.join(", ") };
        // Only what has an interval can differ by chance.
        let sure = self.values.len() - self.count(Verdict::TooFew) - self.count(Verdict::NotPositive);
        let by_chance = match sure {
            0..20 => String::new(),
            sure => format!("; of {sure} that could, about {:.0} would differ by chance", sure as f64 * 0.05),
        };
        let values = if self.values.len() == 1 { "value" } else { "values" };
        format!("{} {values}: {told}{by_chance}\n", self.values.len())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Figure;
    use super::*;

    /// Figures of one thing in several repetitions.
    pub(in crate::study) fn figures(system: &str, unit: &str, values: &[f64]) -> Vec<Figure> {
        let figure = |(index, value): (usize, &f64)| Figure {
            study: "s".into(),
            run: index as u32 + 1,
            bench: "tree".into(),
            system: system.into(),
            op: "round_trip".into(),
            parameters: [("members".to_owned(), "64".to_owned())].into(),
            value: *value,
            unit: unit.into(),
            repetition: index as u32 + 1,
        };
        values.iter().enumerate().map(figure).collect()
    }

    fn results(system: &str, unit: &str, values: &[f64]) -> Results {
        Results { study: "s".into(), runs: 1, figures: figures(system, unit, values), ..Results::default() }
    }

    const LOW: [f64; 5] = [10.0, 10.2, 9.9, 10.1, 10.3];
    const HIGH: [f64; 5] = [13.0, 12.0, 12.5, 11.9, 12.2];

    fn verdict(unit: &str, old: &[f64], new: &[f64]) -> Verdict {
        compare(&results("banyan", unit, old), &results("banyan", unit, new)).values[0].verdict
    }

    #[test]
    fn more_time_is_slower_and_a_higher_rate_faster() {
        assert_eq!(verdict("ms", &LOW, &HIGH), Verdict::Slower);
        assert_eq!(verdict("ms", &HIGH, &LOW), Verdict::Faster);
        assert_eq!(verdict("GB/s", &LOW, &HIGH), Verdict::Faster);
        assert_eq!(verdict("waves/s", &HIGH, &LOW), Verdict::Slower);
        assert_eq!(verdict("MB", &LOW, &HIGH), Verdict::Larger);
        assert_eq!(verdict("MB", &HIGH, &LOW), Verdict::Smaller);
    }

    #[test]
    fn the_same_or_too_few_is_no_difference() {
        assert_eq!(verdict("ms", &LOW, &LOW), Verdict::NoDifference);
        assert_eq!(verdict("ms", &LOW[..3], &HIGH[..3]), Verdict::TooFew);
        assert_eq!(verdict("ms", &[0.0, 1.0, 1.0, 1.0, 1.0], &HIGH), Verdict::NotPositive);
    }

    #[test]
    fn only_values_with_an_interval_could_differ_by_chance() {
        let many = |count: usize, values: &[f64]| {
            let figures = (0..count).flat_map(|at| figures(&format!("s{at}"), "ms", values)).collect();
            Results { figures, ..Results::default() }
        };
        let told = |values: &[f64]| compare(&many(40, values), &many(40, values)).table();
        assert!(
            told(&LOW)
                .ends_with("40 values: 40 no difference shown; of 40 that could, about 2 would differ by chance\n")
        );
        assert!(told(&LOW[..3]).ends_with("40 values: 40 too few runs\n"));
    }

    #[test]
    fn what_was_not_the_same_where_they_were_measured_is_told_first() {
        let at = |host: &str, build: &str| {
            let here = Environment { host: host.into(), build: build.into(), ..Environment::observe() };
            Results { environments: vec![here], ..results("banyan", "ms", &LOW) }
        };
        let told = compare(&at("h1", "debug"), &at("h2", "release")).table();
        assert!(
            told.starts_with(
                "not the same build: debug (old), release (new)\nnot the same host: h1 (old), h2 (new)\nvalue "
            ),
            "{told}"
        );
        assert_eq!(compare(&at("h1", "debug"), &at("h1", "debug")).differences, []);
        assert_eq!(compare(&at("h1", "debug"), &results("banyan", "ms", &LOW)).differences[0].new, "not known");
    }

    #[test]
    fn the_ratio_is_that_of_all_pairs_with_its_interval() {
        let comparison = compare(&results("banyan", "ms", &LOW), &results("banyan", "ms", &HIGH));
        let line = &comparison.values[0];
        let (ratio, interval) = (line.ratio.unwrap(), line.interval.unwrap());
        assert!(interval.low < ratio && ratio < interval.high && interval.low > 1.1 && interval.high < 1.4, "{line:?}");
        assert_eq!((line.old.median, line.new.median, line.new.runs), (10.1, 12.2, 5));
        let table = comparison.table();
        assert!(table.contains("slower") && table.ends_with("1 value: 1 slower\n"), "{table}");
    }

    #[test]
    fn what_exists_on_one_side_only_is_told() {
        let comparison = compare(&results("banyan", "ms", &LOW), &results("floor", "ms", &LOW));
        let names = |keys: &[Key]| keys.iter().map(|key| key.system.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&comparison.only_old), names(&comparison.only_new)),
            (vec!["banyan".into()], vec!["floor".into()])
        );
        assert!(comparison.table().contains("only in the old one: tree round_trip banyan members=64\n"));
    }
}
