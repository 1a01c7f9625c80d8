//! What a host tells of itself at each tick, and how it is found out.
//!
//! A [`Sampler`] remembers the counters of its last look, because most of what people want to know is how fast they grow.

use std::fs;
use std::time::Instant;

use banyan_ndr::Record;

use super::cost::Cost;
use super::counters::{self, Bytes, Processor};

/// How a host is doing. What its kernel does not tell is missing.
#[derive(Debug, Clone, Default, Record)]
pub(super) struct Sample {
    #[record(unit = "%", gauge, description = "share of all cores that works")]
    cpu: Option<f64>,
    #[record(unit = "%", gauge, description = "share of memory that is not available")]
    memory: Option<f64>,
    #[record(gauge, description = "processes that run or want to")]
    run_queue: Option<f64>,
    #[record(unit = "%", gauge, description = "share of the last 10 s that some task waited for a core")]
    pressure_cpu: Option<f64>,
    #[record(unit = "%", gauge, description = "share of the last 10 s that some task waited for memory")]
    pressure_memory: Option<f64>,
    #[record(unit = "%", gauge, description = "share of the last 10 s that some task waited for a disk")]
    pressure_io: Option<f64>,
    #[record(unit = "B/s", gauge, description = "received from other machines")]
    network_in: Option<f64>,
    #[record(unit = "B/s", gauge, description = "sent to other machines")]
    network_out: Option<f64>,
    #[record(unit = "B/s", gauge, description = "read from disks")]
    disk_read: Option<f64>,
    #[record(unit = "B/s", gauge, description = "written to disks")]
    disk_write: Option<f64>,
    #[record(unit = "%", gauge, description = "share of a core that this tool uses there")]
    own_cpu: Option<f64>,
    #[record(unit = "B", gauge, description = "memory that this tool uses there")]
    own_memory: Option<f64>,
}

/// Counters at one moment.
struct CounterSample {
    at: Instant,
    processor: Option<Processor>,
    network: Bytes,
    disk: Bytes,
}

/// Looks at this machine again and again.
pub(super) struct Sampler {
    last: CounterSample,
    cost: Cost,
    /// Disks that are there, so that partitions are not counted again. Found once: disks come and go rarely.
    disks: Vec<String>,
}

impl Sampler {
    /// Takes a first look.
    pub(super) fn new() -> Sampler {
        let disks = disks();
        Sampler { last: look(&disks), cost: Cost::new(), disks }
    }

    /// What has happened since the last look, or since the first.
    pub(super) fn sample(&mut self) -> Sample {
        let now = look(&self.disks);
        let last = std::mem::replace(&mut self.last, now);
        let now = &self.last;
        let seconds = now.at.duration_since(last.at).as_secs_f64();
        let rate = |after: u64, before: u64| (seconds > 0.0).then(|| after.saturating_sub(before) as f64 / seconds);
        let (own_cpu, own_memory) = self.cost.since(seconds);
        Sample {
            cpu: busy(last.processor, now.processor),
            memory: counters::memory(&text("meminfo")),
            run_queue: now.processor.and_then(|processor| processor.runnable).map(|number| number as f64),
            pressure_cpu: counters::pressure(&text("pressure/cpu")),
            pressure_memory: counters::pressure(&text("pressure/memory")),
            pressure_io: counters::pressure(&text("pressure/io")),
            network_in: rate(now.network.taken, last.network.taken),
            network_out: rate(now.network.given, last.network.given),
            disk_read: rate(now.disk.taken, last.disk.taken),
            disk_write: rate(now.disk.given, last.disk.given),
            own_cpu,
            own_memory,
        }
    }
}

/// The share of the time between two looks that all cores together have worked.
fn busy(before: Option<Processor>, after: Option<Processor>) -> Option<f64> {
    let (before, after) = (before?, after?);
    let all = after.all.saturating_sub(before.all);
    let busy = after.busy.saturating_sub(before.busy).min(all);
    (all > 0).then(|| 100.0 * busy as f64 / all as f64)
}

fn look(disks: &[String]) -> CounterSample {
    CounterSample {
        at: Instant::now(),
        processor: counters::processor(&text("stat")),
        network: counters::network(&text("net/dev")),
        disk: counters::disk(&text("diskstats"), |name| disks.iter().any(|disk| disk == name)),
    }
}

/// A file of `/proc`, or nothing if there is none.
fn text(name: &str) -> String {
    fs::read_to_string(format!("/proc/{name}")).unwrap_or_default()
}

/// Disks that are devices of their own: not files, memory, or names for other disks.
fn disks() -> Vec<String> {
    let names = fs::read_dir("/sys/block").into_iter().flatten();
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| !["loop", "ram", "zram", "dm-", "md"].iter().any(|kind| name.starts_with(kind))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_work_is_that_between_two_looks() {
        let at = |busy, all| Some(Processor { busy, all, runnable: None });
        assert_eq!(busy(at(100, 1000), at(150, 1100)), Some(50.0));
        // Counters that go back, or stand still, as some virtual machines have them.
        assert_eq!(busy(at(100, 1000), at(90, 1100)), Some(0.0));
        assert_eq!(busy(at(100, 1000), at(100, 1000)), None);
        assert_eq!(busy(None, at(100, 1000)), None);
    }

    #[test]
    fn this_machine_tells_something() {
        let sample = Sampler::new().sample();
        assert!(sample.memory.is_some_and(|share| (0.0..=100.0).contains(&share)), "{sample:?}");
        assert!(sample.run_queue.is_some_and(|number| number >= 1.0), "{sample:?}");
    }
}
