//! An observer: registered with a process, so that it writes the events that the observer wants.

use std::sync::atomic::Ordering;

use super::account::Account;
use super::board::Board;
use super::reader::{Event, Reader};
use super::segment::{Segment, SegmentError, SensorInfo};
use crate::clock::{Clock, Moment};
use crate::identity::start_time;
use crate::layout::{self, WORD, observers, slot};
use crate::local::{observer_byte, slot_word};

/// How long an observer counts as alive after it has drained: ten seconds, and more where the counter is slower than 5 GHz.
const LEASE_TICKS: u64 = 50_000_000_000;
const LEASE_NANOSECONDS: u64 = 10_000_000_000;

/// Watches sensors of a process. Others may watch at the same time; none sees or disturbs another.
///
/// [`drain`](Self::drain) must be called at least every few seconds. An observer that was silent for longer than that is
/// taken to be dead: the process stops to write events for it. It registers again by itself when it drains.
#[derive(Debug)]
pub struct Observer {
    reader: Reader,
    board: Board,
    place: usize,
    owner: u64,
    lapses: u64,
    moment_at: u64,
}

impl Observer {
    pub(super) fn register(segment: Segment) -> Result<Observer, SegmentError> {
        let board = Board::open(&segment)?;
        let reader = Reader::from_now(segment)?;
        let mut observer = Observer { reader, board, place: 0, owner: 0, lapses: 0, moment_at: 0 };
        observer.take_slot()?;
        Ok(observer)
    }

    /// The process that is observed.
    pub fn segment(&self) -> &Segment {
        self.reader.segment()
    }

    /// What the events are read with.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The sensors that are known; [`drain`](Self::drain) finds new ones.
    pub fn sensors(&self) -> impl Iterator<Item = &SensorInfo> {
        self.reader.sensors()
    }

    /// How often the process has taken this observer for dead. Between that and the next `drain` events were not written
    /// for it, and count nowhere.
    pub fn lapses(&self) -> u64 {
        self.lapses
    }

    /// Wants the events of a sensor from now on. False if there is none of this name.
    pub fn watch(&mut self, name: &str) -> bool {
        let index = self.sensors().find(|sensor| sensor.name == name).map(|sensor| sensor.index);
        index.is_some_and(|index| self.watch_index(index))
    }

    /// Wants the events of all sensors that are known.
    pub fn watch_all(&mut self) {
        let all: Vec<usize> = self.sensors().map(|sensor| sensor.index).collect();
        all.into_iter().for_each(|index| {
            self.watch_index(index);
        });
    }

    fn watch_index(&mut self, index: usize) -> bool {
        if index >= layout::SENSOR_CAPACITY {
            return false;
        }
        // First the account: what is written because of this is counted.
        self.reader.watch(index);
        self.set_byte(index);
        true
    }

    /// Wants the events of a sensor no more. Its account ends here, with what was drained.
    pub fn unwatch(&mut self, name: &str) {
        let index = self.sensors().find(|sensor| sensor.name == name).map(|sensor| sensor.index);
        if let Some(index) = index.filter(|index| *index < layout::SENSOR_CAPACITY) {
            if self.has_slot() {
                self.board.words()[layout::WATCHED_AT / WORD + index]
                    .fetch_and(!observer_byte(self.place), Ordering::Relaxed);
            }
            self.reader.unwatch(index);
        }
    }

    /// Calls `take` with every event since the last time; see [`Reader::drain`].
    ///
    /// # Errors
    /// When the segment is damaged, or the slot was lost and there is no other.
    pub fn drain(&mut self, take: impl FnMut(Event<'_>)) -> Result<u64, SegmentError> {
        if self.has_slot() {
            self.renew();
        } else {
            self.lapses += 1;
            self.take_slot()?;
            let watched: Vec<usize> =
                self.sensors().map(|sensor| sensor.index).filter(|index| self.reader.is_watched(*index)).collect();
            watched.into_iter().for_each(|index| self.set_byte(index));
        }
        let (board, place) = (self.board.words(), self.place);
        let count = self.reader.drain_and_tell(take, |ring, cursor| {
            if ring < layout::RING_CAPACITY {
                board[cursor_word(ring, place)].store(cursor, Ordering::Release);
            }
        })?;
        self.publish_cursors();
        Ok(count)
    }

    /// What became of the events of all watched sensors.
    pub fn accounts(&mut self) -> Vec<Account> {
        self.reader.accounts()
    }

    fn word(&self, word: usize) -> &std::sync::atomic::AtomicU64 {
        &self.board.words()[slot_word(self.place, word)]
    }

    fn has_slot(&self) -> bool {
        self.word(slot::OWNER).load(Ordering::Acquire) == self.owner
    }

    fn set_byte(&self, index: usize) {
        let one = observer_byte(self.place) & 0x0101_0101_0101_0101;
        self.board.words()[layout::WATCHED_AT / WORD + index].fetch_or(one, Ordering::Relaxed);
    }

    /// Takes a slot that is free, or whose observer is dead.
    fn take_slot(&mut self) -> Result<(), SegmentError> {
        let _locked = self.board.lock()?;
        self.take_slot_locked()
    }

    fn take_slot_locked(&mut self) -> Result<(), SegmentError> {
        let now = self.segment().clock.now();
        let free = (0..observers::CAPACITY).find(|place| self.is_free(*place, now));
        let too_many =
            || SegmentError::TooManyObservers { path: self.segment().path().into(), most: observers::CAPACITY };
        self.place = free.ok_or_else(too_many)?;
        let board = self.board.words();
        self.word(slot::OWNER).store(0, Ordering::Release);
        for word in &board[layout::WATCHED_AT / WORD..][..layout::SENSOR_CAPACITY] {
            word.fetch_and(!observer_byte(self.place), Ordering::Relaxed);
        }
        for ring in 0..layout::RING_CAPACITY {
            board[cursor_word(ring, self.place)].store(0, Ordering::Relaxed);
        }
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| self.segment().io(error.into()))?;
        self.owner = u64::from_ne_bytes(random) | 1;
        let pid = std::process::id();
        self.word(slot::PID).store(pid.into(), Ordering::Relaxed);
        self.word(slot::START_TIME).store(start_time(pid).unwrap_or(0), Ordering::Relaxed);
        self.renew();
        self.publish_cursors();
        self.word(slot::OWNER).store(self.owner, Ordering::Release);
        Ok(())
    }

    /// Whether nobody has a slot: it was given back, its time has passed, or its process has ended.
    fn is_free(&self, place: usize, now: u64) -> bool {
        let [owner, pid, start, lease] = [slot::OWNER, slot::PID, slot::START_TIME, slot::LEASE]
            .map(|word| self.board.words()[slot_word(place, word)].load(Ordering::Acquire));
        owner == 0 || is_dead([pid, start, lease], now)
    }

    fn publish_cursors(&self) {
        for (ring, cursor) in self.reader.cursors().enumerate().take(layout::RING_CAPACITY) {
            self.board.words()[cursor_word(ring, self.place)].store(cursor, Ordering::Release);
        }
    }

    /// Says that it lives. Now and then it takes the time by both clocks, for [`Reader::monotonic`].
    fn renew(&mut self) {
        let clock = self.segment().clock;
        let now = clock.now();
        let ticks = lease_ticks(clock);
        self.word(slot::LEASE).store(now.saturating_add(ticks), Ordering::Relaxed);
        if now.saturating_sub(self.moment_at) > ticks / 50 {
            self.moment_at = now;
            let moment: Moment = clock.moment();
            self.reader.learn_moment(moment);
        }
    }
}

/// Whether an observer is dead: its lease has passed, or its process has ended.
pub(super) fn is_dead([pid, start, lease]: [u64; 3], now: u64) -> bool {
    lease < now || u32::try_from(pid).ok().and_then(start_time) != Some(start)
}

/// How far ahead an observer's lease ends, in stamps.
pub(super) fn lease_ticks(clock: Clock) -> u64 {
    if clock == Clock::Counter { LEASE_TICKS } else { LEASE_NANOSECONDS }
}

fn cursor_word(ring: usize, place: usize) -> usize {
    layout::CURSORS_AT / WORD + ring * observers::CAPACITY + place
}

impl Drop for Observer {
    fn drop(&mut self) {
        if !self.has_slot() {
            return;
        }
        for word in &self.board.words()[layout::WATCHED_AT / WORD..][..layout::SENSOR_CAPACITY] {
            word.fetch_and(!observer_byte(self.place), Ordering::Relaxed);
        }
        let _ = self.word(slot::OWNER).compare_exchange(self.owner, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}
