//! The observer's thread: it drives the network, and hands what comes to whoever waits.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use banyan_boot::RankSet;
use banyan_query::{Query, QueryKind, Row};
use banyan_tree::reduce::PARTIAL;
use banyan_tree::{Interval, Network, PASS, Report, Stream, StreamOptions, Synchronisation, TreeError, Wave, Where};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::balance;
use super::event::Event;
use super::feed::{Queue, Signal};
use super::known::Known;
use super::options::ObserverOptions;
use super::rows::RowSource;
use super::running::{Running, Source};
use super::tapping::TapSource;
use crate::catalogue::Happening;
use crate::error::MonitorError;
use crate::job::Choice;
use crate::ledger::Ledger;
use crate::message::{
    ACKS, ADD, APPEARED, Ack, Acks, Add, Appeared, Ask, CHOOSE, Choose, DESCRIPTION, Description, ENTRIES, Entries,
    Entry, GONE, Gone, HAS, HELLO, Has, Hello, LEDGER, OVER, Over, REFUSED, REMOVE, Refused, Remove, STARTED, STEER,
    Started, Steer, UNWATCHABLE, Unwatchable,
};
use crate::probe::MOST_WORKS;
use crate::probe::asked::Way;
use crate::probe::time::monotonic;

/// Queries and taps at a time: with a version that ends for each, as many as a probe has room for.
const MOST_QUERIES: usize = MOST_WORKS / 2;

/// Events that were in rings when a query began may be so old, in nanoseconds.
const BEFORE: i64 = 2_000_000_000;

/// How often to look around when nothing comes.
const LOOK_AROUND: Duration = Duration::from_secs(1);

/// A query or tap that has begun: its number, and where its rows or events come.
pub(super) type Begun<T> = Result<(u32, Arc<Queue<T>>), MonitorError>;

/// What is asked of the thread.
pub(super) enum Command {
    /// A new tap; the answer comes when all probes have begun.
    Tap { sensors: String, reply: Sender<Begun<Event>> },
    /// A new query.
    Query { query: Query, reply: Sender<Begun<Row>> },
    /// A new version of either.
    Replace { query: u32, text: String, reply: Sender<Result<u32, MonitorError>> },
    /// A tap is dropped.
    Remove { query: u32 },
    /// What became of all events.
    Ledger { limit: Option<Instant>, reply: Sender<Result<Ledger, MonitorError>> },
    /// Something for knobs of all processes. Each probe's answers are passed on; the last word is which probes are silent.
    Steer { steer: Steer, until: Instant, reply: Sender<Steered> },
    /// The observer is dropped.
    End,
}

/// What a probe has answered; or, at the end, the hosts of those that have not.
pub(super) type Steered = Result<(u32, Vec<Ack>), Vec<String>>;

/// Waits for what all probes answer to a request for knobs.
struct AwaitedAcks {
    serial: u64,
    missing: RankSet,
    /// Hosts whose probes were lost meanwhile.
    lost: Vec<String>,
    limit: Instant,
    reply: Sender<Steered>,
}

/// Waits until all probes have begun with a version.
struct Beginning {
    query: u32,
    version: u32,
    missing: RankSet,
    limit: Instant,
    tell: Box<dyn FnOnce(Result<(), MonitorError>) + Send>,
}

/// Waits for the ledgers of all probes.
struct Asking {
    serial: u64,
    missing: RankSet,
    limit: Option<Instant>,
    reply: Sender<Result<Ledger, MonitorError>>,
}

/// The last ledger of a probe.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) entries: Vec<Entry>,
    coming: Vec<Entry>,
}

pub(super) struct Worker {
    network: Network,
    control: Stream,
    hosts: Vec<String>,
    choice: Choice,
    options: ObserverOptions,
    commands: Receiver<Command>,
    wake: Arc<Signal>,
    known: Arc<Mutex<Known>>,
    happenings: Arc<Queue<Happening>>,
    lost_happenings: u64,
    present: RankSet,
    /// Probes whose processes others watch.
    doubles: RankSet,
    running: BTreeMap<u32, Running>,
    next_query: u32,
    beginnings: Vec<Beginning>,
    askings: Vec<Asking>,
    steerings: Vec<AwaitedAcks>,
    next_serial: u64,
    told: BTreeMap<u32, Told>,
}

/// What thread and observer share.
pub(super) struct Shared {
    pub(super) commands: Receiver<Command>,
    pub(super) wake: Arc<Signal>,
    pub(super) known: Arc<Mutex<Known>>,
    pub(super) happenings: Arc<Queue<Happening>>,
}

impl Worker {
    pub(super) fn new(
        network: Network,
        choice: Choice,
        options: ObserverOptions,
        shared: Shared,
    ) -> Result<Worker, MonitorError> {
        let control = network.open(&network.everyone(), without_waves())?;
        let hosts: Vec<String> = network.session().hosts().map(str::to_owned).collect();
        let doubles = doubles(&network, &control, options.patience)?;
        let choose = |(probe, host): (u32, &String)| Choose {
            choice: choice.clone(),
            host: host.clone(),
            is_idle: doubles.contains(probe),
        };
        control.scatter(CHOOSE, &(0..).zip(&hosts).map(choose).collect::<Vec<_>>())?;
        let present = network.members();
        let Shared { commands, wake, known, happenings } = shared;
        Ok(Worker {
            network,
            control,
            hosts,
            choice,
            options,
            commands,
            wake,
            known,
            happenings,
            lost_happenings: 0,
            present,
            doubles,
            running: BTreeMap::new(),
            next_query: 1,
            beginnings: Vec::new(),
            askings: Vec::new(),
            steerings: Vec::new(),
            next_serial: 1,
            told: BTreeMap::new(),
        })
    }

    /// Works until the observer is dropped, or its network ends.
    pub(super) fn run(mut self) {
        let why = loop {
            match self.turn() {
                Ok(true) => {}
                Ok(false) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        self.running.values().for_each(|running| running.source.end(why.clone()));
        self.happenings.end(why);
    }

    fn turn(&mut self) -> Result<bool, TreeError> {
        self.wake.clear();
        loop {
            match self.commands.try_recv() {
                Ok(Command::End) | Err(TryRecvError::Disconnected) => return Ok(false),
                Ok(command) => self.obey(command)?,
                Err(TryRecvError::Empty) => break,
            }
        }
        self.take_reports()?;
        while let Some(wave) = self.control.try_recv()? {
            self.hear(&wave)?;
        }
        let mut is_more = false;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut troubles = Vec::new();
        for (query, running) in &mut self.running {
            is_more |= running.take(&known, &self.present, |why| troubles.push((*query, why)))?;
        }
        drop(known);
        troubles.into_iter().for_each(|(query, why)| self.happen(Happening::Trouble { query, why }));
        self.see_limits();
        self.see_steerings();
        if !is_more {
            self.wait()?;
        }
        Ok(true)
    }

    fn wait(&self) -> Result<(), TreeError> {
        let limits = self.beginnings.iter().map(|beginning| beginning.limit);
        let limits = limits.chain(self.steerings.iter().map(|steering| steering.limit));
        let limits = limits.chain(self.askings.iter().filter_map(|asking| asking.limit));
        let now = Instant::now();
        let timeout = limits.min().map_or(LOOK_AROUND, |limit| limit.saturating_duration_since(now).min(LOOK_AROUND));
        let timeout = Timespec::try_from(timeout).unwrap_or_default();
        let mut fds = [PollFd::new(&self.network, PollFlags::IN), PollFd::new(&*self.wake, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(std::io::Error::from(error).into()),
        }
    }

    fn obey(&mut self, command: Command) -> Result<(), TreeError> {
        match command {
            Command::Tap { sensors, reply } => {
                let made =
                    self.queue().map(|queue| (Source::Tap(TapSource::new(Arc::clone(&queue), &self.present)), queue));
                self.start(sensors, made, reply)
            }
            Command::Query { query, reply } => {
                let made = self.queue();
                let made = made.map(|queue| (Source::Rows(Box::new(RowSource::new(Arc::clone(&queue)))), queue));
                self.start(query.to_string(), made, reply)
            }
            Command::Replace { query, text, reply } => {
                let newest = self.running.get(&query).and_then(Running::newest).map(|add| add.version);
                let Some(newest) = newest else { return Ok(()) };
                self.begin(query, newest + 1, text, move |begun| {
                    let _ = reply.send(begun.map(|()| newest + 1));
                })
            }
            Command::Remove { query } => {
                self.running.remove(&query);
                self.beginnings.retain(|beginning| beginning.query != query);
                self.control.send(REMOVE, &Remove { query })
            }
            Command::Ledger { limit, reply } => {
                let serial = self.next_serial;
                self.next_serial += 1;
                self.askings.push(Asking { serial, missing: self.present.clone(), limit, reply });
                self.control.send(LEDGER, &Ask { serial })
            }
            Command::Steer { steer, until, reply } => {
                let serial = self.next_serial;
                self.next_serial += 1;
                self.steerings.push(AwaitedAcks {
                    serial,
                    missing: self.present.clone(),
                    lost: Vec::new(),
                    limit: until,
                    reply,
                });
                self.control.send(STEER, &Steer { serial, ..steer })
            }
            Command::End => Ok(()),
        }
    }

    fn queue<T>(&self) -> Result<Arc<Queue<T>>, MonitorError> {
        if self.running.len() >= MOST_QUERIES {
            return Err(MonitorError::TooMany { most: MOST_QUERIES });
        }
        Queue::new(self.options.most_waiting, Arc::clone(&self.wake))
    }

    /// Begins with a query or tap.
    fn start<T: Send + 'static>(
        &mut self,
        text: String,
        made: Result<(Source, Arc<Queue<T>>), MonitorError>,
        reply: Sender<Begun<T>>,
    ) -> Result<(), TreeError> {
        let (source, queue) = match made {
            Ok(made) => made,
            Err(error) => {
                let _ = reply.send(Err(error));
                return Ok(());
            }
        };
        let query = self.next_query;
        self.next_query += 1;
        self.running.insert(query, Running::new(source));
        self.begin(query, 1, text, move |begun| {
            // Whoever asked may have gone; the query goes with its handle.
            let _ = reply.send(begun.map(|()| (query, queue)));
        })
    }

    /// Begins with a version of a query or tap.
    fn begin(
        &mut self,
        query: u32,
        version: u32,
        text: String,
        tell: impl FnOnce(Result<(), MonitorError>) + Send + 'static,
    ) -> Result<(), TreeError> {
        let Some(running) = self.running.get_mut(&query) else { return Ok(()) };
        let is_query = matches!(running.source, Source::Rows(_));
        let (options, base) = match text.parse::<Query>() {
            Ok(parsed) if is_query => stream_of(&parsed),
            _ => (without_waves(), 0),
        };
        let stream = self.network.open(&self.network.everyone(), options)?;
        let add = Add { query, version, stream: stream.id().0, is_query, text, base };
        self.control.send(ADD, &add)?;
        running.add_version(add, stream, &self.present);
        let (missing, limit) = (self.present.clone(), Instant::now() + self.options.patience);
        self.beginnings.push(Beginning { query, version, missing, limit, tell: Box::new(tell) });
        Ok(())
    }

    fn take_reports(&mut self) -> Result<(), TreeError> {
        while let Some(report) = self.network.try_recv_event()? {
            match report {
                Report::Lost(members) => {
                    self.present = self.present.difference(&members);
                    members.iter().for_each(|probe| self.lose(probe));
                    self.happen(Happening::ProbesLost(self.names(&members)));
                }
                Report::Joined(members) => {
                    let back = members.difference(&self.present);
                    self.present = self.present.union(&members);
                    if !back.is_empty() {
                        self.tell_all(&back)?;
                        self.happen(Happening::ProbesBack(self.names(&back)));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn lose(&mut self, probe: u32) {
        self.running.values_mut().for_each(|running| running.lose(probe));
        self.beginnings.iter_mut().for_each(|beginning| strike(&mut beginning.missing, probe));
        self.askings.iter_mut().for_each(|asking| strike(&mut asking.missing, probe));
        let host = self.host(probe);
        for steering in self.steerings.iter_mut().filter(|steering| steering.missing.contains(probe)) {
            strike(&mut steering.missing, probe);
            steering.lost.push(host.clone());
        }
    }

    /// Probes that are back may have missed what was said.
    fn tell_all(&mut self, probes: &RankSet) -> Result<(), TreeError> {
        for probe in probes.iter() {
            let is_idle = self.doubles.contains(probe);
            let choose = Choose { choice: self.choice.clone(), host: self.host(probe), is_idle };
            self.control.send_to(&[probe].into_iter().collect(), CHOOSE, &choose)?;
        }
        for add in self.running.values().filter_map(Running::newest) {
            self.control.send_to(probes, ADD, add)?;
        }
        Ok(())
    }

    fn hear(&mut self, wave: &Wave) -> Result<(), TreeError> {
        let Some(probe) = wave.members().only() else { return Ok(()) };
        match wave.tag() {
            APPEARED => {
                let told: Appeared = wave.read()?;
                let process = self.known().appeared(probe, told);
                self.happen(Happening::Appeared(process));
            }
            GONE => {
                let Gone { process, why } = wave.read()?;
                let ended = self.known().ended(probe, process);
                if let Some(process) = ended {
                    self.happen(match why {
                        None => Happening::Ended(process),
                        Some(why) => Happening::Unwatchable {
                            host: process.host.clone(),
                            path: format!("process {}", process.pid),
                            why,
                        },
                    });
                }
            }
            DESCRIPTION => {
                let description: Description = wave.read()?;
                self.known().described(probe, description);
            }
            HAS => {
                let has: Has = wave.read()?;
                let both = self.known().has(probe, &has);
                if let Some((process, sensor)) = both {
                    self.happen(Happening::Sensor { process, sensor });
                }
            }
            STARTED => {
                let Started { query, version } = wave.read()?;
                let begun = self.beginnings.iter_mut().filter(|it| (it.query, it.version) == (query, version));
                begun.for_each(|beginning| strike(&mut beginning.missing, probe));
            }
            ACKS => {
                let Acks { serial, acks } = wave.read()?;
                if let Some(steering) = self.steerings.iter_mut().find(|steering| steering.serial == serial) {
                    strike(&mut steering.missing, probe);
                    // Whoever asked may have gone.
                    let _ = steering.reply.send(Ok((probe, acks)));
                }
            }
            ENTRIES => self.hear_entries(probe, wave.read()?),
            REFUSED => {
                let Refused { query, version, sensor, why } = wave.read()?;
                let sensor = self.known().sensor(probe, sensor);
                let sensor = sensor.map(|sensor| sensor.name.clone()).unwrap_or_default();
                self.happen(Happening::Refused { query, version, host: self.host(probe), sensor, why });
            }
            OVER => {
                let over: Over = wave.read()?;
                self.running.get_mut(&over.query).into_iter().for_each(|running| running.over(probe, &over));
            }
            UNWATCHABLE => {
                let Unwatchable { path, why } = wave.read()?;
                self.happen(Happening::Unwatchable { host: self.host(probe), path, why });
            }
            // Of a later release.
            _ => {}
        }
        Ok(())
    }

    fn hear_entries(&mut self, probe: u32, told: Entries) {
        let Entries { serial, entries, is_last } = told;
        let known = self.told.entry(probe).or_default();
        known.coming.extend(entries);
        if is_last {
            known.entries = std::mem::take(&mut known.coming);
            let asked = self.askings.iter_mut().filter(|asking| asking.serial <= serial);
            asked.for_each(|asking| strike(&mut asking.missing, probe));
        }
    }

    /// Answers whoever waits, when all probes have answered or the limit is over.
    fn see_limits(&mut self) {
        let now = Instant::now();
        let is_due = |beginning: &mut Beginning| beginning.missing.is_empty() || beginning.limit <= now;
        let due: Vec<Beginning> = self.beginnings.extract_if(.., is_due).collect();
        for Beginning { missing, tell, .. } in due {
            let hosts = self.names(&missing);
            tell(if hosts.is_empty() { Ok(()) } else { Err(MonitorError::Silent { hosts }) });
        }
        let is_due = |asking: &mut Asking| asking.missing.is_empty() || asking.limit.is_some_and(|limit| limit <= now);
        let due: Vec<Asking> = self.askings.extract_if(.., is_due).collect();
        for Asking { missing, reply, .. } in due {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let queries = self.running.keys().copied().collect();
            let delivered = self
                .running
                .iter()
                .flat_map(|(query, running)| running.delivered().map(|(version, count)| ((*query, version), count)));
            let delivered = delivered.collect();
            let lost = self.network.everyone().members().difference(&self.present);
            let silent = missing.union(&lost);
            let rows = balance::rows(&self.told, &queries, &known, &silent);
            drop(known);
            let _ = reply.send(Ok(Ledger { rows, delivered, unknown: self.names(&silent) }));
        }
    }

    /// Says who is silent to those whose requests for knobs are answered, or have waited long enough.
    fn see_steerings(&mut self) {
        let now = Instant::now();
        let is_due = |steering: &mut AwaitedAcks| steering.missing.is_empty() || steering.limit <= now;
        let due: Vec<AwaitedAcks> = self.steerings.extract_if(.., is_due).collect();
        for AwaitedAcks { missing, mut lost, reply, .. } in due {
            lost.extend(self.names(&missing));
            let _ = reply.send(Err(lost));
        }
    }

    fn happen(&mut self, happening: Happening) {
        self.lost_happenings += self.happenings.drop_oldest() as u64;
        if self.lost_happenings > 0 {
            let dropped = Happening::Dropped(std::mem::take(&mut self.lost_happenings));
            self.happenings.extend([dropped]);
        }
        self.happenings.extend([happening]);
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn host(&self, probe: u32) -> String {
        self.hosts.get(probe as usize).cloned().unwrap_or_default()
    }

    fn names(&self, probes: &RankSet) -> Vec<String> {
        probes.iter().map(|probe| self.host(probe)).collect()
    }
}

/// How results of a query travel, and which interval is wave 0.
fn stream_of(query: &Query) -> (StreamOptions, i64) {
    match query.kind() {
        QueryKind::Windows(windows) if Way::of(query) == Way::Intervals => {
            let base = windows.first_from(monotonic().saturating_sub(BEFORE));
            // Probes say which interval a record is of; the field is not looked at.
            let interval = Interval::new("time", 1.0, 0.0).map_or(Synchronisation::All, Synchronisation::Interval);
            (StreamOptions::filter(PARTIAL, &windows.specification.to_string()).synchronised(interval), base)
        }
        _ => (without_waves(), 0),
    }
}

/// Single records, each once, whatever happens to agents.
fn without_waves() -> StreamOptions {
    StreamOptions::default().up_at(Where::Everywhere, PASS, "").synchronised(Synchronisation::None)
}

/// Probes that see what another one sees: several names may be those of one machine. Its processes are watched once.
fn doubles(network: &Network, control: &Stream, patience: Duration) -> Result<RankSet, MonitorError> {
    control.send(HELLO, &Hello { machine: String::new() })?;
    let until = Instant::now() + patience;
    let mut machines: BTreeMap<String, RankSet> = BTreeMap::new();
    let mut heard = RankSet::new();
    while !network.members().difference(&heard).is_empty() {
        let wave = match control.recv_timeout(until) {
            Err(TreeError::TimedOut) => break,
            wave => wave?,
        };
        let Some(probe) = wave.members().only() else { continue };
        let Hello { machine } = wave.read()?;
        heard.insert(probe);
        machines.entry(machine).or_default().insert(probe);
    }
    // The first of them watches, whoever answered first.
    Ok(machines.values().flat_map(|probes| probes.iter().skip(1)).collect())
}

/// One of those that are waited for is not any more.
fn strike(missing: &mut RankSet, probe: u32) {
    *missing = missing.difference(&[probe].into_iter().collect());
}
