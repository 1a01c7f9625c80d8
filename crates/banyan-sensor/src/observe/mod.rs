//! Watching processes, living and dead ones.
//!
//! [`find`] lists the segments of this user on this host. A [`Segment`] that is open says whose it is and which sensors it
//! has. [`Segment::observe`] registers an [`Observer`], for which the process writes events; [`Segment::read`] looks at what
//! is there without registering: the last events of a process that has ended.
//!
//! [`Segment::knobs`] and [`Segment::actions`] list what can be steered. A [`Mailbox`] sends requests: to set a knob, or to run
//! an action.
//!
//! Nothing here can make the observed process misbehave, and nothing in a segment is believed before it is checked.
//! Counts are exact: of each watched sensor, `emitted = delivered + dropped + in flight` ([`Account`]).

mod account;
mod board;
mod find;
mod knobs;
mod mailbox;
mod observer;
mod reader;
mod rings;
mod segment;

pub use crate::cleanup::Bounds;
pub use crate::place::where_segments_go;
pub use crate::steering::Refusal;
pub use crate::steering::letter::When;
pub use account::{Account, Dropped};
pub use find::{Found, directories, find, find_in, remove_ended};
pub use knobs::{ActionInfo, Bound, KnobInfo, SetBy, ShownValue};
pub use mailbox::{Answer, Mailbox, Request, Ticket};
pub use observer::Observer;
pub use reader::{Event, Reader};
pub use segment::{Reading, Segment, SegmentError, SensorInfo};
