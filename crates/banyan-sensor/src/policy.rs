//! What happens to events for which there is no room, or that come too often.

use std::time::Duration;

/// What a sensor does with an event when its ring is full, and which events it takes at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Policy {
    /// The oldest events are overwritten, read or not.
    #[default]
    DropOldest,
    /// While an observer has not read what would be overwritten, new events are dropped. Without an observer the oldest
    /// are overwritten.
    DropNewest,
    /// Only the latest event is kept.
    LatestOnly,
    /// Every n-th event of a thread is kept, the first among them; like [`DropOldest`](Self::DropOldest) else. 0 is 1.
    OneIn(u32),
    /// Like [`DropNewest`](Self::DropNewest), but waits for the observer at most so long. After a wait in vain nobody
    /// waits until the observer has read something. The one policy that makes system calls.
    Block(Duration),
}

/// Rings of a thread: one for events that may be overwritten, one for those that an observer must have read before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Overwrite = 0,
    Keep = 1,
}

impl Policy {
    /// Its number in the table of sensors, and the number that goes with it.
    pub(crate) fn to_words(self) -> (u64, u64) {
        match self {
            Policy::DropOldest => (0, 0),
            Policy::DropNewest => (1, 0),
            Policy::LatestOnly => (2, 0),
            Policy::OneIn(n) => (3, n.into()),
            Policy::Block(limit) => (4, u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX)),
        }
    }

    /// From the table of sensors.
    pub(crate) fn from_words(kind: u64, number: u64) -> Option<Policy> {
        Some(match kind {
            0 => Policy::DropOldest,
            1 => Policy::DropNewest,
            2 => Policy::LatestOnly,
            3 => Policy::OneIn(u32::try_from(number).ok()?),
            4 => Policy::Block(Duration::from_nanos(number)),
            _ => return None,
        })
    }

    /// Which ring its events go to.
    pub(crate) fn lane(self) -> Lane {
        match self {
            Policy::DropNewest | Policy::Block(_) => Lane::Keep,
            _ => Lane::Overwrite,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_come_back_as_they_were_written() {
        let limit = Duration::from_millis(3);
        for policy in
            [Policy::DropOldest, Policy::DropNewest, Policy::LatestOnly, Policy::OneIn(7), Policy::Block(limit)]
        {
            let (kind, number) = policy.to_words();
            assert_eq!(Policy::from_words(kind, number), Some(policy));
        }
        assert_eq!(Policy::from_words(99, 0), None);
    }
}
