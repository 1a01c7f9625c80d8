//! A timer for long sleeps, which is set once and goes on when something else ends a sleep; and for those who sleep on the
//! poller without knowing how long they may.
//!
//! Who sleeps until a certain time has the kernel put a timer among those of all other sleepers, and take it out again when
//! something else wakes it. With two thousand processes that are woken for a moment all the time, that was a tenth of what
//! each of them cost: the timers beside its own lie in memory of others that have slept since.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use banyan_link::Poller;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::ALARM;

/// Shorter sleeps end by themselves: to set the timer for them would be one more call to the system.
const LONG: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: OwnedFd,
    /// Never later than the timer: the clock is read before that is set. Who comes after this sets it again, or would sleep
    /// without end.
    rings_at: Option<Instant>,
}

impl Alarm {
    /// One that wakes the poller; `None` where the system has no timer to spare.
    pub(super) fn new(poller: &Poller) -> Option<Alarm> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC).ok()?;
        poller.register_bell(&timer, ALARM).ok()?;
        Some(Alarm { timer, rings_at: None })
    }

    /// How long to wait for who wants to sleep for this time from now on: without limit where the alarm ends the sleep, which
    /// may be earlier.
    pub(super) fn instead_of(&mut self, time: Option<Duration>, now: Instant) -> Option<Duration> {
        let long = time.filter(|time| *time >= LONG);
        if long.is_some_and(|long| self.ring_within(long, now)) { None } else { time }
    }

    /// Wakes the poller when this time is over from now on, or before; false where the system refuses.
    pub(super) fn ring_within(&mut self, time: Duration, now: Instant) -> bool {
        let until = now + time;
        if self.rings_at.is_some_and(|at| now < at && at <= until) {
            return true;
        }
        // Zero would unset it.
        let is_set = self.set(time.max(Duration::from_nanos(1)));
        self.rings_at = is_set.then_some(until);
        is_set
    }

    fn set(&self, time: Duration) -> bool {
        let Ok(it_value) = Timespec::try_from(time) else { return false };
        let once = Itimerspec { it_interval: Timespec::default(), it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn it_is_set_once_for_sleeps_that_end_later() {
        let (poller, now) = (Poller::new().unwrap(), Instant::now());
        let mut alarm = Alarm::new(&poller).unwrap();
        assert_eq!(alarm.instead_of(Some(LONG / 2), now), Some(LONG / 2));
        assert_eq!((alarm.instead_of(None, now), alarm.rings_at), (None, None));
        for (sleep, rings_after) in [(60 * SECOND, 60), (90 * SECOND, 60), (30 * SECOND, 30), (60 * SECOND, 30)] {
            assert_eq!(alarm.instead_of(Some(sleep), now), None);
            assert_eq!(alarm.rings_at, Some(now + rings_after * SECOND));
        }
        // It has rung by then.
        let later = now + 31 * SECOND;
        assert_eq!(alarm.instead_of(Some(SECOND), later), None);
        assert_eq!(alarm.rings_at, Some(later + SECOND));
    }

    #[test]
    fn it_ends_a_sleep_each_time_that_it_was_set() {
        let mut poller = Poller::new().unwrap();
        let mut alarm = Alarm::new(&poller).unwrap();
        for _ in 0..2 {
            let (begin, mut ready) = (Instant::now(), Vec::new());
            let sleep = alarm.instead_of(Some(LONG), begin);
            poller.wait(sleep, &mut ready).unwrap();
            assert_eq!(ready.iter().map(|ready| ready.token).collect::<Vec<_>>(), [ALARM]);
            assert!(begin.elapsed() >= LONG);
        }
    }
}
