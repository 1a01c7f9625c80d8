//! Events of a tap in one order: by corrected time, up to where all probes have come.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use banyan_clock::{Corrected, Event as Timed, Timeline};

use super::event::Event;

/// Events that are held at most until all probes have come as far. Beyond that the earliest comes out before its order is
/// certain.
const MOST_HELD: usize = 262_144;

/// An event that waits for others of its host.
#[derive(Debug)]
struct Held {
    /// When it came, to keep the order of those of one time.
    arrival: u64,
    event: Event,
}

impl Held {
    fn key(&self) -> (i64, u64) {
        (self.event.time, self.arrival)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Held) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Puts batches of several probes into one order. A probe's batches hold events of several rings, each of which is in order.
#[derive(Debug)]
pub(super) struct Order {
    timeline: Timeline<Event>,
    held: BTreeMap<u32, BinaryHeap<Reverse<Held>>>,
    arrivals: u64,
    count: usize,
}

impl Order {
    /// Of these probes.
    pub(super) fn new(probes: impl Iterator<Item = u32>) -> Order {
        let mut timeline = Timeline::new(MOST_HELD);
        probes.for_each(|probe| timeline.join(probe));
        Order { timeline, held: BTreeMap::new(), arrivals: 0, count: 0 }
    }

    /// Takes events of a probe, from which nothing before `until` comes any more.
    pub(super) fn take(&mut self, probe: u32, events: Vec<Event>, until: i64) {
        let held = self.held.entry(probe).or_default();
        self.count += events.len();
        for event in events {
            held.push(Reverse(Held { arrival: self.arrivals, event }));
            self.arrivals += 1;
        }
        while let Some(Reverse(first)) = held.peek()
            && (first.event.time <= until || self.count > MOST_HELD)
            && let Some(Reverse(Held { event, .. })) = held.pop()
        {
            self.count -= 1;
            let time = Corrected { time: event.time, bound: event.bound };
            self.timeline.push(probe, Timed { sequence: self.arrivals, time, cause: None, what: event });
        }
        // A version that ends says that nothing comes; the next one goes on.
        if until != i64::MAX {
            self.timeline.progress(probe, until);
        }
    }

    /// Nothing more comes of a probe.
    pub(super) fn leave(&mut self, probe: u32) {
        self.take(probe, Vec::new(), i64::MAX);
        self.timeline.leave(probe);
    }

    /// The events whose order is certain.
    pub(super) fn ready(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.timeline.next_final().map(|ordered| ordered.event.what)).collect()
    }
}
