//! Starts processes on many hosts and gives each what it needs to find the others.

pub mod hostset;

pub use hostset::{HostSet, HostSetError};
