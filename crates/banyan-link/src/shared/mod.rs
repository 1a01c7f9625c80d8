//! Shared memory within a host: small frames between one process, the *hub*, and many others of its host, its *spokes*.
//!
//! What is for all spokes is written once, to the *board*, and one *bell* wakes all that sleep. What is for one goes to
//! a ring of its own, and what a spoke has for the hub to another. So a frame costs no system call, and a wait one.
//!
//! Sockets stay: for frames that are long or find no room here, for those that come before both sides have opened this
//! way, for formats, and to notice that the other side is gone. Each of the two ways keeps its own order. A frame
//! that a spoke sent by its socket is seen by the hub after those it had put here before; nothing else is promised about
//! frames that went different ways, so users send such frames here as do not depend on others that went there, or keep
//! one order over both: a frame that is sent *in order* says how many have gone by the socket before it, and is taken when
//! so many have been. Who reads the socket, then looks here and then takes what it has read, takes everything in order.
//!
//! Whoever maps memory that another reads can only change what is its own. Each spoke has a *place*, memory that nobody maps but
//! the hub and this spoke, and the board is read-only to all spokes. All of them write to the *signals*, in which no frame lies:
//! who spoils those makes others late, until the hub looks unasked.
//!
//! What lies in shared memory is hostile: it is copied out, then checked; positions that cannot be are an error, which
//! costs the spoke its place and nobody else anything. There are no locks, so a process that is killed in the middle of
//! a write leaves something that nobody looks at.
//!
//! [`Hub`] and [`Spoke`] never wait: drivers sleep on descriptors, beside their sockets. Where the system refuses such
//! memory, making a hub fails and there are only sockets.

mod board;
mod hub;
mod layout;
mod memory;
#[cfg(test)]
mod recordings;
mod ring;
mod spoke;
#[cfg(test)]
mod tests;

pub use hub::{Hub, Shares};
pub(crate) use memory::{TMPFS_MAGIC, sealable};
pub use ring::{SHARED_PAYLOAD, SharedError};
pub use spoke::Spoke;
