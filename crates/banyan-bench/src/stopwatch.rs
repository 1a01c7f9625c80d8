//! Measures short operations on a noisy machine: thread CPU time, many batches, the best and the median of them.
//!
//! Contestants of one comparison run in turn, batch by batch, so that a slow minute of the machine hits all of them
//! alike and their ratio stays meaningful.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// CPU time of one batch.
    pub batch: Duration,
    /// Batches of each contestant.
    pub batches: usize,
}

impl Effort {
    /// Seconds for a whole table.
    pub const QUICK: Effort = Effort { batch: Duration::from_micros(400), batches: 60 };
    /// For figures worth publishing.
    pub const FULL: Effort = Effort { batch: Duration::from_millis(1), batches: 400 };
}

/// What was measured: nanoseconds of CPU time for one operation.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Timing {
    /// The fastest batch.
    pub best: f64,
    /// The middle batch.
    pub median: f64,
}

/// An operation to be timed.
pub struct Contestant<'a> {
    /// Runs the operation as many times as it is told.
    run: Box<dyn FnMut(usize) + 'a>,
}

impl<'a> Contestant<'a> {
    /// Wraps one operation. What it returns is kept from being optimised away.
    pub fn new<T>(mut operation: impl FnMut() -> T + 'a) -> Contestant<'a> {
        Contestant {
            run: Box::new(move |times| {
                for _ in 0..times {
                    std::hint::black_box(operation());
                }
            }),
        }
    }

    fn cpu_time(&mut self, times: usize) -> u64 {
        let start = thread_cpu_nanoseconds();
        (self.run)(times);
        thread_cpu_nanoseconds() - start
    }

    /// How many operations fill a batch.
    fn batch_size(&mut self, batch: Duration) -> usize {
        let wanted = batch.as_nanos() as u64;
        let mut times = 1;
        loop {
            let took = self.cpu_time(times).max(1);
            if took >= wanted {
                return times;
            }
            // Aim at the wanted time, but do not trust a very short measurement further than a factor of ten.
            let factor = (wanted as f64 / took as f64 * 1.2).clamp(1.5, 10.0);
            times = (times as f64 * factor).ceil() as usize;
        }
    }
}

/// Runs all contestants in turn.
pub fn compare(effort: Effort, contestants: &mut [Contestant<'_>]) -> Vec<Timing> {
    // Twice: the first time caches are cold and decisions are made.
    contestants.iter_mut().for_each(|contestant| {
        contestant.batch_size(effort.batch);
    });
    let sizes: Vec<usize> = contestants.iter_mut().map(|contestant| contestant.batch_size(effort.batch)).collect();
    let mut times: Vec<Vec<f64>> = vec![Vec::with_capacity(effort.batches); contestants.len()];
    for _ in 0..effort.batches {
        for ((contestant, size), times) in contestants.iter_mut().zip(&sizes).zip(&mut times) {
            times.push(contestant.cpu_time(*size) as f64 / *size as f64);
        }
    }
    times.into_iter().map(timing).collect()
}

fn timing(mut times: Vec<f64>) -> Timing {
    times.sort_by(f64::total_cmp);
    Timing { best: times[0], median: times[times.len() / 2] }
}

/// CPU time that this thread has used.
pub(crate) fn thread_cpu_nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_operation_takes_longer() {
        let work = |n: u64| move || (0..n).fold(0u64, |sum, i| std::hint::black_box(sum ^ i));
        let effort = Effort { batch: Duration::from_micros(50), batches: 20 };
        let times = compare(effort, &mut [Contestant::new(work(10)), Contestant::new(work(10_000))]);
        assert!(times[0].best > 0.0 && times[0].best <= times[0].median);
        assert!(times[0].best < times[1].best);
    }
}
