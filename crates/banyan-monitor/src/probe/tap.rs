//! A tap at the probe: events as they were emitted, in batches.

use std::collections::VecDeque;

use crate::message::Batch;

/// Bytes of a batch, about: one goes on the way while the next is filled.
const FULL: usize = 64 << 10;

/// Bytes of a batch's columns for each event, beside its body.
const COLUMNS: usize = 40;

/// Bytes that wait for a front-end that is behind. What comes beyond is dropped, and counted.
const MOST_WAITING: usize = 16 << 20;

/// An event on its way into a batch.
pub(super) struct TapEvent<'a> {
    pub(super) process: u32,
    pub(super) sensor: u32,
    pub(super) thread: u32,
    pub(super) sequence: u64,
    pub(super) stamp: u64,
    pub(super) time: i64,
    pub(super) body: &'a [u8],
}

/// Batches of a version of a tap that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Batcher {
    filling: Batch,
    waiting: VecDeque<Batch>,
    bytes: usize,
    /// What the front-end knows of progress.
    told: i64,
}

impl Batcher {
    /// Takes an event; false if there is no room for it.
    pub(super) fn take(&mut self, event: &TapEvent<'_>) -> bool {
        if self.bytes + event.body.len() + COLUMNS > MOST_WAITING {
            return false;
        }
        if self.filling.bodies.len() + self.filling.times.len() * COLUMNS + event.body.len() > FULL {
            // Others of the same drain may be earlier than these.
            self.close_batch(i64::MIN, 0);
        }
        let Batch { processes, sensors, threads, sequences, stamps, times, ends, bodies, .. } = &mut self.filling;
        processes.push(event.process);
        sensors.push(event.sensor);
        threads.push(event.thread);
        sequences.push(event.sequence);
        stamps.push(event.stamp);
        times.push(event.time);
        bodies.extend_from_slice(event.body);
        // At most a batch and one body of a ring's block.
        ends.push(bodies.len() as u32);
        self.bytes += event.body.len() + COLUMNS;
        true
    }

    /// Everything up to this time was taken.
    pub(super) fn pass(&mut self, until: i64, bound: i64, is_progress_wanted: bool) {
        if !self.filling.times.is_empty() || is_progress_wanted && until > self.told {
            self.close_batch(until, bound);
        }
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self) {
        self.filling.is_last = true;
        self.close_batch(i64::MAX, 0);
    }

    fn close_batch(&mut self, until: i64, bound: i64) {
        self.told = self.told.max(until);
        // One without events that still waits says no more than the next.
        let idle = self.waiting.pop_back_if(|last| last.times.is_empty() && !last.is_last);
        let until = idle.map_or(until, |idle| idle.until.max(until));
        let batch = std::mem::take(&mut self.filling);
        self.waiting.push_back(Batch { until, bound, ..batch });
    }

    /// The next batch to send.
    pub(super) fn first(&self) -> Option<&Batch> {
        self.waiting.front()
    }

    /// It was sent.
    pub(super) fn sent_first(&mut self) {
        if let Some(batch) = self.waiting.pop_front() {
            self.bytes -= batch.bodies.len() + batch.times.len() * COLUMNS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time: i64, body: &[u8]) -> TapEvent<'_> {
        TapEvent { process: 1, sensor: 2, thread: 3, sequence: 4, stamp: 5, time, body }
    }

    #[test]
    fn events_come_out_in_batches_and_what_finds_no_room_is_refused() {
        let mut tap = Batcher::default();
        let body = vec![7; 1000];
        let taken = (0..100_000).take_while(|time| tap.take(&event(*time, &body))).count();
        assert_eq!(taken, MOST_WAITING / (1000 + COLUMNS));
        tap.finish();
        let (mut count, mut last) = (0, None);
        while let Some(batch) = tap.first().cloned() {
            count += batch.checked_len().unwrap();
            assert!(batch.bodies.len() <= FULL);
            last = Some(batch);
            tap.sent_first();
        }
        assert_eq!((count, tap.bytes), (taken, 0));
        assert!(last.is_some_and(|batch| batch.is_last && batch.until == i64::MAX));
    }

    #[test]
    fn progress_without_events_waits_in_one_batch() {
        let mut tap = Batcher::default();
        (0..10).for_each(|time| tap.pass(time, 0, true));
        assert_eq!(tap.waiting.len(), 1);
        assert_eq!(tap.first().unwrap().until, 9);
    }
}
