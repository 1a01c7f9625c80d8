//! Listening: connections become links only when their peers have proved themselves.
//!
//! Whoever can reach the listener may connect: scanners, strangers, peers with old secrets. None of them costs more than
//! a small, fixed amount of memory and time, and none of them is seen outside of here, but in the counts.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::address::Address;
use crate::link::Link;
use crate::opening::{PeerId, SessionId};
use crate::options::LinkOptions;
use crate::poller::Poller;
use crate::secret::Secret;

/// Peers that have not proved themselves, at once.
pub const UNPROVED_PEERS: usize = 256;

/// How long each of them may take.
pub const UNPROVED_TIME: Duration = Duration::from_secs(5);

/// Those that were not let in, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refused {
    /// Did not speak the protocol, or said nothing and went: a port scan, another program.
    pub garbage: u64,
    /// Took too long.
    pub slow: u64,
    /// Did not know the secret.
    pub wrong_secret: u64,
    /// Began well, but could not go on: somebody repeats what another one said (or a peer that died just then).
    pub replay: u64,
    /// Had to go, silent, because others were waiting.
    pub too_many: u64,
    /// Speak another version.
    pub wrong_version: u64,
    /// Named a session or peer that is not expected.
    pub unknown_peer: u64,
    /// Named a peer that is connected already and is not older.
    pub duplicate: u64,
}

/// Accepts connections and lets those in who prove that they know the secret.
#[derive(Debug)]
pub struct Listener {
    poller: Poller,
    socket: OwnedFd,
    address: Address,
    options: LinkOptions,
    refused: Refused,
    connected: HashMap<(SessionId, u32), u64>,
}

impl Listener {
    /// Listens at an address. A TCP port of 0 lets the system choose one; an unspecified IPv6 address takes IPv4
    /// connections, too.
    pub fn bind(address: &Address, options: &LinkOptions) -> io::Result<Listener> {
        let _ = (address, options);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Goes on with everyone who has something to say, and returns those that proved themselves. `find` knows the
    /// secrets: `None` for peers that are not expected.
    pub fn accept_ready(&mut self, now: Instant, find: &mut dyn FnMut(&PeerId) -> Option<Secret>) -> Vec<Link> {
        let _ = (now, find, &self.options, &self.poller, &self.connected);
        Vec::new()
    }

    /// The link with a peer has ended: it may connect again in the same incarnation.
    pub fn forget(&mut self, peer: &PeerId) {
        self.connected.remove(&(peer.session, peer.index));
    }

    /// When [`accept_ready`](Self::accept_ready) has to be called although nobody has said anything.
    pub fn timeout(&self) -> Option<Instant> {
        None
    }

    /// Those that were not let in so far.
    pub fn refused(&self) -> Refused {
        self.refused
    }
}

/// Readable when [`accept_ready`](Listener::accept_ready) has something to do.
impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
