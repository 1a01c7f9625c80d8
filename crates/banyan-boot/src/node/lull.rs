//! Whether members are left asleep for a moment after GO.
//!
//! Whoever passes a barrier often waits for the master next: for a broadcast, or a part of a scatter. Waking thousands of
//! processes takes longer than the master needs to send it, so they are woken once for both, if it comes in time. The
//! root decides that for the whole session and says so in GO, since a lull is of use only when all processes of a host
//! keep it: those that are awake keep the processors from the master. Where nothing comes, lulls become rare.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::layout::AgentPlan;

/// How long a lull may last for each member of a host: less than it costs to wake it and to let it run.
const PER_MEMBER: Duration = Duration::from_micros(8);

/// The shortest lull: those who wait for descriptors do so in milliseconds.
const SHORTEST: Duration = Duration::from_millis(1);

/// The longest: more members on one host are not expected to be any faster.
pub(super) const LONGEST: Duration = Duration::from_millis(40);

/// After lulls in vain, at most so many GO go without before the next.
const MOST_WITHOUT: u32 = 64;

/// See the module.
#[derive(Debug)]
pub(super) struct Lull {
    /// How long it lasts; nothing, where hosts have few members.
    length: Duration,
    /// When the one began in which nothing has come yet.
    since: Option<Instant>,
    /// GO to come that go without.
    without: u32,
    /// How many went without after the last lull in vain.
    last_without: u32,
}

impl Lull {
    /// For a session with these agents.
    pub(super) fn new(agents: &[AgentPlan]) -> Lull {
        let mut hosts: BTreeMap<&str, u32> = BTreeMap::new();
        for agent in agents {
            let members = agent.groups.iter().map(|group| group.count).sum();
            let sum = hosts.entry(&agent.host).or_default();
            *sum = sum.saturating_add(members);
        }
        Lull::for_members(hosts.into_values().max().unwrap_or(0))
    }

    fn for_members(most_on_a_host: u32) -> Lull {
        let length = PER_MEMBER.saturating_mul(most_on_a_host).min(LONGEST);
        let length = if length < SHORTEST { Duration::ZERO } else { length };
        Lull { length, since: None, without: 0, last_without: 0 }
    }

    /// How long members may be left asleep after a GO that is sent now.
    pub(super) fn after_go(&mut self, now: Instant) -> Duration {
        if self.since.take().is_some() {
            self.was_in_vain();
        }
        if self.length.is_zero() {
            return Duration::ZERO;
        }
        match self.without.checked_sub(1) {
            Some(left) => {
                self.without = left;
                Duration::ZERO
            }
            None => {
                self.since = Some(now);
                self.length
            }
        }
    }

    /// Something came from the master that members wait for.
    pub(super) fn came(&mut self, now: Instant) {
        match self.since.take() {
            Some(since) if now.saturating_duration_since(since) <= self.length => self.last_without = 0,
            Some(_) => self.was_in_vain(),
            None => {}
        }
    }

    fn was_in_vain(&mut self) {
        self.last_without = (2 * self.last_without).clamp(1, MOST_WITHOUT);
        self.without = self.last_without;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_few_members_have_no_lulls() {
        let now = Instant::now();
        assert_eq!(Lull::for_members(100).after_go(now), Duration::ZERO);
        assert_eq!(Lull::for_members(1000).after_go(now), 1000 * PER_MEMBER);
        assert_eq!(Lull::for_members(u32::MAX).after_go(now), LONGEST);
    }

    #[test]
    fn a_master_that_always_goes_on_at_once_gets_a_lull_after_every_barrier() {
        let (now, mut lull) = (Instant::now(), Lull::for_members(1000));
        for _ in 0..10 {
            assert!(!lull.after_go(now).is_zero());
            lull.came(now + SHORTEST);
        }
    }

    #[test]
    fn lulls_in_vain_become_rare_and_one_that_was_not_brings_them_back() {
        let (now, mut lull) = (Instant::now(), Lull::for_members(1000));
        let lulls = (0..1000).filter(|_| !lull.after_go(now).is_zero()).count();
        assert!((2..30).contains(&lulls), "{lulls}");
        while lull.after_go(now).is_zero() {}
        lull.came(now);
        assert!(!lull.after_go(now).is_zero());
        lull.came(now + LONGEST);
        assert!(lull.after_go(now).is_zero(), "it came too late");
    }
}
