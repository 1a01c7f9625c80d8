//! Processes and sensors, as an observer knows them.

use banyan_ndr::Format;
use banyan_sensor::Kind;

/// A process that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Process {
    /// Its host.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// When it started, in clock ticks since the boot of its host.
    pub start_time: u64,
    /// Its rank, where its environment says it.
    pub rank: Option<u64>,
    /// How many ranks there are, where its environment says it.
    pub ranks: Option<u64>,
    /// Its job, where its environment says it.
    pub job: Option<String>,
    /// Its program.
    pub executable: String,
    /// The rank of its probe, which is the number of its host.
    pub probe: u32,
}

/// A sensor that processes have.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SensorInfo {
    /// Its name.
    pub name: String,
    /// The unit of what it measures; may be empty.
    pub unit: String,
    /// What its events mean; may be empty.
    pub description: String,
    /// What it has.
    pub kind: Kind,
    /// The format of its events; counters and gauges have none.
    pub format: Option<Format>,
}

/// The number of a kind in messages.
pub(crate) fn kind_number(kind: Kind) -> u32 {
    kind as u32
}

/// As with the number; an unknown one is an event.
pub(crate) fn kind_of(number: u32) -> Kind {
    let all = [Kind::Event, Kind::Span, Kind::Counter, Kind::Gauge];
    all.into_iter().find(|kind| kind_number(*kind) == number).unwrap_or(Kind::Event)
}

/// What happens to what is watched.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Happening {
    /// A process is watched from now on.
    Appeared(std::sync::Arc<Process>),
    /// A process has ended, and its events were read to the last. Some of them may still be on their way.
    Ended(std::sync::Arc<Process>),
    /// A process has a sensor.
    Sensor {
        /// The process.
        process: std::sync::Arc<Process>,
        /// The sensor.
        sensor: std::sync::Arc<SensorInfo>,
    },
    /// A process that is wanted cannot be watched.
    Unwatchable {
        /// Its host.
        host: String,
        /// Its segment.
        path: String,
        /// Why.
        why: String,
    },
    /// A query does not fit the events of a sensor, as some processes of a host have it. Their events are not in its rows.
    Refused {
        /// The number of the query.
        query: u32,
        /// Its version.
        version: u32,
        /// The host.
        host: String,
        /// The name of the sensor.
        sensor: String,
        /// Why, with the place in the text of the query.
        why: String,
    },
    /// Something that came of a query could not be used. The events in it are missing in its rows.
    Trouble {
        /// The number of the query.
        query: u32,
        /// Why.
        why: String,
    },
    /// The probes on these hosts are lost: their programs go on, and nobody watches them for this observer.
    ProbesLost(Vec<String>),
    /// The probes on these hosts are back.
    ProbesBack(Vec<String>),
    /// So many happenings before the next one are gone, because nobody took them in time.
    Dropped(u64),
}
