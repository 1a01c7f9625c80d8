//! Starts processes on many hosts and gives each what it needs to find the others.

pub mod hostset;
mod rankset;

pub use hostset::{HostSet, HostSetError};
pub use rankset::{RankSet, RankSetError};
