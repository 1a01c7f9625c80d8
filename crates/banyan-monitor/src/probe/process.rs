//! A process that is watched.

use std::os::fd::OwnedFd;

use banyan_ndr::Format;
use banyan_query::QueryError;
use banyan_sensor::observe::{Account, Observer, Segment, SegmentError};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::tally::{Settled, Tally};
use super::tap::TapEvent;
use super::time::{Correction, Stamps};
use super::work::{Doing, Work};
use crate::message::{Appeared, Entry};

/// A process that is watched, and which queries want which of its sensors.
pub(super) struct WatchedProcess {
    pub(super) number: u32,
    pub(super) observer: Observer,
    /// Ready when it has ended; none where the kernel has none, or it is in another pid namespace.
    pub(super) end: Option<OwnedFd>,
    /// By index in the segment.
    pub(super) sensors: Vec<Watched>,
    context: Context,
}

/// A sensor of a process, and who wants it.
pub(super) struct Watched {
    /// Its number at this probe.
    pub(super) number: u32,
    pub(super) name: String,
    pub(super) format: Option<Format>,
    uses: Vec<Use>,
}

#[derive(Debug, Clone, Copy)]
struct Use {
    /// Its place among the probe's works.
    work: usize,
    tally: Tally,
}

impl Watched {
    pub(super) fn new(number: u32, name: String, format: Option<Format>) -> Watched {
        Watched { number, name, format, uses: Vec::new() }
    }
}

impl WatchedProcess {
    /// Registers with a process; `None` if it has ended.
    pub(super) fn watch(number: u32, segment: Segment, host: &str) -> Result<Option<WatchedProcess>, SegmentError> {
        let identity = segment.identity();
        let pid = i32::try_from(identity.pid).ok().and_then(Pid::from_raw);
        let is_here = identity.is_running().is_some();
        let end = pid.filter(|_| is_here).and_then(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK).ok());
        // Now the descriptor cannot be that of another process with the same number.
        if identity.is_running() == Some(false) {
            return Ok(None);
        }
        let rank = identity.rank.and_then(|rank| u32::try_from(rank).ok());
        let context = Context { host: host.into(), job: identity.job.clone(), rank, pid: identity.pid };
        let observer = segment.observe()?;
        Ok(Some(WatchedProcess { number, observer, end, sensors: Vec::new(), context }))
    }

    pub(super) fn pid(&self) -> u32 {
        self.context.pid
    }

    pub(super) fn appeared(&self) -> Appeared {
        let identity = self.observer.segment().identity().clone();
        Appeared {
            process: self.number,
            host: self.context.host.clone(),
            pid: identity.pid,
            start_time: identity.start_time,
            rank: identity.rank,
            ranks: identity.ranks,
            job: identity.job,
            executable: identity.executable,
        }
    }

    /// One work begins and others end, between two drains. What is in the rings is of the one that begins. Calls `refuse` with
    /// each sensor whose format that one does not fit.
    pub(super) fn change(
        &mut self,
        works: &mut [Option<Work>],
        begins: Option<usize>,
        ends: &[usize],
        refuse: impl FnMut(u32, QueryError),
    ) {
        let beginning = begins.and_then(|place| Some((place, works.get_mut(place)?.as_mut()?)));
        let wanted = beginning.map(|(place, work)| self.wanted(place, work, refuse)).unwrap_or_default();
        if wanted.is_empty() && ends.is_empty() {
            return;
        }
        // First this: a sensor that goes on to be watched is watched all the time.
        for index in &wanted {
            self.observer.watch(&self.sensors[*index].name);
        }
        // What ends and what begins share one account.
        let accounts = self.observer.accounts();
        let account = |name: &str| accounts.iter().find(|account| account.sensor == name);
        let lapses = self.observer.lapses();
        for (index, sensor) in self.sensors.iter_mut().enumerate() {
            let before = sensor.uses.len();
            for place in ends {
                let Some(at) = sensor.uses.iter().position(|used| used.work == *place) else { continue };
                let used = sensor.uses.swap_remove(at);
                let entry = entry(self.number, sensor.number, &used.tally, account(&sensor.name), lapses, true);
                let work = works.get_mut(*place).and_then(Option::as_mut);
                work.into_iter().for_each(|work| work.settle(entry));
            }
            if let Some(place) = begins.filter(|_| wanted.contains(&index)) {
                let since = account(&sensor.name).map(Settled::of).unwrap_or_default();
                sensor.uses.push(Use { work: place, tally: Tally::since(since) });
            }
            if sensor.uses.is_empty() && before > 0 {
                self.observer.unwatch(&sensor.name);
            }
        }
    }

    /// The sensors that a work wants, and does not have.
    fn wanted(&self, place: usize, work: &mut Work, mut refuse: impl FnMut(u32, QueryError)) -> Vec<usize> {
        let mut wanted = Vec::new();
        for (index, sensor) in self.sensors.iter().enumerate() {
            let Some(format) = &sensor.format else { continue };
            if sensor.uses.iter().any(|used| used.work == place) {
                continue;
            }
            match work.wants(sensor.number, &sensor.name, format) {
                Ok(true) => wanted.push(index),
                Ok(false) => {}
                Err(error) => refuse(sensor.number, error),
            }
        }
        wanted
    }

    /// What became of events so far, for works that go on.
    pub(super) fn entries(&mut self, works: &[Option<Work>], out: &mut Vec<Entry>) {
        let accounts = self.observer.accounts();
        let lapses = self.observer.lapses();
        for sensor in self.sensors.iter().filter(|sensor| !sensor.uses.is_empty()) {
            let account = accounts.iter().find(|account| account.sensor == sensor.name);
            for used in &sensor.uses {
                let Some(work) = works.get(used.work).and_then(Option::as_ref) else { continue };
                let entry = entry(self.number, sensor.number, &used.tally, account, lapses, false);
                out.push(Entry { query: work.query, version: work.version, ..entry });
            }
        }
    }

    /// Whether any work wants any event of it.
    pub(super) fn is_wanted(&self) -> bool {
        self.sensors.iter().any(|sensor| !sensor.uses.is_empty())
    }

    /// Hands new events to the works that want them. Returns how many there were.
    pub(super) fn drain(&mut self, works: &mut [Option<Work>], correction: Correction) -> Result<u64, SegmentError> {
        let stamps = Stamps::new(&self.observer, correction);
        let (number, sensors, context) = (self.number, &mut self.sensors, &self.context);
        let Context { host, job, rank, pid } = context;
        let process = banyan_query::Process { host, job: job.as_deref(), rank: *rank, pid: *pid };
        self.observer.drain(|event| {
            let Some(sensor) = sensors.get_mut(event.sensor.index) else { return };
            let time = stamps.time(event.stamp);
            let (thread, sequence, body) = (event.thread, event.sequence, event.body);
            for used in &mut sensor.uses {
                let Some(work) = works.get_mut(used.work).and_then(Option::as_mut) else { continue };
                match &mut work.doing {
                    Doing::Tap(tap, _) => {
                        let (sensor, stamp) = (sensor.number, event.stamp);
                        let event = TapEvent { process: number, sensor, thread, sequence, stamp, time, body };
                        let taken = tap.take(&event);
                        *(if taken { &mut used.tally.selected } else { &mut used.tally.behind }) += 1;
                    }
                    Doing::Query(asked) => {
                        let thread = thread.into();
                        let event = banyan_query::Event { process: &process, thread, sequence, time, body };
                        asked.take(sensor.number, &event, &mut used.tally);
                    }
                }
            }
        })
    }
}

/// What queries are told of a process.
struct Context {
    host: String,
    job: Option<String>,
    rank: Option<u32>,
    pid: u32,
}

fn entry(process: u32, sensor: u32, tally: &Tally, account: Option<&Account>, lapses: u64, is_over: bool) -> Entry {
    let nothing = Account::default();
    let entry = tally.entry(account.unwrap_or(&nothing), is_over);
    Entry { process, sensor, lapses, ..entry }
}
