//! When an operation that waits gives up: after a time, at a time, or never.

use std::time::{Duration, Instant};

/// The limit of an operation that waits.
///
/// Functions that end in `_timeout` take `impl Into<Deadline>`: a [`Duration`] from now, an [`Instant`], or an
/// `Option<Instant>`, where `None` is no limit.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// use banyan_link::Deadline;
///
/// let now = Instant::now();
/// assert_eq!(Deadline::from(now).instant(), Some(now));
/// assert!(Deadline::from(Duration::from_secs(5)).instant().is_some_and(|end| end >= now + Duration::from_secs(5)));
/// assert_eq!(Deadline::from(Duration::MAX), Deadline::NEVER);
/// assert_eq!(Deadline::from(None), Deadline::NEVER);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// No limit.
    pub const NEVER: Deadline = Deadline(None);

    /// The moment at which the operation gives up; `None` if it never does.
    pub fn instant(self) -> Option<Instant> {
        self.0
    }
}

/// This time from now. A time that the clock cannot count to is no limit.
impl From<Duration> for Deadline {
    fn from(time: Duration) -> Deadline {
        Deadline(Instant::now().checked_add(time))
    }
}

impl From<Instant> for Deadline {
    fn from(instant: Instant) -> Deadline {
        Deadline(Some(instant))
    }
}

/// `None` is no limit.
impl From<Option<Instant>> for Deadline {
    fn from(instant: Option<Instant>) -> Deadline {
        Deadline(instant)
    }
}
