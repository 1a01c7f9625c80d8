//! Sensors for programs that anyone may watch at any time.
//!
//! A program makes sensors and emits events. While nobody watches, an event costs a load and a branch. When
//! somebody does, it is written into memory that the observer maps: no daemon, no socket, no thread, no lock, no system call.
//! Observers come and go, several at once; the program never waits for one and does not notice when one is killed.
//!
//! ```
//! use banyan_sensor::{Record, Sensor};
//!
//! #[derive(Record)]
//! struct Step { n: u64, residual: f64 }
//!
//! let step = Sensor::<Step>::new("solver.step")?;
//! step.emit(&Step { n: 1, residual: 0.5 });
//! # Ok::<(), banyan_sensor::SensorError>(())
//! ```
//!
//! A program that may be steered has knobs and actions, and says when it may be interrupted:
//!
//! ```
//! use banyan_sensor::{Action, Knob, step};
//!
//! let dt = Knob::options("solver.dt", 0.5).range(1e-6..=1.0).unit("s").build()?;
//! let _checkpoint = Action::new("checkpoint", || println!("written"))?;
//! let mut time = 0.0;
//! for n in 0..100 {
//!     step(n);
//!     time += dt.get();
//! }
//! # Ok::<(), banyan_sensor::SensorError>(())
//! ```
//!
//! Whoever watches uses module [`observe`]:
//!
//! ```no_run
//! use banyan_sensor::observe::{Segment, find};
//!
//! for found in find() {
//!     let mut observer = Segment::open(&found.path)?.observe()?;
//!     observer.watch("solver.step");
//!     observer.drain(|event| println!("{} {}", event.sensor.name, event.sequence))?;
//! }
//! # Ok::<(), banyan_sensor::observe::SegmentError>(())
//! ```
//!
//! `docs/segment.md` in the repository has the layout of the memory, for other languages.
//!
//! # What a program can rely on
//!
//! - [`Sensor::emit`] never waits, unless its policy says so, and never fails.
//! - Where there can be no segment (no memory, no directory), sensors do nothing; [`status`] says why.
//! - Nothing that an observer writes can make the program misbehave. A file that is truncated, overwritten or removed makes
//!   sensors useless, and nothing else.
//! - A program that exits removes its segment, unless a sensor of it is [`always`](SensorOptions::always) written. One that is
//!   killed leaves it, until it is a day old or there are many.
//! - A knob has no value that its type and range do not allow. The program waits for an observer at a [`step`] only, and no
//!   longer than [`steering_patience`].
//! - After `fork` the child gets a segment of its own with its first event. After `exec` the new program starts afresh.

mod action;
mod cell;
mod cleanup;
mod clock;
mod error;
mod identity;
mod knob;
mod latest;
mod layout;
mod local;
mod mailbox;
mod memory;
pub mod observe;
mod payload;
mod place;
mod policy;
mod process;
mod ring;
mod segment;
mod sensor;
mod span;
mod steering;
mod sync;
mod witness;

pub use action::{Action, ActionOptions};
pub use banyan_ndr::Record;
pub use cell::{Counter, Gauge};
pub use clock::{Clock, Moment, stamp};
pub use error::SensorError;
pub use identity::Identity;
pub use knob::{Knob, KnobOptions, KnobValue, Setting};
pub use policy::Policy;
pub use process::{Status, status};
pub use sensor::{Kind, Sensor, SensorOptions, prepare_thread};
pub use span::{InSpan, Mark, Span, SpanEdge, Value};
pub use steering::{Steering, SteeringEvent, steering, steering_patience, steering_point, step};
pub use witness::{MessageStamp, witness};

/// The guide, whose examples must compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sensors.md")]
struct Guide;
