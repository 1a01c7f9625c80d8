//! What the tests have in common.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use banyan_boot::{Launcher, SessionOptions};
use banyan_monitor::{Happening, Job, Ledger, LedgerRow, Observer, ObserverOptions};
use banyan_tree::NetworkOptions;
use tempfile::TempDir;

use crate::other::OtherObserver;
use crate::program::Program;

/// Nothing here takes a third of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Hosts that this machine acts out, each with a directory for segments.
pub(crate) struct Stage {
    /// Removed with the test that made it.
    _made: Option<TempDir>,
    directory: PathBuf,
    hosts: Vec<String>,
}

impl Stage {
    pub(crate) fn new(hosts: usize) -> Stage {
        let own = Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new().permissions(own).tempdir_in("/dev/shm").unwrap();
        let hosts: Vec<String> = (0..hosts).map(|number| format!("h{number}")).collect();
        let stage = Stage { directory: directory.path().to_owned(), _made: Some(directory), hosts };
        for host in 0..stage.hosts.len() {
            std::fs::create_dir(stage.path(host)).unwrap();
            std::fs::set_permissions(stage.path(host), Permissions::from_mode(0o700)).unwrap();
        }
        stage
    }

    /// Of one host, that another process has made.
    pub(crate) fn existing(directory: &str) -> Stage {
        Stage { _made: None, directory: directory.into(), hosts: vec!["h0".into()] }
    }

    pub(crate) fn start_observer(&self) -> OtherObserver {
        OtherObserver::start(&self.directory)
    }

    pub(crate) fn path(&self, host: usize) -> PathBuf {
        self.directory.join(&self.hosts[host])
    }

    /// Starts a program on a host.
    pub(crate) fn program(&self, host: usize, rank: u32) -> Program {
        Program::start(&self.path(host), rank)
    }

    pub(crate) fn options(&self) -> ObserverOptions {
        let session = SessionOptions::default()
            .launcher(Launcher::Local)
            .deadline(PATIENCE)
            .grace(Duration::from_millis(500))
            .fanout(2)
            .agent(std::env::current_exe().unwrap());
        ObserverOptions::default()
            .hosts(self.hosts.clone())
            .segments(self.directory.join("{host}"))
            .network(NetworkOptions::default().session(session))
            .patience(PATIENCE)
    }

    pub(crate) fn observer(&self) -> Observer {
        Observer::attach(&Job::all(), &self.options()).unwrap()
    }
}

/// Waits for something to happen.
pub(crate) fn expect<T>(observer: &Observer, what: &str, is: impl Fn(&Happening) -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match observer.events().recv_timeout(deadline) {
            Ok(happening) => {
                if let Some(found) = is(&happening) {
                    return found;
                }
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

/// Waits until so many processes have a sensor of this name.
pub(crate) fn wait_for_sensors(observer: &Observer, name: &str, count: usize) {
    for number in 0..count {
        expect(observer, &format!("sensor {number} of {count}"), |happening| match happening {
            Happening::Sensor { sensor, .. } if sensor.name == name => Some(()),
            _ => None,
        });
    }
}

pub(crate) fn rows_of(ledger: &Ledger, query: u32) -> impl Iterator<Item = &LedgerRow> {
    ledger.rows.iter().filter(move |row| row.query == query)
}

pub(crate) fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

/// The ledger once nothing of a query is in flight any more.
pub(crate) fn settled(observer: &Observer, query: u32, mut take: impl FnMut()) -> Ledger {
    let end = deadline();
    loop {
        take();
        let ledger = observer.ledger(PATIENCE).unwrap();
        let totals = ledger.totals(query);
        assert!(totals.balances(), "{totals}");
        if totals.in_flight == 0 {
            return ledger;
        }
        assert!(Instant::now() < end, "{totals}\n{ledger:?}");
        std::thread::yield_now();
    }
}
