//! Reads the rings of a segment and keeps account of every event.

use banyan_ndr::{DecodeError, Record, view_native};

use super::account::{Account, Dropped};
use super::rings::{OpenRing, Progress};
use super::segment::{Segment, SegmentError, SensorInfo};
use crate::clock::{Clock, Moment};
use crate::latest;
use crate::memory::Map;
use crate::payload;
use crate::ring::{CLOCK_SENSOR, Found, Head, records};

/// An event of another process.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Event<'a> {
    /// What emitted it.
    pub sensor: &'a SensorInfo,
    /// The thread that emitted it, as the kernel numbers it.
    pub thread: u32,
    /// When, by the clock of the segment.
    pub stamp: u64,
    /// Counts the events of this sensor in this ring, from 0.
    pub sequence: u64,
    /// Which ring it was in.
    pub ring: usize,
    /// The body of the record, in the sensor's format.
    pub body: &'a [u8],
}

impl Event<'_> {
    /// The record, if it is of this very type. A [`banyan_ndr::Decoder`] takes every format.
    ///
    /// # Errors
    /// When the format is another, or the body is not a value of the type.
    pub fn view<T: Record>(&self) -> Result<&T, DecodeError> {
        let same = self.sensor.format.as_ref().is_some_and(|format| format.id() == T::format().id());
        if same { view_native(self.body) } else { Err(DecodeError::UnknownFormat(T::format().id())) }
    }
}

/// A sensor, as a reader has it.
#[derive(Debug)]
struct Tracked {
    info: SensorInfo,
    is_watched: bool,
    account: Account,
    /// What its entry counted before: without room, and contended.
    entry_before: [u64; 2],
    cell: Option<Map>,
    /// Writes of the cell before it was watched, and up to the last one that was read.
    cell_before: u64,
    cell_read: u64,
}

#[derive(Debug)]
struct Tracker {
    ring: OpenRing,
    cursor: u64,
    /// By sensor.
    progress: Vec<Progress>,
    /// How far it was written when last everything was read.
    settled_at: u64,
}

/// Where reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// With what is oldest.
    Oldest,
    /// With what comes from now on.
    Now,
}

/// Reads events of a segment.
#[derive(Debug)]
pub struct Reader {
    segment: Segment,
    sensors: Vec<Tracked>,
    rings: Vec<Tracker>,
    begin: Begin,
    words: Vec<u64>,
    damaged: u64,
    last: Option<Moment>,
}

impl Reader {
    pub(super) fn of_everything(segment: Segment) -> Result<Reader, SegmentError> {
        Self::new(segment, Begin::Oldest)
    }

    pub(super) fn from_now(segment: Segment) -> Result<Reader, SegmentError> {
        Self::new(segment, Begin::Now)
    }

    fn new(segment: Segment, begin: Begin) -> Result<Reader, SegmentError> {
        let (sensors, rings, words) = (Vec::new(), Vec::new(), Vec::new());
        let mut reader = Reader { segment, sensors, rings, begin, words, damaged: 0, last: None };
        reader.look()?;
        if begin == Begin::Now {
            for tracker in &mut reader.rings {
                tracker.cursor = tracker.ring.ring().committed();
            }
        }
        Ok(reader)
    }

    /// The segment.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// The sensors that were there at the last look, that is when this was made or drained.
    pub fn sensors(&self) -> impl Iterator<Item = &SensorInfo> {
        self.sensors.iter().map(|sensor| &sensor.info)
    }

    /// Blocks and records that no correct program would have written. They are passed over.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Takes in sensors and rings that are new.
    pub(super) fn look(&mut self) -> Result<(), SegmentError> {
        for info in self.segment.sensors_from(self.sensors.len())? {
            let cell = self.segment.cell(info.index)?;
            self.rings.iter_mut().for_each(|tracker| tracker.progress.push(Progress::from_start()));
            let account = Account { sensor: info.name.clone(), ..Account::default() };
            let is_watched = self.begin == Begin::Oldest;
            let tracked =
                Tracked { info, is_watched, account, entry_before: [0; 2], cell, cell_before: 0, cell_read: 0 };
            self.sensors.push(tracked);
        }
        for ring in self.segment.rings_from(self.rings.len())? {
            let progress = vec![Progress::from_start(); self.sensors.len()];
            self.rings.push(Tracker { ring, cursor: 0, progress, settled_at: 0 });
        }
        Ok(())
    }

    /// Begins to keep account of a sensor.
    pub(super) fn watch(&mut self, index: usize) {
        // Rings that are there already; a damaged one is reported when it is drained.
        let _ = self.look();
        let Some(tracked) = self.sensors.get_mut(index).filter(|tracked| !tracked.is_watched) else { return };
        tracked.is_watched = true;
        tracked.account = Account { sensor: tracked.info.name.clone(), ..Account::default() };
        tracked.entry_before = self.segment.counted_in_entry(index);
        tracked.cell_before = tracked.cell.as_ref().map_or(0, |cell| latest::writes(cell_words(cell)));
        tracked.cell_read = tracked.cell_before;
        for tracker in &mut self.rings {
            tracker.progress[index] = Progress::from_now(&tracker.ring, index);
        }
    }

    /// Ends it.
    pub(super) fn unwatch(&mut self, index: usize) {
        if let Some(tracked) = self.sensors.get_mut(index) {
            tracked.is_watched = false;
        }
    }

    /// Calls `take` with every event that has been written since the last time, ring by ring: events of one thread come in
    /// order, those of different threads by their stamps. Returns how many there were.
    ///
    /// # Errors
    /// When a description of a sensor or ring is damaged.
    pub fn drain(&mut self, take: impl FnMut(Event<'_>)) -> Result<u64, SegmentError> {
        self.drain_and_tell(take, |_, _| ())
    }

    /// [`drain`](Self::drain), and calls `tell` with a ring and how far it is read, after each block.
    pub(super) fn drain_and_tell(
        &mut self,
        mut take: impl FnMut(Event<'_>),
        tell: impl Fn(usize, u64),
    ) -> Result<u64, SegmentError> {
        self.look()?;
        let mut count = 0;
        let mut words = std::mem::take(&mut self.words);
        let mut counted = |event: Event<'_>| {
            count += 1;
            take(event);
        };
        for index in 0..self.rings.len() {
            self.drain_ring(index, &mut words, &mut counted, &tell);
        }
        self.drain_cells(&mut words, &mut counted);
        self.words = words;
        Ok(count)
    }

    fn drain_ring(
        &mut self,
        index: usize,
        words: &mut Vec<u64>,
        take: &mut impl FnMut(Event<'_>),
        tell: &impl Fn(usize, u64),
    ) {
        let tracker = &mut self.rings[index];
        // In this order: what these counts have is below `target`.
        let settled = tracker.settled_at == tracker.ring.ring().committed();
        let watched = self.sensors.iter().map(|sensor| sensor.is_watched && !settled).enumerate();
        let written: Vec<Option<u64>> =
            watched.map(|(sensor, wanted)| wanted.then(|| tracker.ring.written(sensor))).collect();
        let target = tracker.ring.ring().committed();
        while self.rings[index].cursor < target {
            let tracker = &self.rings[index];
            match tracker.ring.ring().copy(tracker.cursor, words) {
                Found::Words { start } => {
                    self.take_records(index, words, take);
                    self.rings[index].cursor = start + words.len() as u64;
                    tell(index, self.rings[index].cursor);
                }
                Found::Nothing => break,
                Found::Damaged => {
                    self.damaged += 1;
                    self.rings[index].cursor = target;
                    break;
                }
            }
        }
        let tracker = &mut self.rings[index];
        if settled || tracker.cursor < target {
            return;
        }
        tracker.settled_at = target;
        for ((sensor, progress), written) in self.sensors.iter_mut().zip(&mut tracker.progress).zip(written) {
            let missing = written.map_or(0, |written| written.saturating_sub(progress.next));
            add(&mut sensor.account.dropped.overwritten, missing);
            add(&mut progress.next, missing);
        }
    }

    fn take_records(&mut self, index: usize, words: &[u64], take: &mut impl FnMut(Event<'_>)) {
        for record in records(words) {
            let Ok((head, payload)) = record else {
                self.damaged += 1;
                return;
            };
            if head.sensor == CLOCK_SENSOR {
                self.take_clock(head, payload);
                continue;
            }
            // Made after the last look; its events count from the next one on.
            if usize::from(head.sensor) >= self.sensors.len() && self.look().is_err() {
                self.damaged += 1;
                return;
            }
            let sensor = usize::from(head.sensor);
            let (Some(tracked), Some(progress)) =
                (self.sensors.get_mut(sensor), self.rings[index].progress.get_mut(sensor))
            else {
                self.damaged += 1;
                return;
            };
            if !tracked.is_watched || head.sequence < progress.next {
                continue;
            }
            add(&mut tracked.account.dropped.overwritten, head.sequence - progress.next);
            tracked.account.delivered += 1;
            progress.next = head.sequence.wrapping_add(1);
            let body = payload::bytes(payload, head.length.into());
            take(event(&tracked.info, index, head, body));
        }
    }

    fn take_clock(&mut self, head: Head, payload: &[u64]) {
        let [monotonic, wall] = [0, 1].map(|word| payload.get(word).copied().unwrap_or(0));
        if self.last.is_none_or(|last| last.stamp < head.stamp) {
            self.last = Some(Moment { stamp: head.stamp, monotonic, wall, width: 0 });
        }
    }

    fn drain_cells(&mut self, words: &mut Vec<u64>, take: &mut impl FnMut(Event<'_>)) {
        for tracked in self.sensors.iter_mut().filter(|tracked| tracked.is_watched) {
            let Some(cell) = &tracked.cell else { continue };
            let Some(head) = latest::read(cell_words(cell), words) else { continue };
            let length = usize::from(head.length);
            if head.sequence < tracked.cell_read || length > words.len() * 8 {
                continue;
            }
            add(&mut tracked.account.dropped.superseded, head.sequence - tracked.cell_read);
            tracked.account.delivered += 1;
            tracked.cell_read = head.sequence.wrapping_add(1);
            take(event(&tracked.info, usize::MAX, head, payload::bytes(words, length)));
        }
    }

    /// What became of the events of all watched sensors.
    pub fn accounts(&mut self) -> Vec<Account> {
        // Of a ring that is damaged nothing is known.
        let _ = self.look();
        self.sensors.iter().filter(|sensor| sensor.is_watched).map(|sensor| self.account(sensor)).collect()
    }

    fn account(&self, sensor: &Tracked) -> Account {
        let index = sensor.info.index;
        let mut account = sensor.account.clone();
        let mut sums = [0u64; 5];
        let mut written: u64 = 0;
        for tracker in &self.rings {
            let Some(progress) = tracker.progress.get(index) else { continue };
            // An event may be read before the program has counted it.
            let count = tracker.ring.written(index).max(progress.next);
            written = written.wrapping_add(count.wrapping_sub(progress.first));
            for ((sum, now), before) in sums.iter_mut().zip(tracker.ring.dropped(index)).zip(progress.dropped_before) {
                add(sum, now.wrapping_sub(before));
            }
        }
        if let Some(cell) = &sensor.cell {
            let writes = latest::writes(cell_words(cell)).max(sensor.cell_read);
            written = written.wrapping_add(writes.wrapping_sub(sensor.cell_before));
        }
        let entry = self.segment.counted_in_entry(index);
        let [no_room, contended] = [0, 1].map(|at| entry[at].wrapping_sub(sensor.entry_before[at]));
        let [full, sampled, timed_out, too_large, nested] = sums;
        let Dropped { overwritten, superseded, .. } = account.dropped;
        account.dropped =
            Dropped { overwritten, full, sampled, timed_out, too_large, nested, no_room, superseded, contended };
        let by_program = account.dropped.total().wrapping_sub(overwritten).wrapping_sub(superseded);
        account.emitted = written.wrapping_add(by_program);
        account
    }

    /// Nanoseconds of `CLOCK_MONOTONIC` at a stamp, on the host of the process. `None` until a second moment by both
    /// clocks is known.
    pub fn monotonic(&self, stamp: u64) -> Option<u64> {
        let base = self.segment.base;
        if self.segment.clock == Clock::Monotonic {
            return Some(stamp);
        }
        let last = self.last.filter(|last| last.stamp > base.stamp)?;
        let pace = (last.monotonic.wrapping_sub(base.monotonic)) as f64 / (last.stamp - base.stamp) as f64;
        let distance = (i128::from(stamp) - i128::from(base.stamp)) as f64 * pace;
        u64::try_from(i128::from(base.monotonic) + distance as i128).ok()
    }

    /// A moment that the observer has taken on the same host.
    pub(super) fn learn_moment(&mut self, moment: Moment) {
        self.last = Some(moment);
    }

    /// How far each ring is read.
    pub(super) fn cursors(&self) -> impl Iterator<Item = u64> {
        self.rings.iter().map(|tracker| tracker.cursor)
    }

    /// Whether a sensor of this index is watched.
    pub(super) fn is_watched(&self, index: usize) -> bool {
        self.sensors.get(index).is_some_and(|sensor| sensor.is_watched)
    }
}

/// Counts in a damaged segment may be anything.
fn add(count: &mut u64, more: u64) {
    *count = count.wrapping_add(more);
}

fn cell_words(cell: &Map) -> &[crate::sync::AtomicU64] {
    cell.words()
}

fn event<'a>(sensor: &'a SensorInfo, ring: usize, head: Head, body: &'a [u8]) -> Event<'a> {
    Event { sensor, thread: head.thread, stamp: head.stamp, sequence: head.sequence, ring, body }
}
