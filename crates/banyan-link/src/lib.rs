//! Frames between two processes.
#![forbid(unsafe_code)]

mod address;
mod cipher;
mod connection;
mod counters;
mod credit;
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
mod secret;
mod slab;
mod transport;
mod unproved;

pub use address::{Address, AddressError};
pub use connection::{Connection, Event, PeerInfo};
pub use counters::Counters;
pub use error::{LinkError, OpeningError, ProtocolError, SendError};
pub use frame::{FRAME_ALIGN, Frame, HEADER_BYTES, Kind, frame_cost};
pub use link::Link;
pub use link_frame::PROTOCOL_VERSION;
pub use listener::{Listener, Refused, UNPROVED_PEERS, UNPROVED_TIME};
pub use opening::{Accepted, Opening, PeerId, Refusal, Responder, SessionId, Step};
pub use options::{Encryption, Heartbeat, INITIAL_CREDIT, LinkOptions};
pub use poller::{Interest, Poller, Ready};
pub use secret::Secret;
pub use slab::{SLAB_BYTES, Slabs};
