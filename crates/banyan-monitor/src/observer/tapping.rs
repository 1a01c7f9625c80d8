//! What comes of a tap: events, in order.

use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_tree::{TreeError, Wave};
use bytes::Bytes;

use super::event::Event;
use super::feed::Queue;
use super::known::{Key, Known};
use super::order::Order;
use super::running::{Taken, Version};
use crate::message::Batch;

/// Makes events of batches.
pub(super) struct TapSource {
    pub(super) queue: Arc<Queue<Event>>,
    order: Order,
}

impl TapSource {
    pub(super) fn new(queue: Arc<Queue<Event>>, probes: &RankSet) -> TapSource {
        TapSource { queue, order: Order::new(probes.iter()) }
    }

    pub(super) fn lose(&mut self, probe: u32) {
        self.order.leave(probe);
        self.queue.extend(self.order.ready());
    }

    pub(super) fn take(&mut self, known: &Known, version: &mut Version, wave: &Wave) -> Result<Taken, TreeError> {
        let Some(probe) = wave.members().only() else { return Ok(Taken::Useless("a batch of several probes".into())) };
        let batch: Batch = wave.read()?;
        let Some(events) = events(known, probe, version.add.version, &batch) else { return Ok(Taken::NotYet) };
        if batch.is_last {
            version.ended.insert(probe);
        }
        let count = events.len() as u64;
        self.order.take(probe, events, batch.until);
        self.queue.extend(self.order.ready());
        Ok(Taken::Events(count))
    }
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
