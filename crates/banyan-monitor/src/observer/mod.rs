//! The observer: attaches to a job, and gives what its programs emit.

mod balance;
mod event;
mod feed;
mod known;
mod options;
mod order;
mod rows;
mod running;
mod steering;
mod tapping;
mod worker;

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use banyan_boot::ProcessDistribution;
use banyan_link::Deadline;
use banyan_query::{Query, Row};
use banyan_tree::Network;

pub use event::Event;
pub use feed::Feed;
use feed::{Queue, Signal};
use known::Known;
pub use options::ObserverOptions;
pub use steering::{Acknowledgement, Change, Knob, Outcome, When};
use worker::{Command, Shared, Worker};

use crate::catalogue::{Happening, Process, SensorInfo};
use crate::error::MonitorError;
use crate::job::Job;
use crate::ledger::Ledger;
use crate::probe::ROLE;

/// The program on every host: whatever the agent there is.
const SAME_PROGRAM: &str = "/proc/self/exe";

/// What this machine is called where no hosts are named.
const LOCALHOST: &str = "localhost";

/// Names the directory of segments.
const SEGMENTS: &str = "BANYAN_SENSOR_DIR";

/// Happenings that wait for the program at most; the oldest are dropped, and counted.
const MOST_HAPPENINGS: usize = 4096;

/// Watches the programs of a job. See the crate.
///
/// A thread of its own takes what comes, so the program may compute for long. Dropping it ends its probes and agents.
pub struct Observer {
    commands: Sender<Command>,
    wake: Arc<Signal>,
    known: Arc<Mutex<Known>>,
    happenings: Feed<Happening>,
    /// How long probes may take to answer, beyond what they wait for.
    patience: Duration,
    transactions: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

impl Observer {
    /// Starts a probe on each host, and watches the processes of a job there: those that run, and those that will.
    ///
    /// The observer's own program is the probe: its `main` begins with [`become_probe_if_asked`](crate::become_probe_if_asked)
    /// and [`become_agent_if_asked`](banyan_tree::become_agent_if_asked).
    ///
    /// # Errors
    /// When a probe cannot be started.
    pub fn attach(job: &Job, options: &ObserverOptions) -> Result<Observer, MonitorError> {
        let network = Network::launch_several(&distributions(options), &options.network)?;
        let (commands, received) = channel();
        let wake = Arc::new(Signal::new()?);
        let known = Arc::new(Mutex::new(Known::default()));
        let happenings = Queue::new(MOST_HAPPENINGS, Arc::clone(&wake))?;
        let shared = Shared {
            commands: received,
            wake: Arc::clone(&wake),
            known: Arc::clone(&known),
            happenings: Arc::clone(&happenings),
        };
        let worker = Worker::new(network, job.choice().clone(), options.clone(), shared)?;
        let thread = std::thread::Builder::new().name("banyan-observer".into()).spawn(move || worker.run())?;
        Ok(Observer {
            commands,
            wake,
            known,
            happenings: Feed::new(happenings),
            patience: options.patience,
            transactions: AtomicU64::new(1),
            thread: Some(thread),
        })
    }

    /// The processes that are watched now.
    pub fn processes(&self) -> Vec<Arc<Process>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).running()
    }

    /// The sensors of these processes, each once, by name.
    pub fn sensors(&self) -> Vec<Arc<SensorInfo>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).sensors()
    }

    /// What happens to what is watched: processes appear and end, sensors appear, probes are lost.
    pub fn events(&self) -> &Feed<Happening> {
        &self.happenings
    }

    /// Every event of the sensors of this name, as it was emitted. A name that ends in `*` stands for all that begin so.
    ///
    /// When this returns, all probes watch these sensors. Events come by corrected time: one that comes is not earlier than those
    /// before it, unless more wait to be ordered than there is memory for.
    ///
    /// # Errors
    /// When some probes do not answer ([`ObserverOptions::patience`]), or the observer has ended.
    pub fn tap(&self, sensors: &str) -> Result<Tap, MonitorError> {
        let (reply, answer) = channel();
        let sensors = sensors.to_owned();
        self.ask(Command::Tap { sensors, reply })?;
        let (query, queue) = answer.recv().map_err(|_| MonitorError::Ended(None))??;
        let (commands, wake) = (self.commands.clone(), Arc::clone(&self.wake));
        Ok(Tap { feed: Feed::new(queue), handle: Handle { query, commands, wake } })
    }

    /// Asks about events, in the language of [`banyan_query`]. When this returns, all probes evaluate it.
    ///
    /// Whether the query fits the formats of sensors shows when these are known: [`Happening::Refused`] names those that it does
    /// not fit. The rows are of the others.
    ///
    /// ```no_run
    /// # fn watch(observer: &banyan_monitor::Observer) -> Result<(), banyan_monitor::MonitorError> {
    /// let rows = observer.query("select max(residual), count() from solver.step group by host every 1s")?;
    /// for row in rows.iter() {
    ///     println!("{}", row.to_json());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the text is not a query, some probes do not answer ([`ObserverOptions::patience`]), or the observer has ended.
    pub fn query(&self, text: &str) -> Result<Rows, MonitorError> {
        let query: Query = text.parse()?;
        let (reply, answer) = channel();
        self.ask(Command::Query { query, reply })?;
        let (query, queue) = answer.recv().map_err(|_| MonitorError::Ended(None))??;
        let (commands, wake) = (self.commands.clone(), Arc::clone(&self.wake));
        Ok(Rows { feed: Feed::new(queue), handle: Handle { query, commands, wake } })
    }

    /// What became of all events. Waits for the probes no longer than the limit; the ledger says whose answers are missing.
    ///
    /// # Errors
    /// When the observer has ended.
    pub fn ledger(&self, limit: impl Into<Deadline>) -> Result<Ledger, MonitorError> {
        let (reply, answer) = channel();
        self.ask(Command::Ledger { limit: limit.into().instant(), reply })?;
        answer.recv().map_err(|_| MonitorError::Ended(None))?
    }

    fn process(&self, probe: u32, number: u32) -> Option<Arc<Process>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).process(probe, number)
    }

    fn next_transaction(&self) -> u64 {
        self.transactions.fetch_add(1, Ordering::Relaxed)
    }

    fn ask(&self, command: Command) -> Result<(), MonitorError> {
        ask(&self.commands, &self.wake, command)
    }
}

fn ask(commands: &Sender<Command>, wake: &Signal, command: Command) -> Result<(), MonitorError> {
    commands.send(command).map_err(|_| MonitorError::Ended(None))?;
    wake.set();
    Ok(())
}

/// A probe for each host.
fn distributions(options: &ObserverOptions) -> Vec<ProcessDistribution> {
    let probe = || ProcessDistribution::new(SAME_PROGRAM, [ROLE]);
    let local = [LOCALHOST.to_owned()];
    let hosts = if options.hosts.is_empty() { &local[..] } else { &options.hosts[..] };
    match &options.segments {
        Some(path) => {
            let on = |host: &String| {
                let path = path.to_string_lossy().replace("{host}", host);
                probe().env(SEGMENTS, path).on(host.clone(), 1)
            };
            hosts.iter().map(on).collect()
        }
        None => vec![hosts.iter().fold(probe(), |probe, host| probe.on(host.clone(), 1))],
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        // A thread that has ended needs not be told.
        let _ = self.ask(Command::End);
        if let Some(thread) = self.thread.take() {
            // If it panicked, that was said where it happened.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}

/// A query or tap that runs. It ends with this.
#[derive(Debug)]
struct Handle {
    query: u32,
    commands: Sender<Command>,
    wake: Arc<Signal>,
}

impl Handle {
    fn replace(&self, text: String) -> Result<u32, MonitorError> {
        let (reply, answer) = channel();
        ask(&self.commands, &self.wake, Command::Replace { query: self.query, text, reply })?;
        answer.recv().map_err(|_| MonitorError::Ended(None))?
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // An observer that has ended has no queries.
        let _ = ask(&self.commands, &self.wake, Command::Remove { query: self.query });
    }
}

/// Events of some sensors, as they were emitted. Dropping it ends it; others are not disturbed.
#[derive(Debug)]
pub struct Tap {
    feed: Feed<Event>,
    handle: Handle,
}

impl Tap {
    /// Its number, as it is in the [ledger](Observer::ledger).
    pub fn number(&self) -> u32 {
        self.handle.query
    }

    /// Watches other sensors from now on, in the next version of this tap. Returns its number. Every event is given by one
    /// version: those of the old one come first.
    ///
    /// # Errors
    /// When some probes do not answer, or the observer has ended.
    pub fn replace(&self, sensors: &str) -> Result<u32, MonitorError> {
        self.handle.replace(sensors.to_owned())
    }
}

impl Deref for Tap {
    type Target = Feed<Event>;

    fn deref(&self) -> &Feed<Event> {
        &self.feed
    }
}

/// The rows of a query. Dropping it ends the query; others are not disturbed.
#[derive(Debug)]
pub struct Rows {
    feed: Feed<Row>,
    handle: Handle,
}

impl Rows {
    /// The number of the query, as it is in the [ledger](Observer::ledger) and in happenings.
    pub fn number(&self) -> u32 {
        self.handle.query
    }

    /// Asks something else from now on, in the next version of this query. Returns its number. No event is evaluated by two
    /// versions: windows that have begun end, and rows of the old version come first. [`Row::version`] says which made a row.
    ///
    /// # Errors
    /// When the text is not a query, some probes do not answer, or the observer has ended.
    pub fn replace(&self, text: &str) -> Result<u32, MonitorError> {
        let query: Query = text.parse()?;
        self.handle.replace(query.to_string())
    }
}

impl Deref for Rows {
    type Target = Feed<Row>;

    fn deref(&self) -> &Feed<Row> {
        &self.feed
    }
}
