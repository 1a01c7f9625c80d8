//! Dialling another node: at one of its addresses after the other.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::time::Instant;

use banyan_boot::local_addresses;
use banyan_link::{Address, Link, Opening, PeerId};

use super::Driver;
use super::tree_link::{Dialling, TreeLink};
use crate::ids::{LinkId, NodeId, Time};

impl Driver {
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
        let rest = self.addresses(to);
        let is_refused = !rest.is_empty();
        let time = self.time(now);
        self.dial_next(id, Dialling { to, rest, tried: 0, is_refused }, time);
    }

    /// Where to dial a node: at sockets of this host, which answer at once if at all, and then at its other addresses. Some
    /// of those may lead nowhere from here: after one that did not answer it begins with the next.
    fn addresses(&self, of: NodeId) -> VecDeque<Address> {
        let known = self.book.get(of).map(|known| known.to_vec()).unwrap_or_default();
        let (mut beyond, here): (Vec<Address>, Vec<Address>) =
            known.into_iter().partition(|address| matches!(address, Address::Tcp(_)));
        let unanswered = self.unanswered.get(&of).copied().unwrap_or_default();
        let first = unanswered % beyond.len().max(1);
        beyond.rotate_left(first);
        here.into_iter().chain(beyond).collect()
    }

    /// Tries the next address of a node.
    pub(super) fn dial_next(&mut self, id: LinkId, mut dialling: Dialling, time: Time) {
        while let Some(address) = dialling.rest.pop_front() {
            self.dials += 1;
            let peer = PeerId { session: self.credentials.network, index: self.node.id().0, incarnation: self.dials };
            let opening = Opening { peer, secret: self.credentials.own.clone() };
            let link = match Link::dial(&address, &opening, &self.credentials.links) {
                Ok(link) => link,
                Err(error) => {
                    dialling.is_refused &= error.kind() == io::ErrorKind::ConnectionRefused;
                    continue;
                }
            };
            let is_local = !matches!(address, Address::Tcp(_));
            dialling.tried += usize::from(!is_local);
            let mut link = TreeLink::new(link, is_local);
            link.dialling = Some(dialling);
            link.expect_memory();
            if link.register(&self.poller, id.0).is_err() {
                return self.node.closed(id, time);
            }
            return self.keep_link(id, link);
        }
        self.front_end_refused += u32::from(dialling.to == NodeId::ROOT && dialling.is_refused);
        self.node.closed(id, time);
    }
}

/// Where other hosts may reach this one.
pub(super) fn outside_addresses() -> Vec<IpAddr> {
    // By the one that every host has, another one would find itself.
    local_addresses().into_iter().filter(|address| !address.is_loopback()).collect()
}
