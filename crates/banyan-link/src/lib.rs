//! Frames between two processes: over Unix sockets, pipes and TCP, with proof of who is there, encryption, credit and
//! signs of life.
//!
//! ```
//! use banyan_link::{Event, Frame, Kind, Link, LinkOptions};
//!
//! const GREETING: Kind = Kind::data(16);
//!
//! // A process gives one end to a child that it starts; here both are in one.
//! let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
//! let mut parent = Link::inherited(ours.into(), &LinkOptions::inherited());
//! let mut child = Link::inherited(theirs.into(), &LinkOptions::inherited());
//!
//! parent.send(Frame::new(GREETING, 0, 1, &b"hello"[..]));
//! parent.flush(std::time::Instant::now());
//!
//! assert!(matches!(child.wait(None), Some(Event::Opened(_))));
//! let Some(Event::Frame(frame)) = child.wait(None) else { panic!("no frame") };
//! assert_eq!(&frame.payload[..], b"hello");
//! child.release(frame.cost()); // done with it: the parent may send as much again
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! **Frames** ([`Frame`]) are a header and a payload that is shared by reference count: received many at a time, viewed
//! where they arrived, forwarded without a copy. Records of `banyan-ndr` travel with their formats
//! ([`Link::send_record`], [`Link::decode`], [`Link::forward`]).
//!
//! **Credit** bounds the data that is under way: a sender minds [`Link::credit_left`], a receiver calls [`Link::release`].
//! Control frames never wait behind data. No memory grows with what a peer sends.
//!
//! **Opening**: connections that come through a [`Listener`] prove that they know a [`Secret`] before anything else is
//! parsed. Between hosts frames are encrypted.
//!
//! **Ends**: every link ends with one event, [`Event::Closed`] after a goodbye or [`Event::Lost`] with the reason.
//!
//! **Shared memory** ([`shared`]) carries small frames between a process and many that it started, beside their links.
//!
//! **Pools**: long payloads between processes of one host are not sent at all; the receiver copies them from memory that the
//! sender alone can write. Nobody has to ask for it. [`Slabs::join`] makes payloads that are in the right place from the
//! beginning.
//!
//! No threads and no runtime: [`Poller`] waits for many links, [`Link::wait`] for one. The protocol itself is
//! [`Connection`] (and [`Responder`] at the listener), which knows neither sockets nor clocks. Nothing here knows what frames
//! mean. `docs/links.md` in the repository has the bytes, the rules and the bounds.

#![deny(unsafe_code)]

mod acknowledged;
mod address;
mod arena;
mod bell;
mod capabilities;
mod cipher;
mod clock;
mod connection;
mod counters;
mod credit;
mod deadline;
mod error;
mod formats;
mod frame;
mod input;
mod link;
mod link_frame;
mod listener;
mod liveness;
mod opening;
mod options;
mod output;
mod patience;
mod poller;
mod pool;
mod protocol;
#[cfg(test)]
mod recordings;
mod refused;
mod secret;
pub mod shared;
mod slab;
mod transport;
mod unproved;

pub use address::{Address, AddressError};
pub use arena::Arena;
pub use bell::Bell;
pub use capabilities::Capabilities;
pub use clock::now;
pub use connection::{Connection, Event, PeerInfo};
pub use counters::Counters;
pub use deadline::Deadline;
pub use error::{LinkError, OpeningError, ProtocolError, SendError};
pub use formats::LONGEST_DESCRIPTION;
pub use frame::{FRAME_ALIGN, Frame, HEADER_BYTES, Kind, frame_cost};
pub use link::{Handed, Handing, Link};
pub use listener::{Listener, UNPROVED_PEERS, UNPROVED_TIME};
pub use opening::{Accepted, Opening, OpeningState, PeerId, Refusal, Responder, SessionId};
pub use options::{Encryption, Heartbeat, INITIAL_CREDIT, LinkOptions};
pub use poller::{Interest, Poller, Ready};
pub use protocol::{OtherProtocol, PROTOCOL_VERSION};
pub use refused::Refused;
pub use secret::{Secret, SecretBytes};
pub use slab::{SLAB_BYTES, Slabs};
