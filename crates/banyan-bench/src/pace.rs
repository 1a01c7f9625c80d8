//! How often something is done so that its time can be trusted, and the middle of many times.

use std::time::Duration;

/// How much longer a run may take than the one before promises; one that takes longer was disturbed.
const DISTURBED: f64 = 4.0;

/// How often a run that seems disturbed is done again; if it is slow even then, it is slow by itself.
const AGAIN: u32 = 5;

/// Does something more and more often until it takes about as long as it should; the seconds that each took then. The
/// first time warms everything up and does not count.
pub(crate) fn fill<E>(within: Duration, first: u64, mut run: impl FnMut(u64) -> Result<Duration, E>) -> Result<f64, E> {
    let warming = run(first)?;
    let mut count = first;
    // The seconds that each took in the run before.
    let mut promised = warming.as_secs_f64() / first.max(1) as f64;
    let mut again = 0;
    loop {
        let took = run(count)?;
        let each = took.as_secs_f64() / count as f64;
        if again < AGAIN && each > promised * DISTURBED {
            again += 1;
            continue;
        }
        promised = each;
        if took * 2 >= within {
            return Ok(each);
        }
        // A very short run is not trusted further than this.
        let factor = within.as_secs_f64() / took.as_secs_f64().max(1e-9);
        count = (count as f64 * factor.clamp(2.0, 20.0)) as u64;
    }
}

/// Figures of several repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// A quarter of them are lower,
    pub(crate) low: f64,
    /// half of them,
    pub(crate) middle: f64,
    /// and three quarters.
    pub(crate) high: f64,
}

impl Spread {
    /// Of at least one figure; zeros of none.
    pub(crate) fn of(mut figures: Vec<f64>) -> Spread {
        figures.sort_by(f64::total_cmp);
        let at = |place: usize| figures.get(place).copied().unwrap_or(0.0);
        let (last, quarter) = (figures.len().saturating_sub(1), figures.len() / 4);
        Spread { low: at(quarter), middle: at(figures.len() / 2), high: at(last - quarter.min(last)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_leaves_out_what_was_extreme() {
        let spread = Spread::of(vec![900.0, 3.0, 1.0, 2.0, 4.0, 0.001, 5.0]);
        assert_eq!(spread, Spread { low: 1.0, middle: 3.0, high: 5.0 });
        assert_eq!(Spread::of(vec![7.0]), Spread { low: 7.0, middle: 7.0, high: 7.0 });
    }

    #[test]
    fn what_is_quick_is_done_until_it_fills_the_time() {
        let mut counts = Vec::new();
        let each = fill(Duration::from_millis(10), 1, |count| {
            counts.push(count);
            Ok::<_, ()>(Duration::from_micros(count))
        });
        assert_eq!(counts.iter().take(3).collect::<Vec<_>>(), [&1, &1, &20]);
        assert!(counts.last().is_some_and(|last| *last >= 5000));
        assert!(each.is_ok_and(|each| (each - 1e-6).abs() < 1e-9));
    }

    #[test]
    fn a_run_that_was_disturbed_is_not_taken_for_the_result() {
        let mut runs = 0;
        let each = fill(Duration::from_millis(10), 1, |count| {
            runs += 1;
            let hiccup = if runs == 3 { Duration::from_millis(9) } else { Duration::ZERO };
            Ok::<_, ()>(Duration::from_micros(count) + hiccup)
        });
        assert!(each.is_ok_and(|each| (each - 1e-6).abs() < 1e-9), "{each:?}");
    }

    #[test]
    fn what_is_slow_by_itself_comes_to_an_end() {
        let each = fill(Duration::from_millis(10), 1, |count| Ok::<_, ()>(Duration::from_micros(count * count)));
        assert!(each.is_ok_and(|each| each > 1e-6), "{each:?}");
    }
}
