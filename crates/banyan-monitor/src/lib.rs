//! Watching programs that run, on one host or thousands, without being part of them.
//!
//! Programs have sensors (`banyan-sensor`) and write events into memory of their own. An [`Observer`] brings a tree of
//! processes to them: a *probe* on each host reads that memory. The programs do not wait for an observer, and do not notice
//! when one is slow, stopped or killed. Several observers watch the same programs and know nothing of each other.
//!
//! ```no_run
//! use banyan_monitor::{Job, Observer, ObserverOptions, become_probe_if_asked};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     become_probe_if_asked(); // first of all: this program is also the probe,
//!     banyan_tree::become_agent_if_asked(); // and the agent
//!     let observer = Observer::attach(&Job::all(), &ObserverOptions::default())?;
//!     let steps = observer.tap("solver.step")?;
//!     for event in steps.iter() {
//!         println!("{} rank {:?}: {:?}", event.process.host, event.process.rank, event.record()?);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # What an observer can rely on
//!
//! - Nothing is silent: the [`Ledger`] says of each sensor, process and version of a tap what became of every event.
//! - No queue grows without bound. Where there is no room, events are dropped at the probe, and counted.
//! - A tap is changed between two events: each is given by exactly one [version](Event::version).

mod catalogue;
mod error;
mod job;
mod ledger;
mod message;
mod observer;
mod probe;

pub use banyan_query::Row;
pub use catalogue::{Happening, Process, SensorInfo};
pub use error::MonitorError;
pub use job::{Job, JobError};
pub use ledger::{Ledger, REASONS, Row as LedgerRow, Totals};
pub use observer::{Acknowledgement, Change, Event, Feed, Knob, Observer, ObserverOptions, Outcome, Rows, Tap, When};
pub use probe::become_probe_if_asked;

/// The guide, whose examples must compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/watching.md")]
pub struct Guide;
