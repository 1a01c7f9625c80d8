//! A tree of processes that multicasts downwards and reduces upwards.
//!
//! One program talks to thousands of processes as if they were one: packets go down to the members of a stream, and what
//! the members send comes up as *waves*, combined on the way. This crate knows topologies, streams and recovery; it does
//! not know how processes are started (`banyan-boot`) or what the records mean (`banyan-ndr`).
//!
//! # Where things are
//!
//! | | |
//! | --- | --- |
//! | module [`topology`] | shapes of trees: made, read, checked, drawn |
//! | [`Node`] | a node as a state machine without clock or socket; its module tells how nothing is lost |
//! | [`Message`], [`Run`], [`Bodies`] | what nodes tell each other |
//! | [`Transformation`] | what a node does with the contributions to a wave; [`Combiners`] makes them of filters |
//! | [`FormatBook`] | the formats that a process has heard of |
//! | module [`reduce`] | reductions compiled from a text and the formats of whatever comes, and filters of one's own |
//! | module [`sim`] | a hundred thousand nodes in one process, with faults from a seed, checked against a model |

// But for filters in C.
#![deny(unsafe_code)]

mod agent;
mod back_end;
mod clocks;
mod combiner;
mod driver;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
mod first_of;
mod format_book;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod ids;
mod incoming;
mod invitation;
mod layout;
mod link_protocol;
mod message;
mod network;
mod node;
mod pending;
mod record_reader;
#[cfg(test)]
mod recordings;
mod recycled;
mod registered_filters;
mod reports;
mod run;
pub mod sim;
mod sorted;
mod stream_options;
mod synchronisation;
mod tagged;
mod transformation;
mod wire;
mod yields;

pub use agent::become_agent_if_asked;
pub use back_end::BackEnd;
pub use banyan_clock::Estimate;
pub use banyan_link::Deadline;
pub use banyan_reduce as reduce;
pub use banyan_reduce::{BadBodies, Bodies, Interval};
pub use banyan_topology as topology;
pub use clocks::{ClockAnswer, ClockId, NodeClock};
pub use combiner::Combiners;
pub use error::TreeError;
pub use format_book::{FormatBook, FormatRefused};
pub use ids::{Epoch, Level, LinkId, NodeId, StreamId, Time, WaveNumber};
pub use incoming::Incoming;
pub use invitation::Invitation;
pub use message::{
    Ancestor, Ancestry, Attach, Candidate, Gone, Message, NodeInfo, Opening, Packet, Resume, Scatter, Succession,
};
pub use network::{Background, ClockEdge, Communicator, Network, NetworkOptions, Shape, Stream, Wave};
pub use node::{
    Action, Chance, Delivery, Figures, LinkFigures, Node, NodeCounters, NodeOptions, Received, RecordCounters, Report,
    SendError, StreamCounters, Traffic,
};
pub use registered_filters::register_filters;
pub use run::Run;
pub use stream_options::{Direction, Filtering, PASS, StreamOptions, Where};
pub use synchronisation::{Synchronisation, SynchronisationError};
pub use transformation::{MissingField, Transformation, TransformationError, Transformations};
pub use yields::Yields;
