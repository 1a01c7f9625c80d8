//! What front-end and probes tell each other. All of it travels on one stream without waves, each record with its tag.
//!
//! Events travel on a stream of their own for each version of a query.

use banyan_ndr::Record;

use crate::job::Choice;

/// Tag, down: which processes to watch; comes first. Comes with a [`Choose`].
pub(crate) const CHOOSE: u32 = 1;
/// Tag, down: [`Add`].
pub(crate) const ADD: u32 = 2;
/// Tag, down: [`Remove`].
pub(crate) const REMOVE: u32 = 3;
/// Tag, down: [`Ask`] for a ledger.
pub(crate) const LEDGER: u32 = 4;
/// Tag, down: [`Steer`].
pub(crate) const STEER: u32 = 5;
/// Tag, down: who is there? Comes with a [`Hello`] that says nothing. Up: [`Hello`].
pub(crate) const HELLO: u32 = 11;

/// Tag, up: [`Appeared`].
pub(crate) const APPEARED: u32 = 1;
/// Tag, up: [`Gone`].
pub(crate) const GONE: u32 = 2;
/// Tag, up: [`Description`].
pub(crate) const DESCRIPTION: u32 = 3;
/// Tag, up: [`Has`].
pub(crate) const HAS: u32 = 4;
/// Tag, up: [`Started`].
pub(crate) const STARTED: u32 = 5;
/// Tag, up: [`Entries`].
pub(crate) const ENTRIES: u32 = 6;
/// Tag, up: [`Unwatchable`].
pub(crate) const UNWATCHABLE: u32 = 7;
/// Tag, up: [`Refused`].
pub(crate) const REFUSED: u32 = 8;
/// Tag, up: [`Over`].
pub(crate) const OVER: u32 = 9;
/// Tag, up: [`Acks`].
pub(crate) const ACKS: u32 = 10;

/// Tag of results: [`Pieces`]. Rows have none.
pub(crate) const PIECES: u32 = 2;
/// Tag of results: this version gives nothing more; [`Over`].
pub(crate) const LAST: u32 = 3;

/// What to watch, and by which name this host is known.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Choose {
    pub(crate) choice: Choice,
    pub(crate) host: String,
    /// Another probe watches the same processes: this one has nothing to do.
    pub(crate) is_idle: bool,
}

/// Whose processes a probe sees: probes that say the same see the same.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Hello {
    pub(crate) machine: String,
}

/// A new query or tap, or a new version of one. Told again it changes nothing.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Add {
    pub(crate) query: u32,
    pub(crate) version: u32,
    /// The stream of its results.
    pub(crate) stream: u32,
    pub(crate) is_query: bool,
    /// A query; or of a tap the name of a sensor, or how names begin and a `*`.
    pub(crate) text: String,
    /// The interval that is wave 0 of its stream, if waves are intervals.
    pub(crate) base: i64,
}

/// A query is wanted no more.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Remove {
    pub(crate) query: u32,
}

/// The ledger is wanted.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Ask {
    pub(crate) serial: u64,
}

/// A process is watched from now on.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Appeared {
    /// Its number at this probe; none is used twice.
    pub(crate) process: u32,
    pub(crate) host: String,
    pub(crate) pid: u32,
    pub(crate) start_time: u64,
    pub(crate) rank: Option<u64>,
    pub(crate) ranks: Option<u64>,
    pub(crate) job: Option<String>,
    pub(crate) executable: String,
}

/// A process has ended, and all its events were read.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Gone {
    pub(crate) process: u32,
    pub(crate) why: Option<String>,
}

/// A sensor, described once for all processes that have one like it.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Description {
    /// Its number at this probe.
    pub(crate) sensor: u32,
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) description: String,
    /// As [`kind_number`] says.
    pub(crate) kind: u32,
    /// The canonical encoding; empty for those without events.
    pub(crate) format: Vec<u8>,
}

/// A process has a sensor.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Has {
    pub(crate) process: u32,
    pub(crate) sensor: u32,
}

/// A version of a query sees all events from now on.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Started {
    pub(crate) query: u32,
    pub(crate) version: u32,
}

/// A query does not fit the events of a sensor.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Refused {
    pub(crate) query: u32,
    pub(crate) version: u32,
    pub(crate) sensor: u32,
    pub(crate) why: String,
}

/// A version of a query gives nothing more; of a query with waves: for intervals from this one on.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Over {
    pub(crate) query: u32,
    pub(crate) version: u32,
    pub(crate) interval: i64,
}

/// Partial results, of windows that the observer puts together.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Pieces {
    pub(crate) pieces: Vec<PieceRecord>,
    /// Intervals before this one are over at this host.
    pub(crate) until: i64,
}

#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct PieceRecord {
    pub(crate) interval: i64,
    /// Events that are in it.
    pub(crate) events: u64,
    /// The canonical encoding.
    pub(crate) format: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

/// A process that is wanted cannot be watched.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Unwatchable {
    pub(crate) path: String,
    pub(crate) why: String,
}

/// Part of a probe's answer to [`Ask`].
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Entries {
    pub(crate) serial: u64,
    pub(crate) entries: Vec<Entry>,
    /// Nothing follows.
    pub(crate) is_last: bool,
}

/// What became of the events of one sensor of one process in one version of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Record)]
pub(crate) struct Entry {
    /// [`MANY`] for the sum of several.
    pub(crate) process: u32,
    pub(crate) sensor: u32,
    pub(crate) query: u32,
    pub(crate) version: u32,
    /// Nothing is added any more.
    pub(crate) is_over: bool,
    pub(crate) emitted: u64,
    /// Read by the probe.
    pub(crate) read: u64,
    /// As [`REASONS`](crate::ledger::REASONS) are ordered.
    pub(crate) dropped: [u64; 9],
    /// There was no room at the probe, since the observer was behind.
    pub(crate) behind: u64,
    /// The query did not want them.
    pub(crate) filtered: u64,
    /// They came when their window was closed, or could not be opened.
    pub(crate) late: u64,
    /// Their records cannot be read.
    pub(crate) failed: u64,
    /// Handed to the tree, or about to be.
    pub(crate) selected: u64,
    /// How often the process took the probe for dead.
    pub(crate) lapses: u64,
}

/// The number of no process and no sensor: it stands for several.
pub(crate) const MANY: u32 = u32::MAX;

/// Events as they were emitted: columns of equal length, but for `bodies`.
#[derive(Debug, Clone, PartialEq, Default, Record)]
pub(crate) struct Batch {
    /// No event that comes later is earlier than this.
    pub(crate) until: i64,
    /// This version of the query gives nothing more.
    pub(crate) is_last: bool,
    /// How wrong the times are at most.
    pub(crate) bound: i64,
    pub(crate) processes: Vec<u32>,
    pub(crate) sensors: Vec<u32>,
    pub(crate) threads: Vec<u32>,
    pub(crate) sequences: Vec<u64>,
    pub(crate) stamps: Vec<u64>,
    pub(crate) times: Vec<i64>,
    /// Where each body ends.
    pub(crate) ends: Vec<u32>,
    pub(crate) bodies: Vec<u8>,
}

impl Batch {
    /// The number of events, if the columns fit together.
    pub(crate) fn checked_len(&self) -> Option<usize> {
        let count = self.processes.len();
        let lengths = [
            self.sensors.len(),
            self.threads.len(),
            self.sequences.len(),
            self.stamps.len(),
            self.times.len(),
            self.ends.len(),
        ];
        let is_sorted = self.ends.is_sorted();
        let end = self.ends.last().map_or(0, |end| *end as usize);
        (lengths.iter().all(|length| *length == count) && is_sorted && end == self.bodies.len()).then_some(count)
    }
}

/// What is done with knobs, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Tell which there are.
    Look = 1,
    /// Set, or run.
    Set = 2,
    /// Hold a value until it is decided.
    Propose = 3,
    /// It is to be set.
    Commit = 4,
    /// It is not to be set.
    Cancel = 5,
}

/// A part of a change of a knob, or of running an action.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Steer {
    pub(crate) serial: u64,
    /// What belongs together: a proposal and its decision.
    pub(crate) transaction: u64,
    /// A [`Phase`].
    pub(crate) phase: u32,
    /// The name of the knob or action; empty for all.
    pub(crate) knob: String,
    pub(crate) is_action: bool,
    pub(crate) value: SteerValue,
    /// 0 at once, 1 at the next steering point, 2 at `step`.
    pub(crate) when: u32,
    pub(crate) step: u64,
    /// Milliseconds that processes may take to answer.
    pub(crate) limit: u64,
}

/// A value for a knob.
#[derive(Debug, Clone, PartialEq, Default, Record)]
pub(crate) struct SteerValue {
    pub(crate) kind: u32,
    pub(crate) integer: i64,
    pub(crate) float: f64,
    pub(crate) text: String,
}

impl SteerValue {
    pub(crate) const INTEGER: u32 = 1;
    pub(crate) const FLOAT: u32 = 2;
    pub(crate) const TRUTH: u32 = 3;
    pub(crate) const TEXT: u32 = 4;
}

/// What the processes of a host answer to a [`Steer`].
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Acks {
    pub(crate) serial: u64,
    pub(crate) acks: Vec<Ack>,
}

/// What one process answers.
#[derive(Debug, Clone, PartialEq, Default, Record)]
pub(crate) struct Ack {
    pub(crate) process: u32,
    pub(crate) knob: String,
    pub(crate) outcome: u32,
    pub(crate) step: Option<u64>,
    /// The value before, or now, as text.
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) stamp: u64,
    pub(crate) why: String,
    pub(crate) unit: String,
    pub(crate) description: String,
    pub(crate) range: String,
    pub(crate) is_read_only: bool,
}

impl Ack {
    pub(crate) const SHOWN: u32 = 1;
    pub(crate) const HELD: u32 = 2;
    pub(crate) const DONE: u32 = 3;
    pub(crate) const REFUSED: u32 = 4;
    pub(crate) const CANCELLED: u32 = 5;
    pub(crate) const MISSED: u32 = 6;
    pub(crate) const SILENT: u32 = 7;
    pub(crate) const ENDED: u32 = 8;

    pub(crate) fn of(process: u32, knob: &str) -> Ack {
        Ack { process, knob: knob.into(), ..Ack::default() }
    }
}
