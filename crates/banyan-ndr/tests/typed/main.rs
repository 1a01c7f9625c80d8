//! Records as Rust and C programs hold them: this is what goes through `unsafe` code, and Miri runs all of it.

mod cstruct;
#[path = "../support/effort.rs"]
mod effort;
#[cfg(feature = "derive")]
mod hostile;
#[cfg(feature = "derive")]
mod memory;
#[cfg(feature = "derive")]
mod recursive;
#[cfg(feature = "derive")]
mod representations;
#[cfg(feature = "derive")]
mod round_trip;
