//! Medians, and how sure they are, by ranks.
//!
//! The interval of a median lies between two order statistics: how often the median of a distribution is outside of them
//! is a matter of tossing coins (the binomial distribution), whatever the distribution. The interval of a quotient lies
//! between two of the quotients of all pairs, by the distribution of the rank sum of Mann, Whitney and Wilcoxon (after
//! Hodges and Lehmann, for logarithms). Both are exact for small numbers of runs, and cover at least what they promise.
//! With fewer than six runs of each, or four against four, there is no interval of 95 %; then the widest that the data
//! give is told with what it covers.

/// What intervals should cover.
pub const CONFIDENCE: f64 = 0.95;

/// How far the normal distribution goes to cover [`CONFIDENCE`].
const NORMAL: f64 = 1.959_964;

/// Up to so many values ranks are counted exactly; above, the normal distribution is as good.
const EXACT: usize = 60;

/// Values of each side that a quotient is made of: a million pairs say all there is to say.
const MAX_VALUES: usize = 1000;

/// Where a value is likely to lie.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Interval {
    /// From here,
    pub low: f64,
    /// to here,
    pub high: f64,
    /// in so many of all cases (1 is always).
    pub coverage: f64,
}

impl Interval {
    /// Whether it covers as much as it should.
    pub fn is_sure(&self) -> bool {
        self.coverage >= CONFIDENCE
    }
}

/// The median; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    middle(&sorted(values))
}

/// The interval of the median; `None` for fewer than two values.
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let sorted = sorted(values);
    let count = sorted.len();
    if count < 2 {
        return None;
    }
    let (rank, coverage) = if count <= EXACT {
        narrowest(&binomial(count))
    } else {
        let rank = (count as f64 - NORMAL * (count as f64).sqrt()) / 2.0;
        (rank as usize, CONFIDENCE)
    };
    Some(between(&sorted, rank, coverage))
}

/// How many times as large the new values are: the median of the quotients of all pairs, and its interval; of more than
/// a thousand values, those of the first thousand. `None` if one of them is not positive: it has no quotient, and without
/// it the others would tell something else.
pub fn quotient(old: &[f64], new: &[f64]) -> Option<(f64, Interval)> {
    let (old, new) = (&old[..old.len().min(MAX_VALUES)], &new[..new.len().min(MAX_VALUES)]);
    if !old.iter().chain(new).all(|value| *value > 0.0 && value.is_finite()) {
        return None;
    }
    let quotients: Vec<f64> = new.iter().flat_map(|new| old.iter().map(move |old| new / old)).collect();
    let quotients = sorted(&quotients);
    let estimate = middle(&quotients)?;
    let (m, n) = (old.len(), new.len());
    let (rank, coverage) = if m.max(n) <= EXACT {
        narrowest(&rank_sums(m, n))
    } else {
        let (m, n) = (m as f64, n as f64);
        let rank = m * n / 2.0 - NORMAL * (m * n * (m + n + 1.0) / 12.0).sqrt();
        (rank.max(1.0) as usize, CONFIDENCE)
    };
    Some((estimate, between(&quotients, rank, coverage)))
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

/// The values of this rank from both ends, counted from one.
fn between(sorted: &[f64], rank: usize, coverage: f64) -> Interval {
    let rank = rank.clamp(1, sorted.len().div_ceil(2));
    Interval { low: sorted[rank - 1], high: sorted[sorted.len() - rank], coverage }
}

/// The highest rank from both ends that still covers enough, and what it covers; the first if none does. Given are the
/// probabilities of 0, 1, 2, … values on one side.
fn narrowest(probabilities: &[f64]) -> (usize, f64) {
    let mut outside = 0.0;
    let mut best = (1, (1.0 - 2.0 * probabilities[0]).max(0.0));
    for (index, probability) in probabilities.iter().enumerate().take(probabilities.len() / 2) {
        outside += 2.0 * probability;
        if 1.0 - outside < CONFIDENCE {
            break;
        }
        best = (index + 1, 1.0 - outside);
    }
    best
}

/// How likely so many of `count` coins show heads, for each number.
fn binomial(count: usize) -> Vec<f64> {
    let mut row = vec![0.5_f64.powi(count as i32)];
    for heads in 1..=count {
        row.push(row[heads - 1] * (count - heads + 1) as f64 / heads as f64);
    }
    row
}

/// How likely so many of the `m * n` pairs are in one order, for each number, if all orders of the values are equally
/// likely. The counts are the coefficients of the Gaussian binomial: a product of `1 - q^(m+i)`, divided by `1 - q^i`.
fn rank_sums(m: usize, n: usize) -> Vec<f64> {
    let mut counts = vec![0.0; m * n + 1];
    counts[0] = 1.0;
    for i in 1..=n {
        for at in (m + i..counts.len()).rev() {
            counts[at] -= counts[at - m - i];
        }
        for at in i..counts.len() {
            counts[at] += counts[at - i];
        }
    }
    let all: f64 = counts.iter().sum();
    counts.iter().map(|count| count / all).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(count: u32) -> Vec<f64> {
        (1..=count).map(f64::from).collect()
    }

    /// From the tables that statisticians print.
    #[test]
    fn intervals_of_medians_have_the_ranks_of_the_sign_test() {
        for (count, rank, coverage) in
            [(6, 1, 0.969), (8, 1, 0.992), (9, 2, 0.961), (10, 2, 0.979), (20, 6, 0.959), (50, 18, 0.967)]
        {
            let interval = median_interval(&numbers(count)).unwrap();
            assert_eq!((interval.low, interval.high), (f64::from(rank), f64::from(count + 1 - rank)), "{count}");
            assert!((interval.coverage - coverage).abs() < 0.001, "{count}: {interval:?}");
        }
    }

    #[test]
    fn few_runs_give_the_widest_interval_and_say_what_it_covers() {
        let five = median_interval(&numbers(5)).unwrap();
        assert_eq!((five.low, five.high, five.coverage), (1.0, 5.0, 0.9375));
        assert!(!five.is_sure() && median_interval(&[1.0]).is_none() && median(&[]).is_none());
        let (_, three) = quotient(&numbers(3), &numbers(3)).unwrap();
        assert!((three.coverage - 0.9).abs() < 1e-9 && (three.low, three.high) == (1.0 / 3.0, 3.0), "{three:?}");
    }

    /// From the tables of the rank sum: the largest number of pairs that is still too few, 5 % on both sides.
    #[test]
    fn intervals_of_quotients_have_the_ranks_of_the_rank_sum_test() {
        for (m, n, critical) in [(4, 4, 0), (5, 5, 2), (5, 8, 6), (7, 7, 8), (10, 10, 23), (20, 20, 127)] {
            assert_eq!(narrowest(&rank_sums(m, n)).0, critical + 1, "{m} and {n}");
        }
        assert_eq!(rank_sums(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0].map(|count| count / 6.0));
    }

    #[test]
    fn exact_and_normal_ranks_meet() {
        let exact = narrowest(&binomial(EXACT)).0 as f64;
        assert!((exact - (60.0 - NORMAL * 60_f64.sqrt()) / 2.0).abs() < 1.0, "{exact}");
        let exact = narrowest(&rank_sums(EXACT, EXACT)).0 as f64;
        assert!((exact - (1800.0 - NORMAL * (3600.0 * 121.0 / 12.0_f64).sqrt())).abs() < 3.0, "{exact}");
    }

    #[test]
    fn what_is_no_positive_number_has_no_quotient() {
        for values in [&[][..], &[2.0, 0.0], &[-1.0], &[f64::NAN, 1.0], &[f64::INFINITY]] {
            assert_eq!((quotient(values, &[1.0]), quotient(&[1.0], values)), (None, None), "{values:?}");
        }
    }

    #[test]
    fn many_values_take_no_more_memory_than_a_thousand() {
        let many = vec![1.0; 50_000];
        assert_eq!(quotient(&many, &many).map(|(quotient, _)| quotient), Some(1.0));
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(0.01_f64..1e6, 1..90)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn an_interval_holds_its_median_and_lies_within_the_data(values in values()) {
            let Some(interval) = median_interval(&values) else { return Ok(()) };
            let at = median(&values).unwrap();
            prop_assert!(interval.low <= at && at <= interval.high);
            prop_assert!(values.contains(&interval.low) && values.contains(&interval.high));
        }

        #[test]
        fn exchanged_studies_have_the_inverse_interval(old in values(), new in values()) {
            let (there, interval) = quotient(&old, &new).unwrap();
            let (_, back) = quotient(&new, &old).unwrap();
            prop_assert!(interval.low <= there && there <= interval.high);
            prop_assert!((interval.low * back.high - 1.0).abs() < 1e-9 && (interval.high * back.low - 1.0).abs() < 1e-9);
        }
    }
}
