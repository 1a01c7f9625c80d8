//! A tree of processes that multicasts downwards and reduces upwards.
//!
//! One program talks to thousands of processes as if they were one. This crate knows topologies, streams, filters and
//! recovery; it does not know how processes are started (`banyan-boot`) or what the records mean (`banyan-ndr`).

#![forbid(unsafe_code)]

mod ids;
mod message;
mod node;
mod run;
pub mod sim;
mod transformation;

pub use ids::{Epoch, Level, LinkId, NodeId, StreamId, Time, Wave};
pub use message::{Ancestor, Ancestry, Attach, Candidate, Gone, Message, Opening, Packet, Place, Resume};
pub use node::{Action, Chance, Delivery, Node, NodeCounters, NodeOptions, Received, Report, SendError};
pub use run::{BadBodies, Bodies, Run};
pub use transformation::{Transformation, TransformationError, Transformations};
