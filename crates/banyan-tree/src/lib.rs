//! A tree of processes that multicasts downwards and reduces upwards.
//!
//! One program talks to thousands of processes as if they were one. This crate knows topologies, streams, filters and
//! recovery; it does not know how processes are started (`banyan-boot`) or what the records mean (`banyan-ndr`).

#![forbid(unsafe_code)]

pub mod reduce;
pub mod topology;
