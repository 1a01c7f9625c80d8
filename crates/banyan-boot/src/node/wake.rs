//! When the members of a host are woken for what was written for them.
//!
//! One ring of the bell wakes all members, and that is most of what a collective costs. The parts of a scatter come one by
//! one, so the bell rings when every member has its part, or when some have waited long enough. Everything else is rung
//! for at once.

use std::time::{Duration, Instant};

/// How long some members wait at most until all have got their parts of a scatter.
const PARTS_TIME: Duration = Duration::from_millis(20);

/// What was written for members since the bell rang.
#[derive(Debug, Default)]
pub(super) struct PendingWake {
    /// Something that all members wait for.
    for_all: bool,
    /// Parts of a scatter that members have got.
    parts: u32,
    /// When the bell rings at the latest, if some of these parts were written.
    parts_until: Option<Instant>,
}

impl PendingWake {
    /// Something was written for all members.
    pub(super) fn for_all(&mut self) {
        self.for_all = true;
    }

    /// A member got a part of a scatter. It has to be woken unless it got the part by its link.
    pub(super) fn part(&mut self, is_written: bool, now: Instant) {
        self.parts += 1;
        if is_written {
            self.parts_until.get_or_insert(now + PARTS_TIME);
        }
    }

    /// Whether to ring now, if this many members can hear it.
    pub(super) fn is_due(&self, members: u32, now: Instant) -> bool {
        self.for_all || self.parts_until.is_some_and(|until| until <= now || self.parts >= members)
    }

    /// When to ring although nothing more was written.
    pub(super) fn timeout(&self) -> Option<Instant> {
        self.parts_until
    }

    /// The bell rang.
    pub(super) fn rang(&mut self) {
        *self = PendingWake::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_woken_when_nothing_was_written() {
        let wake = PendingWake::default();
        assert!(!wake.is_due(10, Instant::now()) && wake.timeout().is_none());
    }

    #[test]
    fn parts_are_rung_for_when_all_have_theirs_or_have_waited_long_enough() {
        let (now, mut wake) = (Instant::now(), PendingWake::default());
        wake.part(true, now);
        assert_eq!(wake.timeout(), Some(now + PARTS_TIME));
        assert!(!wake.is_due(2, now) && wake.is_due(2, now + PARTS_TIME));
        wake.part(false, now);
        assert!(wake.is_due(2, now));
    }

    #[test]
    fn parts_that_all_went_by_links_are_not_rung_for() {
        let (now, mut wake) = (Instant::now(), PendingWake::default());
        (0..10).for_each(|_| wake.part(false, now));
        assert!(!wake.is_due(10, now + PARTS_TIME));
    }

    #[test]
    fn after_the_bell_rang_there_is_nothing_to_ring_for() {
        let (now, mut wake) = (Instant::now(), PendingWake::default());
        wake.part(true, now);
        wake.for_all();
        assert!(wake.is_due(10, now));
        wake.rang();
        assert!(!wake.is_due(1, now + PARTS_TIME) && wake.timeout().is_none());
    }
}
