//! What every layer can do, so that all are asked the same: round trips, and messages as fast as they come.
//!
//! A message is an array of doubles, each of them its place, so that everyone can see whether it is whole. Everyone who
//! waits sleeps in a call to the system, in all layers.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use banyan_link::LinkError;
use banyan_tree::TreeError;

/// Bytes of a number.
pub(super) const NUMBER: usize = 8;

/// Why a layer did not do what it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// A socket or a process.
    #[error("{0}; look at `ulimit -n` and `ulimit -u`")]
    System(#[from] io::Error),
    /// The process at the other end.
    #[error("the process at the other end ended before it was heard of ({0}); what it said is above")]
    Ended(ExitStatus),
    /// A link.
    #[error("the link: {0}")]
    Link(#[from] LinkError),
    /// The tree.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// A way to another process and back.
pub(super) trait Path {
    /// So many round trips of a message of so many bytes, one after the other; the seconds of each.
    fn round_trips(&mut self, bytes: usize, count: u64) -> Result<Vec<f64>, Cause>;

    /// The time until so many messages have come, which the other process sends as fast as it can.
    fn messages(&mut self, bytes: usize, count: u64) -> Result<Duration, Cause>;
}

/// The message of so many bytes.
pub(super) fn message(bytes: usize) -> Vec<u8> {
    numbers(bytes).iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// The numbers of a message of so many bytes.
pub(super) fn numbers(bytes: usize) -> Vec<f64> {
    (0..bytes / NUMBER).map(|place| place as f64).collect()
}

/// A figure of a message that did not arrive is worth nothing, and nothing that this program could be told makes one.
pub(super) fn check(is_whole: bool) {
    assert!(is_whole, "a message is not what was sent: this is a bug in Banyan");
}

/// Looks whether a message of so many bytes is whole, by its end.
pub(super) fn check_bytes(received: &[u8], bytes: usize) {
    let last = received.last_chunk::<NUMBER>().map(|last| f64::from_ne_bytes(*last));
    check(received.len() == bytes && last == Some((bytes / NUMBER - 1) as f64));
}
