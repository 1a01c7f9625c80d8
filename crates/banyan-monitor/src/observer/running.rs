//! A tap at the observer: the streams of its versions, one after the other.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_tree::{Stream, TreeError};
use bytes::Bytes;

use super::event::Event;
use super::feed::Queue;
use super::known::{Key, Known};
use super::order::Order;
use crate::message::{Add, Batch};

/// Batches that are taken of one tap before others have their turn.
const IN_TURN: usize = 64;

/// A process and a sensor of a probe.
pub(super) type Origin = (u32, u32, u32);

/// A tap and its versions.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) queue: Arc<Queue<Event>>,
    order: Order,
    /// The oldest gives; the others follow when all probes have ended it.
    versions: VecDeque<Version>,
    /// Events that have come, by version.
    pub(super) delivered: BTreeMap<u32, BTreeMap<Origin, u64>>,
}

#[derive(Debug)]
struct Version {
    /// What probes were told.
    add: Add,
    stream: Stream,
    /// Probes from which nothing more comes.
    ended: RankSet,
    /// Names processes or sensors that are not known yet.
    parked: Option<(u32, Batch)>,
}

impl Running {
    pub(super) fn new(queue: Arc<Queue<Event>>, probes: &RankSet) -> Running {
        let order = Order::new(probes.iter());
        Running { queue, order, versions: VecDeque::new(), delivered: BTreeMap::new() }
    }

    pub(super) fn add_version(&mut self, add: Add, stream: Stream) {
        self.delivered.insert(add.version, BTreeMap::new());
        self.versions.push_back(Version { add, stream, ended: RankSet::new(), parked: None });
    }

    /// The newest version.
    pub(super) fn newest(&self) -> Option<&Add> {
        self.versions.back().map(|version| &version.add)
    }

    /// A probe is lost.
    pub(super) fn lose(&mut self, probe: u32) {
        self.order.leave(probe);
        self.queue.extend(self.order.ready());
    }

    /// Takes what has come, as long as there is room for it. True if there may be more.
    pub(super) fn take(&mut self, known: &Known, present: &RankSet) -> Result<bool, TreeError> {
        for _ in 0..IN_TURN {
            if !self.queue.has_room() {
                return Ok(false);
            }
            let Some(version) = self.versions.front_mut() else { return Ok(false) };
            let parked = version.parked.take();
            let next = match parked {
                Some(parked) => Some(parked),
                None => next_batch(&version.stream)?,
            };
            let Some((probe, batch)) = next else {
                if self.versions.len() > 1 && self.versions[0].is_over(present) {
                    self.versions.pop_front();
                    continue;
                }
                return Ok(false);
            };
            let number = version.add.version;
            let Some(events) = events(known, probe, number, &batch) else {
                version.parked = Some((probe, batch));
                return Ok(false);
            };
            if batch.is_last {
                version.ended.insert(probe);
            }
            let counts = self.delivered.entry(number).or_default();
            for (process, sensor) in batch.processes.iter().zip(&batch.sensors) {
                *counts.entry((probe, *process, *sensor)).or_default() += 1;
            }
            self.order.take(probe, events, batch.until);
            self.queue.extend(self.order.ready());
        }
        Ok(true)
    }
}

impl Version {
    fn is_over(&self, present: &RankSet) -> bool {
        present.difference(&self.ended).is_empty()
    }
}

/// The next batch that has come, and whose it is.
fn next_batch(stream: &Stream) -> Result<Option<(u32, Batch)>, TreeError> {
    let Some(wave) = stream.try_recv()? else { return Ok(None) };
    let Some(probe) = wave.members().only() else { return Ok(None) };
    Ok(Some((probe, wave.read()?)))
}

/// The events of a batch; `None` while a process or sensor of it is not known. One whose columns do not fit together has none.
fn events(known: &Known, probe: u32, version: u32, batch: &Batch) -> Option<Vec<Event>> {
    let count = batch.checked_len().unwrap_or(0);
    let bodies = Bytes::copy_from_slice(&batch.bodies);
    let mut events = Vec::with_capacity(count);
    let mut last: Option<(Key, _, _)> = None;
    let mut start = 0;
    for index in 0..count {
        let key = (batch.processes[index], batch.sensors[index]);
        let (process, sensor) = match &last {
            Some((same, process, sensor)) if *same == key => (Arc::clone(process), Arc::clone(sensor)),
            _ => (known.process(probe, key.0)?, known.sensor(probe, key.1)?),
        };
        last = Some((key, Arc::clone(&process), Arc::clone(&sensor)));
        let end = batch.ends[index] as usize;
        events.push(Event {
            process,
            sensor,
            version,
            thread: batch.threads[index],
            sequence: batch.sequences[index],
            stamp: batch.stamps[index],
            time: batch.times[index],
            bound: batch.bound,
            body: bodies.slice(start..end),
        });
        start = end;
    }
    Some(events)
}
