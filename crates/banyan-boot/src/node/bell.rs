//! When the members of a host are woken for what was written for them.
//!
//! The bell wakes all of them, and that is most of what a collective costs. So it rings once for as much as possible:
//!
//! - The parts of a scatter come one by one; it rings when everyone has got one, or some have waited long enough.
//! - After GO there may be a [lull](super::lull), in which what the master does next can still come.
//! - Everything else is rung for at once.

use std::time::{Duration, Instant};

/// How long some wait at most until all members have got their parts of a scatter.
const PARTS_TIME: Duration = Duration::from_millis(20);

/// What was written since the bell rang.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unheard {
    Nothing,
    /// GO, for all, while a lull lasts.
    Go,
    /// Parts of a scatter, for some.
    Parts,
    /// Something that all wait for.
    Data,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Bell {
    unheard: Unheard,
    /// Parts of a scatter that members have got since it rang.
    parts: u32,
    /// When it rings at the latest.
    at: Option<Instant>,
}

impl Bell {
    pub(super) fn new() -> Bell {
        Bell { unheard: Unheard::Nothing, parts: 0, at: None }
    }

    /// GO was written for all members, and a lull of this length begins.
    pub(super) fn go(&mut self, lull: Duration, now: Instant) {
        if lull.is_zero() {
            self.data();
        } else {
            self.wait_until(Unheard::Go, now + lull);
        }
    }

    /// Something else was written for all members.
    pub(super) fn data(&mut self) {
        self.unheard = Unheard::Data;
    }

    /// A member got a part of a scatter; it has to be woken for it unless it got it by its link.
    pub(super) fn part(&mut self, is_written: bool, now: Instant) {
        self.parts += 1;
        if is_written {
            self.wait_until(Unheard::Parts, now + PARTS_TIME);
        }
    }

    fn wait_until(&mut self, unheard: Unheard, at: Instant) {
        if self.unheard < unheard {
            (self.unheard, self.at) = (unheard, Some(at));
        }
    }

    /// Whether to ring now, if so many members can hear it.
    pub(super) fn is_due(&self, members: u32, now: Instant) -> bool {
        let is_over = self.at.is_some_and(|at| at <= now);
        match self.unheard {
            Unheard::Nothing => false,
            Unheard::Go => is_over,
            Unheard::Parts => is_over || self.parts >= members,
            Unheard::Data => true,
        }
    }

    /// When to ring although nothing more was written.
    pub(super) fn timeout(&self) -> Option<Instant> {
        self.at
    }

    /// It rang.
    pub(super) fn rang(&mut self) {
        *self = Bell::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LULL: Duration = Duration::from_millis(3);

    #[test]
    fn nothing_is_rung_for_when_nothing_was_written() {
        let now = Instant::now();
        assert!(!Bell::new().is_due(10, now) && Bell::new().timeout().is_none());
    }

    #[test]
    fn what_the_master_does_in_a_lull_is_rung_for_together_with_go() {
        let (now, mut bell) = (Instant::now(), Bell::new());
        bell.go(LULL, now);
        assert!(!bell.is_due(10, now));
        bell.data();
        assert!(bell.is_due(10, now));
    }

    #[test]
    fn a_lull_in_which_nothing_comes_ends_and_without_one_go_is_rung_for_at_once() {
        let (now, mut bell) = (Instant::now(), Bell::new());
        bell.go(LULL, now);
        assert_eq!(bell.timeout(), Some(now + LULL));
        assert!(bell.is_due(10, now + LULL));
        bell.rang();
        bell.go(Duration::ZERO, now);
        assert!(bell.is_due(10, now));
    }

    #[test]
    fn parts_are_rung_for_when_all_have_theirs_or_have_waited_long_enough() {
        let (now, mut bell) = (Instant::now(), Bell::new());
        bell.go(LULL, now);
        bell.part(true, now);
        assert!(!bell.is_due(2, now + LULL) && bell.is_due(2, now + PARTS_TIME));
        bell.part(false, now);
        assert!(bell.is_due(2, now));
    }

    #[test]
    fn parts_that_all_went_by_links_are_not_rung_for() {
        let (now, mut bell) = (Instant::now(), Bell::new());
        (0..10).for_each(|_| bell.part(false, now));
        assert!(!bell.is_due(10, now + PARTS_TIME));
    }

    #[test]
    fn after_it_rang_there_is_nothing_to_ring_for() {
        let (now, mut bell) = (Instant::now(), Bell::new());
        bell.part(true, now);
        bell.data();
        bell.rang();
        assert!(!bell.is_due(1, now + PARTS_TIME) && bell.timeout().is_none());
    }
}
