//! The measurements behind `banyan bench`.
//!
//! Each bench measures Banyan and what it is compared with in the same run, in turn, and gives [`Row`]s; the command
//! prints them as a table or as JSON and draws them as a plot. Rivals that cost much to build live outside the
//! workspace and use this crate to run beside the same records.

#![forbid(unsafe_code)]

mod arrays;
mod bars;
mod channel;
mod environment;
#[cfg(feature = "command")]
pub mod events;
#[cfg(feature = "records")]
pub mod exchange;
pub mod launch;
pub mod layers;
mod pace;
mod peer;
pub mod plot;
mod processes;
#[cfg(feature = "records")]
pub mod records;
mod rows;
mod stopwatch;
pub mod study;
pub mod tree;

pub use environment::{Environment, checked_out};
pub use rows::{Row, memcpy_of, nanoseconds, table, to_json};
pub use stopwatch::{Contestant, Effort, Timing, compare};
