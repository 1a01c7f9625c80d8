//! The time that `--timeout` gives to all that is looked at together, on this machine and on hosts.

use std::time::{Duration, Instant};

use super::finding::{Finding, Level};

/// The finding that says that the time has passed.
pub(super) const TIME: &str = "time limit";

/// When everything has to be over; or never.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Time {
    limit: Option<Duration>,
    deadline: Option<Instant>,
}

impl Time {
    /// From now on.
    pub(super) fn new(limit: Option<Duration>) -> Time {
        Time { limit, deadline: limit.and_then(|limit| Instant::now().checked_add(limit)) }
    }

    /// What is left, if there is a limit.
    pub(super) fn left(self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// What is left for something that may take so long at most.
    pub(super) fn at_most(self, patience: Duration) -> Duration {
        self.left().map_or(patience, |left| left.min(patience))
    }

    pub(super) fn is_over(self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// Says so, if the time has passed.
    pub(super) fn finding(self) -> Option<Finding> {
        let limit = self.limit.filter(|_| self.is_over())?;
        let state = format!("{} s have passed", limit.as_secs_f64());
        let cause = "what had not answered by then is missing here, or said to be without an answer";
        Some(Finding::bad(Level::Problem, TIME, state, cause, "give it more time with --timeout"))
    }
}
