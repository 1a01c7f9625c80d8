//! Listening: connections become links only when their peers have proved themselves.
//!
//! Whoever can reach the listener may connect: scanners, strangers, peers with old secrets. None of them costs more than
//! a small, fixed amount of memory and time, and none of them is seen outside of here, but in the counts. A process of another
//! user of this host is sent away before it takes a place.
//!
//! When too many have not proved themselves yet, the next ones wait in the system's queue. Those inside that have said
//! nothing right for a moment then have to go, and a little later those who began well and said no more, which whoever has
//! recorded an opening can do. So nobody can stop others from connecting by connecting himself.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::unlink;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, getsockname, listen, sockopt};
use rustix::process::geteuid;
use tracing::debug;

use crate::address::Address;
use crate::link::{Link, encrypts};
use crate::opening::{Accepted, PeerId, Refusal, SessionId};
use crate::options::LinkOptions;
use crate::poller::{Interest, Poller, Ready};
use crate::refused::Refused;
use crate::secret::Secret;
use crate::transport::Transport;
use crate::unproved::Unproved;

/// Peers that have not proved themselves, at once.
pub const UNPROVED_PEERS: usize = 256;

/// How long each of them may take.
pub const UNPROVED_TIME: Duration = Duration::from_secs(5);

/// How long each of them may say nothing right while others wait outside.
const GRACE: Duration = Duration::from_millis(250);

/// How long one who began well may be silent then: its answer may have far to go, and processors are busy when so many come.
const PROOF_GRACE: Duration = Duration::from_secs(1);

/// How long no connection is accepted when the system has no descriptor for another connection.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);

/// Connections that may wait in the system's queue; the system may allow fewer.
const BACKLOG: i32 = 4096;

/// The listening socket's token; those of connections are their places.
const LISTENER: u64 = u64::MAX;

/// Accepts connections and lets those in who prove that they know the secret.
///
/// It is one descriptor for an event loop, however many are connecting: readable when
/// [`accept_ready`](Self::accept_ready) has something to do.
#[derive(Debug)]
pub struct Listener {
    poller: Poller,
    socket: OwnedFd,
    /// Whether new connections are taken from the system's queue.
    open: bool,
    /// The system has no descriptor for another connection; it is not asked again before then.
    closed_until: Option<Instant>,
    address: Address,
    options: LinkOptions,
    encrypt: bool,
    unproved: Vec<Option<Unproved>>,
    /// Incarnations of the peers that were let in.
    connected: HashMap<(SessionId, u32), u64>,
    refused: Refused,
}

impl Listener {
    /// Listens at an address. A TCP port of 0 lets the system choose one; the unspecified IPv6 address takes IPv4
    /// connections, too. A Unix socket in the file system is for its owner only, and removed with the listener.
    pub fn bind(address: &Address, options: &LinkOptions) -> io::Result<Listener> {
        let socket = Transport::bound(address)?;
        listen(&socket, BACKLOG)?;
        let address = match address {
            Address::Tcp(_) => Address::Tcp(getsockname(&socket)?.try_into()?),
            other => other.clone(),
        };
        let poller = Poller::new()?;
        poller.register(&socket, LISTENER, Interest::READ)?;
        Ok(Listener {
            poller,
            socket,
            open: true,
            closed_until: None,
            encrypt: encrypts(options, &address),
            address,
            options: options.clone(),
            unproved: Vec::new(),
            connected: HashMap::new(),
            refused: Refused::default(),
        })
    }

    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Goes on with everyone who has something to say, and returns those that proved themselves. `find` knows the
    /// secrets: `None` for peers that are not expected.
    pub fn accept_ready(&mut self, now: Instant, find: &mut dyn FnMut(&PeerId) -> Option<Secret>) -> Vec<Link> {
        let mut links = Vec::new();
        let mut ready = Vec::new();
        // What cannot be waited for is not ready.
        let _ = self.poller.wait(Some(Duration::ZERO), &mut ready);
        for Ready { token, .. } in ready.iter().filter(|ready| ready.token != LISTENER) {
            links.extend(self.advance(*token as usize, now, find));
        }
        self.drop_slow(now);
        self.make_room(now);
        self.accept(now, find, &mut links);
        links
    }

    /// The link with a peer has ended: it may connect again in the same incarnation.
    pub fn forget(&mut self, peer: &PeerId) {
        self.connected.remove(&(peer.session, peer.index));
    }

    /// When [`accept_ready`](Self::accept_ready) has to be called although nobody has said anything.
    pub fn timeout(&self) -> Option<Instant> {
        let full = self.count() == UNPROVED_PEERS;
        let patience = |unproved: &Unproved| if full { grace(unproved) } else { UNPROVED_TIME };
        let end = self.unproved.iter().flatten().map(|unproved| unproved.since + patience(unproved));
        end.chain(self.closed_until).min()
    }

    /// Those that were not let in so far, or since they were taken.
    pub fn refused(&self) -> Refused {
        self.refused
    }

    /// Takes the counts of those that were not let in: they begin at nothing again.
    pub fn take_refused(&mut self) -> Refused {
        std::mem::take(&mut self.refused)
    }

    /// Connections that have not proved themselves.
    fn count(&self) -> usize {
        self.unproved.iter().flatten().count()
    }

    /// Goes on with one of those.
    fn advance(&mut self, place: usize, now: Instant, find: &mut dyn FnMut(&PeerId) -> Option<Secret>) -> Option<Link> {
        let unproved = self.unproved.get_mut(place)?.as_mut()?;
        let result = unproved.advance(&self.options.slabs, find).transpose()?;
        let Unproved { socket, .. } = self.unproved[place].take()?;
        match result {
            Ok(accepted) => self.admit(socket, accepted, now),
            Err(refusal) => {
                self.count_refusal(refusal);
                None
            }
        }
    }

    /// Lets somebody in, unless it is there already.
    fn admit(&mut self, socket: OwnedFd, accepted: Accepted, now: Instant) -> Option<Link> {
        let PeerId { session, index, incarnation } = accepted.peer();
        let known = self.connected.get(&(session, index));
        if known.is_some_and(|known| incarnation <= *known) {
            debug!(address = %self.address, peer = index, "refused a peer that is connected already");
            self.refused.duplicate += 1;
            return None;
        }
        self.connected.insert((session, index), incarnation);
        // Who was never waited for is not there.
        let _ = self.poller.remove(&socket);
        Some(Link::accepted(Transport::of(&self.address, socket), accepted, &self.options, now))
    }

    fn count_refusal(&mut self, refusal: Refusal) {
        debug!(address = %self.address, ?refusal, "refused a peer");
        let count = match refusal {
            Refusal::Garbage => &mut self.refused.garbage,
            Refusal::Version => &mut self.refused.wrong_version,
            Refusal::UnknownPeer => &mut self.refused.unknown_peer,
            Refusal::Secret => &mut self.refused.wrong_secret,
            Refusal::Replay => &mut self.refused.replay,
            Refusal::Left => &mut self.refused.left,
        };
        *count += 1;
    }

    fn drop_slow(&mut self, now: Instant) {
        for place in &mut self.unproved {
            if place.as_ref().is_some_and(|unproved| now >= unproved.since + UNPROVED_TIME) {
                *place = None;
                self.refused.slow += 1;
            }
        }
    }

    /// When all places are taken and others wait outside, those go whose grace is over.
    fn make_room(&mut self, now: Instant) {
        if self.count() < UNPROVED_PEERS || !self.somebody_waits() {
            return;
        }
        for place in &mut self.unproved {
            if place.as_ref().is_some_and(|unproved| now >= unproved.since + grace(unproved)) {
                *place = None;
                self.refused.too_many += 1;
            }
        }
    }

    fn somebody_waits(&self) -> bool {
        let mut listener = [PollFd::new(&self.socket, PollFlags::IN)];
        poll(&mut listener, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// Takes connections from the system's queue while there is room, and stops or starts asking for them.
    fn accept(&mut self, now: Instant, find: &mut dyn FnMut(&PeerId) -> Option<Secret>, links: &mut Vec<Link>) {
        if self.closed_until.is_some_and(|until| now >= until) {
            self.closed_until = None;
        }
        // No more in one call than have a place: everything else here gets its turn, too.
        for _ in 0..UNPROVED_PEERS {
            if self.closed_until.is_some() || self.count() == UNPROVED_PEERS {
                break;
            }
            match accept_with(&self.socket, SocketFlags::CLOEXEC) {
                Ok(socket) => links.extend(self.enter(socket, now, find)),
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    self.closed_until = Some(now + OUT_OF_DESCRIPTORS);
                }
                Err(Errno::AGAIN) => break,
                // Gone while it waited.
                Err(_) => {}
            }
        }
        let open = self.closed_until.is_none() && self.count() < UNPROVED_PEERS;
        if open != self.open {
            let interest = Interest { readable: open, writable: false };
            self.open = open;
            // It was registered when the listener was made, and never removed.
            let _ = self.poller.modify(&self.socket, LISTENER, interest);
        }
    }

    /// A connection has come. What it has to say is often there already.
    fn enter(
        &mut self,
        socket: OwnedFd,
        now: Instant,
        find: &mut dyn FnMut(&PeerId) -> Option<Secret>,
    ) -> Option<Link> {
        if let Address::Tcp(_) = self.address {
            // Slower without, but not wrong.
            let _ = sockopt::set_tcp_nodelay(&socket, true);
        } else if !is_of_this_user(&socket) {
            debug!(address = %self.address, "refused a process of another user");
            self.refused.other_user += 1;
            return None;
        }
        let place = self.unproved.iter().position(Option::is_none).unwrap_or_else(|| {
            self.unproved.push(None);
            self.unproved.len() - 1
        });
        let registered = self.poller.register(&socket, place as u64, Interest::READ);
        self.unproved[place] = registered.is_ok().then(|| Unproved::new(socket, self.encrypt, now));
        self.advance(place, now, find)
    }
}

/// Whether the process at the other end of a socket of this host runs for the user of this one, or for root. Names of abstract
/// sockets have no owner: everyone on the host may connect, and the system knows who did.
fn is_of_this_user(socket: &OwnedFd) -> bool {
    sockopt::socket_peercred(socket).is_ok_and(|peer| peer.uid == geteuid() || peer.uid.is_root())
}

/// How long somebody may stay while others wait outside.
fn grace(unproved: &Unproved) -> Duration {
    if unproved.responder.has_shown_secret() { PROOF_GRACE } else { GRACE }
}

/// Readable when [`accept_ready`](Listener::accept_ready) has something to do.
impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.address {
            // Somebody else may have removed it.
            let _ = unlink(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_send<T: Send>() {}

    #[test]
    fn links_and_what_makes_them_may_change_threads() {
        assert_send::<Link>();
        assert_send::<Listener>();
        assert_send::<Poller>();
    }
}
