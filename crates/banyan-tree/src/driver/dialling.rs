//! Dialling another node: at one of its addresses after the other.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use banyan_boot::{ExtensionControl, local_addresses};
use banyan_link::{Address, Link, Opening, PeerId};

use super::Driver;
use super::tree_link::TreeLink;
use crate::ids::{LinkId, NodeId, Time};

/// How long TCP connections to a node may take in all where there is a tunnel to it as well: firewalls drop what they do not
/// let pass without a word. The rest of a second is for the tunnel, before the node asks somebody else.
const TCP_PATIENCE: Duration = Duration::from_millis(600);

/// After so many vain attempts to reach the front-end, with nobody else to turn to, it has ended.
const REFUSED: u32 = 3;

/// A node that is being dialled.
#[derive(Debug)]
pub(super) struct Dialling {
    pub(super) to: NodeId,
    /// Ways to it that were not tried yet.
    rest: VecDeque<Road>,
    /// How many ways beyond this host were, since it last turned out that one leads nowhere.
    pub(super) tried: usize,
    /// Whether nobody listened at all those that were.
    pub(super) is_refused: bool,
    /// How long each connection may take, if there is a tunnel, …
    patience: Duration,
    /// … and until when the current one may.
    until: Option<Instant>,
    is_through_tunnel: bool,
}

/// The attempts to reach the front-end since it was last there.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// Nobody took the connection.
    missed: u32,
    /// Nobody listened at all.
    refused: u32,
}

impl Attempts {
    fn missed(&mut self, is_refused: bool) {
        self.missed += 1;
        self.refused += u32::from(is_refused);
    }

    /// Whether it could not be reached when it was last dialled.
    pub(super) fn are_vain(&self) -> bool {
        self.missed > 0
    }

    /// Whether nobody listens any more where it was.
    pub(super) fn say_it_has_ended(&self) -> bool {
        self.refused >= REFUSED
    }
}

/// A way to another node.
#[derive(Debug)]
enum Road {
    At(Address),
    /// Through the session's link to the node above.
    Tunnel,
}

/// What is known of a node that can be reached through the session's link.
#[derive(Debug)]
pub(super) struct Tunnel {
    to: NodeId,
    control: ExtensionControl,
    /// It was the way that led there: what stops connections between the hosts may also refuse them in a node's name.
    was_needed: bool,
}

impl Driver {
    /// This node can be reached through the link of the session as well.
    pub(crate) fn set_tunnel(&mut self, to: NodeId, control: ExtensionControl) {
        self.tunnel = Some(Tunnel { to, control, was_needed: false });
    }

    pub(super) fn dial(&mut self, id: LinkId, to: NodeId) {
        let now = Instant::now();
        if let Some((_, link)) = self.inherited.take_if(|(parent, _)| *parent == to)
            && link.register(&self.poller, id.0).is_ok()
        {
            self.keep_link(id, link);
            self.node.linked(id, self.time(now));
            // Some of it may have been read with the invitation.
            return self.take(id, now);
        }
        let rest = self.roads(to);
        let is_refused = !rest.is_empty();
        let connections = rest.iter().filter(|road| road.is_connection()).count();
        let patience = TCP_PATIENCE / u32::try_from(connections.max(1)).unwrap_or(u32::MAX);
        let dialling = Dialling { to, rest, tried: 0, is_refused, patience, until: None, is_through_tunnel: false };
        let time = self.time(now);
        self.dial_next(id, dialling, time);
    }

    /// How to reach a node: at sockets of this host, which answer at once if at all, then at its other addresses, then through
    /// a tunnel if there is one. Some of those beyond this host may lead nowhere from here: after one that did not answer it
    /// begins with the next.
    fn roads(&self, to: NodeId) -> VecDeque<Road> {
        let known = self.book.get(to).map(|known| known.to_vec()).unwrap_or_default();
        let (mut beyond, here): (Vec<Road>, Vec<Road>) = known.into_iter().map(Road::At).partition(Road::is_connection);
        if self.tunnel.as_ref().is_some_and(|tunnel| tunnel.to == to) {
            beyond.push(Road::Tunnel);
        }
        let unanswered = self.unanswered.get(&to).copied().unwrap_or_default();
        let first = unanswered % beyond.len().max(1);
        beyond.rotate_left(first);
        here.into_iter().chain(beyond).collect()
    }

    /// Tries the next way to a node.
    pub(super) fn dial_next(&mut self, id: LinkId, mut dialling: Dialling, time: Time) {
        while let Some(road) = dialling.rest.pop_front() {
            self.dials += 1;
            let peer = PeerId { session: self.credentials.network, index: self.node.id().0, incarnation: self.dials };
            let opening = Opening { peer, secret: self.credentials.own.clone() };
            let link = match self.set_out(&road, &opening) {
                Ok(link) => link,
                Err(error) => {
                    dialling.is_refused &= error.kind() == io::ErrorKind::ConnectionRefused;
                    continue;
                }
            };
            let is_local = matches!(road, Road::At(Address::Unix(_) | Address::Abstract(_)));
            dialling.tried += usize::from(!is_local);
            dialling.is_through_tunnel = matches!(road, Road::Tunnel);
            let has_tunnel = dialling.rest.iter().any(|road| matches!(road, Road::Tunnel));
            dialling.until = (road.is_connection() && has_tunnel).then(|| Instant::now() + dialling.patience);
            self.hurry_at = self.hurry_at.into_iter().chain(dialling.until).min();
            let mut link = TreeLink::new(link, is_local);
            link.dialling = Some(dialling);
            link.expect_memory();
            if link.register(&self.poller, id.0).is_err() {
                return self.node.closed(id, time);
            }
            return self.keep_link(id, link);
        }
        let is_walled_off = self.tunnel.as_ref().is_some_and(|tunnel| tunnel.was_needed);
        if dialling.to == NodeId::ROOT {
            self.front_end.missed(dialling.is_refused && !is_walled_off);
        }
        self.node.closed(id, time);
    }

    fn set_out(&self, road: &Road, opening: &Opening) -> io::Result<Link> {
        match (road, &self.tunnel) {
            (Road::At(address), _) => Link::dial(address, opening, &self.credentials.links),
            (Road::Tunnel, Some(tunnel)) => Link::open_over(tunnel.control.tunnel()?, opening, &self.credentials.links),
            (Road::Tunnel, None) => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }

    /// A node that was dialled is there.
    pub(super) fn reached(&mut self, dialling: &Dialling) {
        if dialling.to == NodeId::ROOT {
            self.front_end = Attempts::default();
        }
        if let Some(tunnel) = &mut self.tunnel {
            tunnel.was_needed |= dialling.is_through_tunnel;
        }
    }

    /// A node that was dialled did not answer in time. Its system may have taken the connection.
    pub(super) fn unanswered_by(&mut self, dialling: &Dialling, is_connected: bool) {
        *self.unanswered.entry(dialling.to).or_default() += dialling.tried;
        if dialling.to != NodeId::ROOT {
            return;
        }
        if !is_connected {
            return self.front_end.missed(false);
        }
        // It is there, and computes.
        self.front_end = Attempts::default();
        if self.adrift_since.is_some() {
            self.adrift_since = Some(Instant::now());
        }
    }

    /// Leaves connections that do not come about for what is next.
    pub(super) fn hurry(&mut self, now: Instant) {
        if self.hurry_at.is_none_or(|at| at > now) {
            return;
        }
        let mut late = Vec::new();
        self.hurry_at = None;
        for (id, link) in self.links.iter() {
            match link.dialling.as_ref().and_then(|dialling| dialling.until) {
                // Where the host has answered, its process has the time that every process has.
                Some(at) if at <= now && !link.is_connected() => late.push(*id),
                until => self.hurry_at = self.hurry_at.into_iter().chain(until.filter(|at| *at > now)).min(),
            }
        }
        for id in late {
            let Some(mut dialling) = self.remove(id).and_then(|link| link.dialling) else { continue };
            dialling.is_refused = false;
            *self.unanswered.entry(dialling.to).or_default() += std::mem::take(&mut dialling.tried);
            let time = self.time(now);
            self.dial_next(id, dialling, time);
        }
    }
}

impl Road {
    /// Whether it is one by TCP.
    fn is_connection(&self) -> bool {
        matches!(self, Road::At(Address::Tcp(_)))
    }
}

/// Where other hosts may reach this one.
pub(super) fn outside_addresses() -> Vec<IpAddr> {
    // By the one that every host has, another one would find itself.
    local_addresses().into_iter().filter(|address| !address.is_loopback()).collect()
}
