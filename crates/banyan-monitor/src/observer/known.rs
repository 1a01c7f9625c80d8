//! What probes have told of processes and sensors.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use banyan_ndr::{Format, Limits};

use crate::catalogue::{Process, SensorInfo, kind_of};
use crate::message::{Appeared, Description, Has};

/// Ended processes that are remembered, so that late events and ledgers can name them.
const MOST_ENDED: usize = 16_384;

/// A thing of a probe: its rank, and the probe's number for it.
pub(super) type Key = (u32, u32);

/// Processes and sensors of all probes.
#[derive(Debug, Default)]
pub(super) struct Known {
    processes: BTreeMap<Key, OneProcess>,
    ended: VecDeque<Key>,
    sensors: BTreeMap<Key, Arc<SensorInfo>>,
}

#[derive(Debug)]
struct OneProcess {
    process: Arc<Process>,
    sensors: Vec<u32>,
    has_ended: bool,
}

impl Known {
    pub(super) fn appeared(&mut self, probe: u32, told: Appeared) -> Arc<Process> {
        let Appeared { process: number, host, pid, start_time, rank, ranks, job, executable } = told;
        let process = Arc::new(Process { host, pid, start_time, rank, ranks, job, executable, probe });
        let known = OneProcess { process: Arc::clone(&process), sensors: Vec::new(), has_ended: false };
        self.processes.insert((probe, number), known);
        process
    }

    pub(super) fn ended(&mut self, probe: u32, number: u32) -> Option<Arc<Process>> {
        let known = self.processes.get_mut(&(probe, number)).filter(|known| !known.has_ended)?;
        known.has_ended = true;
        let process = Arc::clone(&known.process);
        self.ended.push_back((probe, number));
        if self.ended.len() > MOST_ENDED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.processes.remove(&oldest);
        }
        Some(process)
    }

    pub(super) fn described(&mut self, probe: u32, told: Description) {
        let Description { sensor, name, unit, description, kind, format } = told;
        // A format that cannot be read is none.
        let format = Format::decode(&format, &Limits::default()).ok();
        let info = Arc::new(SensorInfo { name, unit, description, kind: kind_of(kind), format });
        // Hosts with the same program have the same sensors.
        let info = self.sensors.values().find(|known| ***known == *info).cloned().unwrap_or(info);
        self.sensors.insert((probe, sensor), info);
    }

    pub(super) fn has(&mut self, probe: u32, told: &Has) -> Option<(Arc<Process>, Arc<SensorInfo>)> {
        let sensor = self.sensor(probe, told.sensor)?;
        let known = self.processes.get_mut(&(probe, told.process))?;
        known.sensors.push(told.sensor);
        Some((Arc::clone(&known.process), sensor))
    }

    pub(super) fn process(&self, probe: u32, number: u32) -> Option<Arc<Process>> {
        self.processes.get(&(probe, number)).map(|known| Arc::clone(&known.process))
    }

    pub(super) fn sensor(&self, probe: u32, number: u32) -> Option<Arc<SensorInfo>> {
        self.sensors.get(&(probe, number)).cloned()
    }

    /// The processes that run, as far as is known.
    pub(super) fn running(&self) -> Vec<Arc<Process>> {
        let running = self.processes.values().filter(|known| !known.has_ended);
        running.map(|known| Arc::clone(&known.process)).collect()
    }

    /// The sensors of those that run, each once.
    pub(super) fn sensors(&self) -> Vec<Arc<SensorInfo>> {
        let mut all: Vec<Arc<SensorInfo>> = Vec::new();
        for ((probe, _), known) in self.processes.iter().filter(|(_, known)| !known.has_ended) {
            for sensor in known.sensors.iter().filter_map(|sensor| self.sensors.get(&(*probe, *sensor))) {
                if !all.iter().any(|known| Arc::ptr_eq(known, sensor)) {
                    all.push(Arc::clone(sensor));
                }
            }
        }
        all.sort_by(|first, second| first.name.cmp(&second.name));
        all
    }
}
