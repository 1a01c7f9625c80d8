//! The probe: the member on each host. It finds processes, reads their events and sends what is wanted.
//!
//! One loop does everything. It never waits for the front-end: what finds no room waits in bounded queues, and what finds
//! none there is counted. So programs and other observers do not notice a front-end that is slow, stopped or killed.

pub(crate) mod asked;
mod finder;
mod pace;
mod process;
mod steering;
mod tally;
mod tap;
pub(crate) mod time;
mod work;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::exit;
use std::time::{Duration, Instant};

use banyan_clock::Estimate;
use banyan_link::{Interest, Poller, Ready};
use banyan_ndr::FormatId;
use banyan_query::QueryError;
use banyan_sensor::observe::{Found, Segment, SensorInfo};
use banyan_tree::{BackEnd, Incoming, StreamId, TreeError};
use finder::Finder;
use pace::Pace;
use process::{Watched, WatchedProcess};
use steering::OpenRequests;
use time::{Correction, monotonic};
use work::{Doing, Work};

use crate::catalogue::kind_number;
use crate::job::Chooser;
use crate::message::{
    ACKS, ADD, APPEARED, Acks, Add, Appeared, Ask, CHOOSE, Choose, DESCRIPTION, Description, ENTRIES, Entries, Entry,
    GONE, Gone, HAS, HELLO, Has, Hello, LEDGER, MANY, OVER, Over, REFUSED, REMOVE, Refused, Remove, STARTED, STEER,
    Started, UNWATCHABLE, Unwatchable,
};

/// The first argument of a probe.
pub(crate) const ROLE: &str = "banyan-probe";

/// Versions of queries at a time.
pub(crate) const MOST_WORKS: usize = 256;

/// Processes that are watched at most; the others are said to be unwatchable.
const MOST_PROCESSES: usize = 16_384;

/// Sensors that are described at most.
const MOST_DESCRIPTIONS: usize = 65_536;

/// How long a probe waits until it knows the front-end's clock, before it begins with queries.
const CLOCK_PATIENCE: Duration = Duration::from_secs(3);

/// How often it looks for that.
const CLOCK_LOOK: Duration = Duration::from_millis(5);

/// Entries of versions that are over, which are kept one by one.
const MOST_FINISHED: usize = 16_384;

/// Entries of a ledger in one record.
const ENTRIES_TOGETHER: usize = 256;

/// How often idle probes tell how far they are, so that events of others can be ordered.
const PROGRESS: Duration = Duration::from_millis(100);

/// Tokens of the poller: processes have theirs behind these.
const NETWORK: u64 = 0;
const FILES: u64 = 1;
const PROCESSES: u64 = 2;

/// Never returns in a process that an observer has started as its probe. Call it first of all in `main`, beside
/// [`become_agent_if_asked`](banyan_tree::become_agent_if_asked): the program of an observer is its probe on every host.
pub fn become_probe_if_asked() {
    if std::env::args().nth(1).as_deref() == Some(ROLE) {
        take_name();
        // The end of the network is the end of a probe; what else goes wrong, the front-end hears by its loss.
        exit(i32::from(!matches!(run(), Err(TreeError::Ended))));
    }
}

/// Takes the name of what it does: it was started as `/proc/self/exe`, and nobody would know who is listed as `exe`.
fn take_name() {
    // Where that is refused it is called so.
    let _ = std::fs::write("/proc/self/comm", ROLE);
}

fn run() -> Result<(), TreeError> {
    let mut probe = Probe::new(BackEnd::join()?)?;
    loop {
        probe.turn()?;
    }
}

/// What is told of processes and sensors.
enum News {
    Hello(Hello),
    Appeared(Appeared),
    Gone(Gone),
    Description(Description),
    Has(Has),
    Started(Started),
    Entries(Entries),
    Unwatchable(Unwatchable),
    Refused(Refused),
    Over(Over),
    Acks(Acks),
}

struct Probe {
    back_end: BackEnd,
    poller: Poller,
    finder: Finder,
    pace: Pace,
    chooser: Option<Chooser>,
    /// The name by which the observer knows this host.
    host: String,
    is_idle: bool,
    /// The stream of what front-end and probe tell each other.
    control: Option<StreamId>,
    processes: BTreeMap<u32, WatchedProcess>,
    next_process: u32,
    /// Segments that were looked at, and need not be looked at again.
    known: BTreeSet<PathBuf>,
    works: Vec<Option<Work>>,
    /// Entries of versions that are over, of queries that are not.
    finished: Vec<Entry>,
    descriptions: BTreeMap<Described, u32>,
    news: VecDeque<News>,
    told_progress: Instant,
    steering: OpenRequests,
    /// What came before the clock of the front-end was known, and until when to wait for that.
    early: Vec<Add>,
    clock_until: Instant,
}

/// What makes two sensors one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Described {
    name: String,
    unit: String,
    description: String,
    kind: u32,
    format: Option<FormatId>,
}

impl News {
    /// What tells that a query does not fit a sensor.
    fn refused((query, version): (u32, u32), news: &mut VecDeque<News>) -> impl FnMut(u32, QueryError) {
        move |sensor, why| news.push_back(News::Refused(Refused { query, version, sensor, why: why.to_string() }))
    }
}

impl Probe {
    fn new(back_end: BackEnd) -> Result<Probe, TreeError> {
        let (poller, finder) = (Poller::new()?, Finder::new());
        poller.register(&back_end, NETWORK, Interest::READ)?;
        if let Some(files) = finder.descriptor() {
            poller.register(files, FILES, Interest::READ)?;
        }
        Ok(Probe {
            back_end,
            poller,
            finder,
            pace: Pace::new(),
            chooser: None,
            host: String::new(),
            is_idle: false,
            control: None,
            processes: BTreeMap::new(),
            next_process: 0,
            known: BTreeSet::new(),
            works: Vec::new(),
            finished: Vec::new(),
            descriptions: BTreeMap::new(),
            news: VecDeque::new(),
            told_progress: Instant::now(),
            steering: OpenRequests::default(),
            early: Vec::new(),
            clock_until: Instant::now() + CLOCK_PATIENCE,
        })
    }

    /// Everything that is due, and then a wait for what is next.
    fn turn(&mut self) -> Result<(), TreeError> {
        let now = Instant::now();
        if self.chooser.is_some() && self.finder.is_due(now) {
            self.look();
            // Nobody needs them; a queue that is full would be reported again and again.
            while self.back_end.try_recv_event()?.is_some() {}
        }
        if self.chooser.is_some() && now >= self.pace.due() {
            self.drain_all(now);
        }
        if !self.early.is_empty() && self.knows_clock() {
            std::mem::take(&mut self.early).into_iter().for_each(|add| self.add(add));
        }
        let answers = self.steering.answers(&self.processes);
        self.news.extend(answers.into_iter().map(News::Acks));
        self.send()?;
        let mut has_come = false;
        while let Some(incoming) = self.back_end.try_recv()? {
            self.obey(&incoming)?;
            has_come = true;
        }
        if has_come { Ok(()) } else { self.wait() }
    }

    fn wait(&mut self) -> Result<(), TreeError> {
        let due = self.chooser.as_ref().map(|_| self.pace.due().min(self.finder.due()));
        let clock = (!self.early.is_empty()).then(|| Instant::now() + CLOCK_LOOK);
        let due = [due, clock, self.steering.due()].into_iter().flatten().min();
        let timeout = due.map(|due| due.saturating_duration_since(Instant::now()));
        let mut ready: Vec<Ready> = Vec::new();
        self.poller.wait_asleep(timeout, &mut ready)?;
        for token in ready.iter().filter_map(|ready| ready.token.checked_sub(PROCESSES)) {
            self.end(token as u32, None);
        }
        Ok(())
    }

    fn obey(&mut self, incoming: &Incoming) -> Result<(), TreeError> {
        match incoming.tag {
            HELLO => {
                self.control = Some(incoming.stream);
                self.news.push_back(News::Hello(Hello { machine: finder::machine() }));
            }
            CHOOSE => {
                self.control = Some(incoming.stream);
                if self.chooser.is_none() {
                    let Choose { choice, host, is_idle } = incoming.read()?;
                    (self.host, self.is_idle) = (host, is_idle);
                    // The observer has checked it.
                    self.chooser = Chooser::new(choice).ok();
                    self.finder.hurry();
                }
            }
            ADD if self.knows_clock() => self.add(incoming.read()?),
            ADD => self.early.push(incoming.read()?),
            STEER => self.steering.obey(&incoming.read()?, &self.processes),
            REMOVE => self.remove(incoming.read::<Remove>()?.query),
            LEDGER => self.tell_ledger(incoming.read::<Ask>()?.serial),
            // Of a later release.
            _ => {}
        }
        Ok(())
    }

    /// A query begins, or its next version in place of the one before: between two drains.
    fn add(&mut self, add: Add) {
        let (query, version) = (add.query, add.version);
        let is_known = self.works.iter().flatten().any(|work| work.query == query && work.version >= version);
        if !is_known && self.works.iter().flatten().count() < MOST_WORKS {
            // The observer has read the text before.
            if let Ok(work) = Work::new(add, self.back_end.rank()) {
                self.replace(query, Some(work));
            }
        }
        self.news.push_back(News::Started(Started { query, version }));
    }

    /// Versions of a query take nothing more, but for one that begins.
    fn replace(&mut self, query: u32, beginning: Option<Work>) {
        let is_ending = |work: &Option<Work>| work.as_ref().is_some_and(|work| work.query == query && !work.is_ending);
        let ends: Vec<usize> = (0..self.works.len()).filter(|place| is_ending(&self.works[*place])).collect();
        let refused = beginning.as_ref().map_or((query, 0), |work| (work.query, work.version));
        let begins = beginning.map(|work| {
            let place = self.works.iter().position(Option::is_none).unwrap_or_else(|| {
                self.works.push(None);
                self.works.len() - 1
            });
            self.works[place] = Some(work);
            place
        });
        for process in self.processes.values_mut() {
            process.change(&mut self.works, begins, &ends, News::refused(refused, &mut self.news));
        }
        let now = self.corrected_now();
        for place in ends {
            let Some(work) = &mut self.works[place] else { continue };
            work.finish(now);
            if let Doing::Query(asked) = &work.doing {
                self.news.push_back(News::Over(asked.end()));
            }
        }
        self.pace.hurry();
    }

    fn corrected_now(&mut self) -> i64 {
        let now = monotonic();
        self.correction(now).correct(now)
    }

    /// From the clock of this host to that of the front-end. Where nothing is known of that, they are taken for one.
    fn correction(&mut self, now: i64) -> Correction {
        let estimate = self.back_end.clock().unwrap_or_else(|| Estimate::own(now));
        Correction::new(&estimate, now)
    }

    /// Whether times of events can be corrected, or nobody will say how.
    fn knows_clock(&mut self) -> bool {
        Instant::now() >= self.clock_until || self.back_end.clock().is_some()
    }

    fn remove(&mut self, query: u32) {
        self.replace(query, None);
        self.works.iter_mut().filter(|work| work.as_ref().is_some_and(|work| work.query == query)).for_each(|work| {
            *work = None;
        });
        self.finished.retain(|entry| entry.query != query);
    }

    fn tell_ledger(&mut self, serial: u64) {
        let mut entries = self.finished.clone();
        self.works.iter().flatten().for_each(|work| entries.extend(work.settled()));
        self.processes.values_mut().for_each(|process| process.entries(&self.works, &mut entries));
        let mut parts = entries.chunks(ENTRIES_TOGETHER).peekable();
        loop {
            let part = parts.next().unwrap_or_default().to_vec();
            let is_last = parts.peek().is_none();
            self.news.push_back(News::Entries(Entries { serial, entries: part, is_last }));
            if is_last {
                return;
            }
        }
    }

    /// Takes in what has come and gone of processes.
    fn look(&mut self) {
        let found = self.finder.look();
        if self.is_idle {
            return;
        }
        let by_path: BTreeMap<&Path, &Found> = found.iter().map(|found| (found.path.as_path(), found)).collect();
        self.known.retain(|path| by_path.contains_key(path.as_path()));
        for found in &found {
            if !found.is_replaced && !self.known.contains(&found.path) {
                self.consider(found);
            }
        }
        self.end_replaced(&by_path);
    }

    /// Watches a process, if it is wanted.
    fn consider(&mut self, found: &Found) {
        let Some(chooser) = &self.chooser else { return };
        let segment = match Segment::open(&found.path) {
            Ok(segment) => segment,
            Err(error) => return self.refuse(found, error.to_string()),
        };
        let is_wanted = segment.identity().is_running() != Some(false) && chooser.wants(segment.identity());
        if let Some(name) = chooser.sensor().filter(|_| is_wanted) {
            match segment.sensors() {
                Ok(sensors) if sensors.iter().any(|sensor| sensor.name == name) => {}
                // It may still make one: it is looked at again.
                Ok(_) => return,
                Err(error) => return self.refuse(found, error.to_string()),
            }
        }
        self.known.insert(found.path.clone());
        if !is_wanted {
            return;
        }
        if self.processes.len() >= MOST_PROCESSES {
            return self.refuse(found, format!("{MOST_PROCESSES} processes are watched already"));
        }
        match WatchedProcess::watch(self.next_process, segment, &self.host) {
            Ok(Some(process)) => self.begin(process),
            Ok(None) => {}
            Err(error) => self.refuse(found, error.to_string()),
        }
    }

    fn refuse(&mut self, found: &Found, why: String) {
        if self.known.insert(found.path.clone()) {
            let path = found.path.display().to_string();
            self.news.push_back(News::Unwatchable(Unwatchable { path, why }));
        }
    }

    fn begin(&mut self, mut process: WatchedProcess) {
        self.next_process += 1;
        if let Some(end) = &process.end {
            // Without this its end is noticed by its files.
            let _ = self.poller.register(end, PROCESSES + u64::from(process.number), Interest::READ);
        }
        self.news.push_back(News::Appeared(process.appeared()));
        self.take_sensors(&mut process);
        self.processes.insert(process.number, process);
        self.pace.hurry();
    }

    /// Takes in sensors that are new.
    fn take_sensors(&mut self, process: &mut WatchedProcess) {
        let new: Vec<SensorInfo> = process.observer.sensors().skip(process.sensors.len()).cloned().collect();
        if new.is_empty() {
            return;
        }
        for info in new {
            let Some(number) = self.describe(&info) else {
                process.sensors.push(Watched::new(MANY, info.name, None));
                continue;
            };
            process.sensors.push(Watched::new(number, info.name, info.format));
            self.news.push_back(News::Has(Has { process: process.number, sensor: number }));
        }
        for place in 0..self.works.len() {
            let Some(work) = &self.works[place] else { continue };
            let refused = News::refused((work.query, work.version), &mut self.news);
            process.change(&mut self.works, Some(place), &[], refused);
        }
    }

    /// The number of a sensor, which is described when it is new; `None` if there are too many, whose events nobody gets.
    fn describe(&mut self, info: &SensorInfo) -> Option<u32> {
        let (name, unit, description) = (info.name.clone(), info.unit.clone(), info.description.clone());
        let (kind, format) = (kind_number(info.kind), info.format.as_ref().map(banyan_ndr::Format::id));
        let next = self.descriptions.len() as u32;
        let described = Described { name, unit, description, kind, format };
        if let Some(number) = self.descriptions.get(&described) {
            return Some(*number);
        }
        if self.descriptions.len() >= MOST_DESCRIPTIONS {
            return None;
        }
        let Described { name, unit, description, kind, .. } = &described;
        let encoded = info.format.as_ref().map(|format| format.encoded().to_vec()).unwrap_or_default();
        let told = Description {
            sensor: next,
            name: name.clone(),
            unit: unit.clone(),
            description: description.clone(),
            kind: *kind,
            format: encoded,
        };
        self.news.push_back(News::Description(told));
        self.descriptions.insert(described, next);
        Some(next)
    }

    fn drain_all(&mut self, now: Instant) {
        let begun = monotonic();
        let correction = self.correction(begun);
        let (mut most, mut changed, mut damaged) = (0, Vec::new(), Vec::new());
        for process in self.processes.values_mut() {
            match process.drain(&mut self.works, correction) {
                Ok(count) => most = most.max(count),
                Err(error) => damaged.push((process.number, error.to_string())),
            }
            if process.observer.sensors().count() > process.sensors.len() {
                changed.push(process.number);
            }
        }
        for number in changed {
            if let Some(mut process) = self.processes.remove(&number) {
                self.take_sensors(&mut process);
                self.processes.insert(number, process);
            }
        }
        damaged.into_iter().for_each(|(number, why)| self.end(number, Some(why)));
        let is_progress_wanted = now >= self.told_progress + PROGRESS;
        for work in self.works.iter_mut().flatten() {
            // What was written before the drain began has been read.
            work.pass(correction.correct(begun), correction.bound, is_progress_wanted);
        }
        if is_progress_wanted {
            self.told_progress = now;
        }
        self.pace.drained(now, most);
    }

    /// Processes whose segments are replaced, by `exec`, or gone where nothing else tells of their end.
    fn end_replaced(&mut self, found: &BTreeMap<&Path, &Found>) {
        let is_over = |process: &WatchedProcess| {
            let found = found.get(process.observer.segment().path());
            found.map_or(process.end.is_none(), |found| found.is_replaced)
        };
        let over: Vec<u32> = self.processes.values().filter(|it| is_over(it)).map(|it| it.number).collect();
        over.into_iter().for_each(|number| self.end(number, None));
    }

    /// A process has ended: its last events are read.
    fn end(&mut self, number: u32, why: Option<String>) {
        let Some(mut process) = self.processes.remove(&number) else { return };
        self.steering.forget(number);
        if why.is_none() && process.is_wanted() {
            let correction = self.correction(monotonic());
            // What cannot be read is lost, and was counted as far as it could be.
            let _ = process.drain(&mut self.works, correction);
        }
        let all: Vec<usize> = (0..self.works.len()).collect();
        process.change(&mut self.works, None, &all, |_, _| ());
        for work in self.works.iter_mut().flatten() {
            if let Doing::Query(asked) = &mut work.doing {
                asked.forget(process.pid());
            }
        }
        self.pace.hurry();
        self.news.push_back(News::Gone(Gone { process: number, why }));
    }

    /// Hands to the network what it has room for.
    fn send(&mut self) -> Result<(), TreeError> {
        self.send_news()?;
        for place in 0..self.works.len() {
            self.send_work(place)?;
        }
        match self.back_end.flush_timeout(Instant::now()) {
            Err(TreeError::TimedOut | TreeError::FrontEndBehind { .. }) => Ok(()),
            flushed => flushed,
        }
    }

    fn send_news(&mut self) -> Result<(), TreeError> {
        let Some(control) = self.control else { return Ok(()) };
        while let Some(news) = self.news.front() {
            let now = Instant::now();
            let end = &mut self.back_end;
            let sent = match news {
                News::Hello(record) => end.send_tagged_timeout(control, HELLO, record, now),
                News::Appeared(record) => end.send_tagged_timeout(control, APPEARED, record, now),
                News::Gone(record) => end.send_tagged_timeout(control, GONE, record, now),
                News::Description(record) => end.send_tagged_timeout(control, DESCRIPTION, record, now),
                News::Has(record) => end.send_tagged_timeout(control, HAS, record, now),
                News::Started(record) => end.send_tagged_timeout(control, STARTED, record, now),
                News::Entries(record) => end.send_tagged_timeout(control, ENTRIES, record, now),
                News::Refused(record) => end.send_tagged_timeout(control, REFUSED, record, now),
                News::Acks(record) => end.send_tagged_timeout(control, ACKS, record, now),
                News::Over(record) => end.send_tagged_timeout(control, OVER, record, now),
                News::Unwatchable(record) => end.send_tagged_timeout(control, UNWATCHABLE, record, now),
            };
            if !is_sent(sent)? {
                return Ok(());
            }
            self.news.pop_front();
        }
        Ok(())
    }

    fn send_work(&mut self, place: usize) -> Result<(), TreeError> {
        let Some(work) = self.works.get_mut(place).and_then(Option::as_mut) else { return Ok(()) };
        // A query whose windows are intervals ends when the observer has closed its stream.
        let is_closed = work.is_ending && self.back_end.counters(work.stream).is_none();
        if work.send(&mut self.back_end)? || is_closed {
            self.finished.extend(work.settled());
            self.works[place] = None;
            self.sum_finished();
        }
        Ok(())
    }

    /// Of versions that are long over only the sum of each query is kept.
    fn sum_finished(&mut self) {
        if self.finished.len() <= MOST_FINISHED {
            return;
        }
        let mut sums: BTreeMap<u32, Entry> = BTreeMap::new();
        for entry in self.finished.drain(..) {
            let Entry { query, version, .. } = entry;
            let nothing = || Entry { process: MANY, sensor: MANY, query, is_over: true, ..Entry::default() };
            let sum = sums.entry(query).or_insert_with(nothing);
            sum.version = sum.version.max(version);
            tally::add(sum, &entry);
        }
        self.finished.extend(sums.into_values());
    }
}

fn is_sent<T>(sent: Result<T, TreeError>) -> Result<bool, TreeError> {
    match sent {
        Ok(_) => Ok(true),
        Err(TreeError::FrontEndBehind { .. } | TreeError::TimedOut) => Ok(false),
        Err(error) => Err(error),
    }
}
