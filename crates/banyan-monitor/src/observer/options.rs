//! What can be chosen for an observer.

use std::path::PathBuf;
use std::time::Duration;

use banyan_tree::NetworkOptions;

/// What can be chosen for an observer; the defaults suit most.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObserverOptions {
    /// The hosts with programs to watch; none is this machine.
    pub hosts: Vec<String>,
    /// The directory of segments on each host, with `{host}` for the name of the host; `None`: where programs make them.
    pub segments: Option<PathBuf>,
    /// The tree between observer and hosts, and how its processes are started.
    pub network: NetworkOptions,
    /// How long probes may take to begin with a query, or to answer.
    pub patience: Duration,
    /// Events or rows of each tap or query that wait for the program at most. Beyond that probes wait with theirs, and then
    /// drop and count them.
    pub most_waiting: usize,
}

banyan_ndr::setters!(ObserverOptions { hosts: Vec<String>, network: NetworkOptions, patience: Duration, most_waiting: usize } some { segments: impl Into<PathBuf> });

impl Default for ObserverOptions {
    fn default() -> ObserverOptions {
        ObserverOptions {
            hosts: Vec::new(),
            segments: None,
            network: NetworkOptions::default(),
            patience: Duration::from_secs(10),
            most_waiting: 65_536,
        }
    }
}
