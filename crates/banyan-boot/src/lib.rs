//! Starts processes on many hosts and gives each what it needs to find the others.

#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "its drivers come next"))]
mod collective;
pub mod hostset;
#[expect(dead_code, reason = "the kinds of the session layer come with it")]
mod message;
pub mod process;
mod rankset;

pub use collective::{BadReduction, CollectiveError, Element, What};
