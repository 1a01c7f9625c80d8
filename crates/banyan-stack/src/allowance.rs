//! How long looking into what was copied may take: for each process, and for all of them together.
//!
//! Only the time that is spent on it counts, not that between samples.

use std::time::Duration;

use crate::sampler::SamplerOptions;

/// What is left of the time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    each: Duration,
    /// Of all; `None` if there is no limit.
    left: Option<Duration>,
}

impl Allowance {
    pub(crate) fn new(options: &SamplerOptions) -> Allowance {
        Allowance { each: options.patience, left: options.limit }
    }

    /// What the next process may take; `None` if nothing is left.
    pub(crate) fn next(self) -> Option<Duration> {
        let next = self.left.map_or(self.each, |left| left.min(self.each));
        (!next.is_zero()).then_some(next)
    }

    /// What is left once this much more was spent.
    pub(crate) fn after(self, spent: Duration) -> Allowance {
        Allowance { left: self.left.map(|left| left.saturating_sub(spent)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_more_than_is_left_for_all() {
        let seconds = Duration::from_secs;
        let options = SamplerOptions { patience: seconds(3), limit: Some(seconds(5)), ..SamplerOptions::default() };
        let allowance = Allowance::new(&options);
        let next = [0, 2, 4, 5, 9].map(|spent| allowance.after(seconds(spent)).next());
        assert_eq!(next, [Some(seconds(3)), Some(seconds(3)), Some(seconds(1)), None, None]);
        let endless = Allowance::new(&SamplerOptions { limit: None, ..options });
        assert_eq!(endless.after(seconds(1000)).next(), Some(seconds(3)));
    }
}
