//! Stamps: the time-stamp counter where the processor and the kernel trust it, the monotonic clock elsewhere.

use std::sync::atomic::{AtomicU8, Ordering};

use rustix::time::{ClockId, clock_gettime};

/// What stamps of a process count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Ticks of the processor's time-stamp counter.
    Counter,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    Monotonic,
}

/// One moment by all clocks of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The stamp.
    pub stamp: u64,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub monotonic: u64,
    /// Nanoseconds since 1970.
    pub wall: u64,
    /// How long reading the clocks took, in nanoseconds: the moments of the three differ by no more.
    pub width: u64,
}

impl Clock {
    /// The clock of this process, chosen when first asked.
    pub(crate) fn own() -> Clock {
        match CHOSEN.load(Ordering::Relaxed) {
            COUNTER => Clock::Counter,
            MONOTONIC => Clock::Monotonic,
            _ => {
                let clock = if counter::is_invariant() { Clock::Counter } else { Clock::Monotonic };
                CHOSEN.store(if clock == Clock::Counter { COUNTER } else { MONOTONIC }, Ordering::Relaxed);
                clock
            }
        }
    }

    /// A stamp of now.
    pub(crate) fn now(self) -> u64 {
        match self {
            Clock::Counter => counter::read(),
            Clock::Monotonic => monotonic(),
        }
    }

    /// The number of this clock in a segment's header.
    pub(crate) fn number(self) -> u64 {
        match self {
            Clock::Counter => 1,
            Clock::Monotonic => 2,
        }
    }

    pub(crate) fn from_number(number: u64) -> Option<Clock> {
        [Clock::Counter, Clock::Monotonic].into_iter().find(|clock| clock.number() == number)
    }

    /// All clocks read one behind the other.
    pub(crate) fn moment(self) -> Moment {
        let before = monotonic();
        let stamp = self.now();
        let wall = nanoseconds(ClockId::Realtime);
        let after = monotonic();
        Moment { stamp, monotonic: before + (after - before) / 2, wall, width: after - before }
    }
}

const COUNTER: u8 = 1;
const MONOTONIC: u8 = 2;

static CHOSEN: AtomicU8 = AtomicU8::new(0);

/// A stamp of now, as events of this process have it: ticks of the processor's counter, or nanoseconds of
/// `CLOCK_MONOTONIC` where that is not to be trusted.
#[inline]
pub fn stamp() -> u64 {
    if CHOSEN.load(Ordering::Relaxed) == COUNTER { counter::read() } else { slow_stamp() }
}

#[inline(never)]
fn slow_stamp() -> u64 {
    Clock::own().now()
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn monotonic() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The processor's counter.
#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    /// The leaf of `cpuid` that has power management, and the bit that says the counter never stops or changes its pace.
    const POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;

    /// What the kernel keeps time by. It stops to use a counter that it has seen misbehave.
    const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

    pub(super) fn is_invariant() -> bool {
        let has_leaf = __cpuid(0x8000_0000).eax >= POWER_MANAGEMENT;
        let promised = has_leaf && __cpuid(POWER_MANAGEMENT).edx & INVARIANT != 0;
        promised && std::fs::read_to_string(CLOCK_SOURCE).is_ok_and(|source| source.trim() == "tsc")
    }

    #[inline]
    pub(super) fn read() -> u64 {
        // SAFETY: every processor of this architecture has the instruction.
        unsafe { _rdtsc() }
    }
}

/// Other processors: not used.
#[cfg(not(target_arch = "x86_64"))]
mod counter {
    pub(super) fn is_invariant() -> bool {
        false
    }

    pub(super) fn read() -> u64 {
        super::monotonic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_never_go_back_and_moments_lie_between_them() {
        let clock = Clock::own();
        let mut last = stamp();
        for _ in 0..1000 {
            let moment = clock.moment();
            let next = stamp();
            assert!(last <= moment.stamp && moment.stamp <= next);
            last = next;
        }
    }

    #[test]
    fn clocks_have_numbers_of_their_own() {
        for clock in [Clock::Counter, Clock::Monotonic] {
            assert_eq!(Clock::from_number(clock.number()), Some(clock));
        }
        assert_eq!(Clock::from_number(0), None);
    }
}
