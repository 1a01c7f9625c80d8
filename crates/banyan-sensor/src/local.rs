//! What a thread has: its rings, and how an event gets into one.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, compiler_fence};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::clock::{monotonic, stamp};
use crate::layout::{self, WORD, chunk, observers, row, slot};
use crate::policy::{Lane, Policy};
use crate::process;
use crate::ring::{CLOCK_SENSOR, HEAD_WORDS, Head, Writer, record_words};
use crate::segment::Maps;

/// Rings of one thread at a time. When the thread ends, another one takes them.
#[derive(Debug)]
pub(crate) struct Local {
    /// The thread writes an event. One that a signal handler emits meanwhile would go to the same place.
    busy: AtomicBool,
    thread: AtomicU32,
    /// By [`Lane`]; `None` within if there was no room.
    rings: [OnceLock<Option<LocalRing>>; 2],
}

/// A ring, as its thread has it.
#[derive(Debug)]
pub(crate) struct LocalRing {
    writer: Writer<'static>,
    rows: &'static [AtomicU64],
    maps: Maps,
    /// Its index in the table of rings.
    index: usize,
    /// How far observers had read when waiting for them was in vain.
    stalled_at: AtomicU64,
}

thread_local! {
    static CURRENT: Cell<Option<&'static Local>> = const { Cell::new(None) };
    static RETURN: Cell<Option<Return>> = const { Cell::new(None) };
}

/// Gives the rings back when the thread ends.
struct Return {
    local: &'static Local,
    generation: u64,
}

impl Drop for Return {
    fn drop(&mut self) {
        CURRENT.set(None);
        process::return_local(self.local, self.generation);
    }
}

/// What threads have for which there is no segment.
static NO_RINGS: Local =
    Local { busy: AtomicBool::new(false), thread: AtomicU32::new(0), rings: [OnceLock::new(), OnceLock::new()] };

/// In a child that `fork` has made: the thread's rings are the parent's.
pub(crate) fn forget() {
    CURRENT.set(None);
    let _ = RETURN.try_with(|entry| std::mem::forget(entry.take()));
}

/// The rings of this thread, if it has used any.
#[inline]
pub(crate) fn current() -> Option<&'static Local> {
    CURRENT.get()
}

/// Gets rings for this thread.
#[cold]
pub(crate) fn attach() -> &'static Local {
    let Some((local, generation)) = process::take_local() else {
        CURRENT.set(Some(no_rings()));
        return no_rings();
    };
    local.thread.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, Ordering::Relaxed);
    if RETURN.try_with(|entry| entry.set(Some(Return { local, generation }))).is_err() {
        // The thread is ending, and nothing would give the rings back.
        process::return_local(local, generation);
        return no_rings();
    }
    CURRENT.set(Some(local));
    local
}

fn no_rings() -> &'static Local {
    NO_RINGS.rings.iter().for_each(|ring| {
        let _ = ring.set(None);
    });
    &NO_RINGS
}

impl Local {
    pub(crate) fn new() -> Local {
        Local { busy: false.into(), thread: 0.into(), rings: Default::default() }
    }

    pub(crate) fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Writes an event if that needs nothing else: there is a ring, and room in its block.
    #[inline]
    pub(crate) fn write_quickly(&self, sensor: u16, length: usize, store: impl FnOnce(&[AtomicU64])) -> bool {
        let Some(Some(ring)) = self.rings[Lane::Overwrite as usize].get() else { return false };
        if self.busy.load(Ordering::Relaxed) {
            return false;
        }
        self.busy.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let written = ring.write(self.thread(), sensor, length, store);
        compiler_fence(Ordering::SeqCst);
        self.busy.store(false, Ordering::Relaxed);
        written
    }

    /// Writes an event, or counts why not. False if there is no ring.
    pub(crate) fn write(&self, sensor: u16, policy: Policy, length: usize, store: &dyn Fn(&[AtomicU64])) -> bool {
        let nested = self.busy.swap(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let entry = &self.rings[policy.lane() as usize];
        // Beneath a signal handler nothing is made: the thread may be doing that.
        let ring = if nested { entry.get().and_then(Option::as_ref) } else { self.ring(policy.lane()) };
        match ring {
            Some(ring) if nested => ring.count(sensor, row::NESTED),
            Some(ring) => ring.write_by_policy(self.thread(), sensor, policy, length, store),
            None => {}
        }
        compiler_fence(Ordering::SeqCst);
        if !nested {
            self.busy.store(false, Ordering::Relaxed);
        }
        ring.is_some()
    }

    fn ring(&self, lane: Lane) -> Option<&LocalRing> {
        self.rings[lane as usize].get_or_init(|| process::new_ring(lane)).as_ref()
    }

    /// Makes the ring for ordinary events, so that the first event costs no more than others.
    pub(crate) fn prepare(&self) {
        if !self.busy.swap(true, Ordering::Relaxed) {
            self.ring(Lane::Overwrite);
            self.busy.store(false, Ordering::Relaxed);
        }
    }
}

/// How long a thread sleeps between looks at whether its observer has read something.
const NAP: Duration = Duration::from_micros(50);

impl LocalRing {
    pub(crate) fn new(writer: Writer<'static>, rows: &'static [AtomicU64], maps: Maps, index: usize) -> LocalRing {
        LocalRing { writer, rows, maps, index, stalled_at: u64::MAX.into() }
    }

    fn row(&self, sensor: u16) -> Option<&'static [AtomicU64]> {
        let at = usize::from(sensor) * chunk::ROW_WORDS;
        self.rows.get(at..at + chunk::ROW_WORDS)
    }

    fn count(&self, sensor: u16, reason: usize) {
        if let Some(row) = self.row(sensor) {
            row[reason].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes an event if the current block has room.
    #[inline]
    fn write(&self, thread: u32, sensor: u16, length: usize, store: impl FnOnce(&[AtomicU64])) -> bool {
        let words = record_words(length);
        let (Some(row), Some(room)) = (self.row(sensor), self.writer.room(words)) else { return false };
        let sequence = row[row::WRITTEN].load(Ordering::Relaxed);
        let head = Head { length: length as u16, sensor, thread, stamp: stamp(), sequence };
        let (head_room, payload_room) = room.split_at(HEAD_WORDS);
        head_room.iter().zip(head.to_words()).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
        store(payload_room);
        self.writer.commit(words);
        // Whoever sees the count sees the event.
        row[row::WRITTEN].store(sequence.wrapping_add(1), Ordering::Release);
        true
    }

    fn write_by_policy(&self, thread: u32, sensor: u16, policy: Policy, length: usize, store: &dyn Fn(&[AtomicU64])) {
        // A block begins with a clock record.
        if record_words(length) > self.writer.longest() - record_words(2 * WORD) || length > usize::from(u16::MAX) {
            return self.count(sensor, row::TOO_LARGE);
        }
        if let (Policy::OneIn(n), Some(row)) = (policy, self.row(sensor)) {
            let before = [row::WRITTEN, row::SAMPLED].map(|word| row[word].load(Ordering::Relaxed));
            if !before[0].wrapping_add(before[1]).is_multiple_of(n.max(1).into()) {
                return self.count(sensor, row::SAMPLED);
            }
        }
        let mut waited_since = None;
        while !self.write(thread, sensor, length, store) {
            if self.enter_block(thread, policy.lane()) {
                continue;
            }
            let Policy::Block(limit) = policy else { return self.count(sensor, row::FULL) };
            let read = self.slowest_cursor().unwrap_or(u64::MAX);
            let since = *waited_since.get_or_insert_with(monotonic);
            let in_vain = self.stalled_at.load(Ordering::Relaxed) == read;
            if in_vain || u128::from(monotonic() - since) >= limit.as_nanos() {
                self.stalled_at.store(read, Ordering::Relaxed);
                return self.count(sensor, row::TIMED_OUT);
            }
            std::thread::sleep(NAP);
        }
    }

    /// Goes on to the next block and writes what time it is; on that occasion observers are looked at. False if that
    /// would overwrite what must be kept.
    fn enter_block(&self, thread: u32, lane: Lane) -> bool {
        self.end_leases();
        let kept_from = match lane {
            Lane::Overwrite => None,
            Lane::Keep => self.slowest_cursor(),
        };
        if !self.writer.next_block(|dropped_below| kept_from.is_none_or(|cursor| cursor >= dropped_below)) {
            return false;
        }
        if let Some(room) = self.writer.room(record_words(2 * WORD)) {
            let wall = clock_gettime(ClockId::Realtime);
            let wall = wall.tv_sec as u64 * 1_000_000_000 + wall.tv_nsec as u64;
            let head = Head { length: 16, sensor: CLOCK_SENSOR, thread, stamp: stamp(), sequence: 0 };
            let values = head.to_words().into_iter().chain([monotonic(), wall]);
            room.iter().zip(values).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
            self.writer.commit(room.len());
        }
        true
    }

    /// How far the slowest living observer has read this ring. What no correct observer would write is not looked at.
    fn slowest_cursor(&self) -> Option<u64> {
        let board = self.maps.observers.words();
        let at = layout::CURSORS_AT / WORD + self.index * observers::CAPACITY;
        let owners =
            (0..observers::CAPACITY).filter(|place| board[slot_word(*place, slot::OWNER)].load(Ordering::Relaxed) != 0);
        let cursors = owners.map(|place| board[at + place].load(Ordering::Acquire));
        cursors.filter(|cursor| *cursor <= self.writer.written()).min()
    }

    /// Frees the slots of observers that have not been heard of, so that nothing is written for them any more.
    fn end_leases(&self) {
        let board = self.maps.observers.words();
        let now = stamp();
        for place in 0..observers::CAPACITY {
            let owner = board[slot_word(place, slot::OWNER)].load(Ordering::Acquire);
            if owner == 0 || board[slot_word(place, slot::LEASE)].load(Ordering::Relaxed) >= now {
                continue;
            }
            let watched = &board[layout::WATCHED_AT / WORD..][..layout::SENSOR_CAPACITY];
            watched.iter().filter(|word| word.load(Ordering::Relaxed) != 0).for_each(|word| {
                word.fetch_and(!observer_byte(place), Ordering::Relaxed);
            });
            // An observer that took the slot in between has another number.
            let _ =
                board[slot_word(place, slot::OWNER)].compare_exchange(owner, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// Where a word of a slot is in the observers' file.
pub(crate) fn slot_word(place: usize, word: usize) -> usize {
    layout::SLOTS_AT / WORD + place * slot::WORDS + word
}

/// The byte of an observer in the word of a watched sensor: the first in memory is the first observer's.
pub(crate) fn observer_byte(place: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes[place] = 0xff;
    u64::from_ne_bytes(bytes)
}
