//! The observer's thread: it drives the network, and hands what comes to whoever waits.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use banyan_boot::RankSet;
use banyan_tree::{Network, PASS, Report, Stream, StreamOptions, Synchronisation, TreeError, Wave, Where};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::balance::balance;
use super::event::Event;
use super::feed::{Queue, Signal};
use super::known::Known;
use super::options::ObserverOptions;
use super::running::Running;
use crate::catalogue::Happening;
use crate::error::MonitorError;
use crate::job::Choice;
use crate::ledger::Ledger;
use crate::message::{
    ADD, APPEARED, Add, Appeared, Ask, CHOOSE, DESCRIPTION, Description, ENTRIES, Entries, Entry, GONE, Gone, HAS, Has,
    LEDGER, REMOVE, Remove, STARTED, Started, UNWATCHABLE, Unwatchable,
};
use crate::probe::MOST_WORKS;

/// Taps at a time: with a version that ends for each, as many as a probe has room for.
const MOST_TAPS: usize = MOST_WORKS / 2;

/// How often to look around when nothing comes.
const LOOK_AROUND: Duration = Duration::from_secs(1);

/// What is asked of the thread.
pub(super) enum Command {
    /// A new tap; the answer comes when all probes have begun.
    Tap { sensors: String, reply: Sender<Result<(u32, Arc<Queue<Event>>), MonitorError>> },
    /// A new version of one.
    Replace { query: u32, sensors: String, reply: Sender<Result<u32, MonitorError>> },
    /// A tap is dropped.
    Remove { query: u32 },
    /// What became of all events.
    Ledger { limit: Option<Instant>, reply: Sender<Result<Ledger, MonitorError>> },
    /// The observer is dropped.
    End,
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
    taps: BTreeMap<u32, Running>,
    next_query: u32,
    beginnings: Vec<Beginning>,
    askings: Vec<Asking>,
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
        control.send(CHOOSE, &choice)?;
        let hosts = network.session().hosts().map(str::to_owned).collect();
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
            taps: BTreeMap::new(),
            next_query: 1,
            beginnings: Vec::new(),
            askings: Vec::new(),
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
        self.taps.values().for_each(|tap| tap.queue.end(why.clone()));
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
        for tap in self.taps.values_mut() {
            is_more |= tap.take(&known, &self.present)?;
        }
        drop(known);
        self.see_limits();
        if !is_more {
            self.wait()?;
        }
        Ok(true)
    }

    fn wait(&self) -> Result<(), TreeError> {
        let limits = self.beginnings.iter().map(|beginning| beginning.limit);
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
                if self.taps.len() >= MOST_TAPS {
                    let _ = reply.send(Err(MonitorError::TooMany { most: MOST_TAPS }));
                    return Ok(());
                }
                let queue = match Queue::new(self.options.most_waiting, Arc::clone(&self.wake)) {
                    Ok(queue) => queue,
                    Err(error) => {
                        let _ = reply.send(Err(error));
                        return Ok(());
                    }
                };
                let query = self.next_query;
                self.next_query += 1;
                self.taps.insert(query, Running::new(Arc::clone(&queue), &self.present));
                self.begin(query, 1, sensors, move |begun| {
                    // Whoever asked may have gone; the tap goes with its handle.
                    let _ = reply.send(begun.map(|()| (query, queue)));
                })
            }
            Command::Replace { query, sensors, reply } => {
                let newest = self.taps.get(&query).and_then(Running::newest).map(|add| add.version);
                let Some(newest) = newest else { return Ok(()) };
                self.begin(query, newest + 1, sensors, move |begun| {
                    let _ = reply.send(begun.map(|()| newest + 1));
                })
            }
            Command::Remove { query } => {
                self.taps.remove(&query);
                self.beginnings.retain(|beginning| beginning.query != query);
                self.control.send(REMOVE, &Remove { query })
            }
            Command::Ledger { limit, reply } => {
                let serial = self.next_serial;
                self.next_serial += 1;
                self.askings.push(Asking { serial, missing: self.present.clone(), limit, reply });
                self.control.send(LEDGER, &Ask { serial })
            }
            Command::End => Ok(()),
        }
    }

    /// Begins with a version of a tap.
    fn begin(
        &mut self,
        query: u32,
        version: u32,
        sensors: String,
        tell: impl FnOnce(Result<(), MonitorError>) + Send + 'static,
    ) -> Result<(), TreeError> {
        let stream = self.network.open(&self.network.everyone(), without_waves())?;
        let add = Add { query, version, stream: stream.id().0, sensors };
        self.control.send(ADD, &add)?;
        if let Some(running) = self.taps.get_mut(&query) {
            running.add_version(add, stream);
        }
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
        self.taps.values_mut().for_each(|tap| tap.lose(probe));
        self.beginnings.iter_mut().for_each(|beginning| strike(&mut beginning.missing, probe));
        self.askings.iter_mut().for_each(|asking| strike(&mut asking.missing, probe));
    }

    /// Probes that are back may have missed what was said.
    fn tell_all(&mut self, probes: &RankSet) -> Result<(), TreeError> {
        self.control.send_to(probes, CHOOSE, &self.choice)?;
        for add in self.taps.values().filter_map(Running::newest) {
            self.control.send_to(probes, ADD, add)?;
        }
        Ok(())
    }

    fn hear(&mut self, wave: &Wave) -> Result<(), TreeError> {
        let Some(probe) = wave.members().only() else { return Ok(()) };
        match wave.tag() {
            APPEARED => {
                let mut told: Appeared = wave.read()?;
                // The name by which it was reached.
                told.host = self.host(probe);
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
            ENTRIES => self.hear_entries(probe, wave.read()?),
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
            let delivered = self.taps.iter().map(|(query, tap)| (*query, &tap.delivered)).collect();
            let lost = self.network.everyone().members().difference(&self.present);
            let silent = missing.union(&lost);
            let rows = balance(&self.told, &delivered, &known, &silent);
            drop(known);
            let _ = reply.send(Ok(Ledger { rows, unknown: self.names(&silent) }));
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

/// Single records, each once, whatever happens to agents.
fn without_waves() -> StreamOptions {
    StreamOptions::default().up_at(Where::Everywhere, PASS, "").synchronised(Synchronisation::None)
}

/// One of those that are waited for is not any more.
fn strike(missing: &mut RankSet, probe: u32) {
    *missing = missing.difference(&[probe].into_iter().collect());
}
