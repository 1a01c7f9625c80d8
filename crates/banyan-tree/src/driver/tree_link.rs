//! One link of a node: a [`LinkProtocol`] on a socket, and on the memory that both ends may share.

use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use banyan_link::shared::SharedError;
use banyan_link::{Frame, Handed, Interest, Link, Poller};
use rustix::fs::OFlags;
use rustix::net::sockopt::{self, Timeout};

use super::dialling::Dialling;
use super::memory::{ChildrenMemory, ParentMemory};
use crate::format_book::FormatBook;
use crate::ids::NodeId;
use crate::link_protocol::{Arrival, FrameMemory, LinkProtocol, Next, Way};
use crate::message::{Message, NodeInfo};
use crate::node::LinkFigures;
use crate::wire::{AddressBook, CLOCKS, SHARED_MEMORY};

/// Bytes of a frame at most; longer messages travel in pieces, which are put together in memory of their own. A record of a
/// mebibyte, as people like to send, is one with all that stands before its numbers.
pub(super) const LONGEST_PAYLOAD: usize = (1 << 20) + (60 << 10);

/// Bytes that the system is asked to hold for a reader on this host: as much as most systems grant, which then hold twice
/// as much, and twice what they do unasked.
const SEND_BUFFER: usize = 208 << 10;

/// How long nothing may pass on a link to another host before the kernel asks whether that is still there, how long it
/// waits for an answer, and how often it asks. What was sent and is not acknowledged is noticed sooner.
const ASKED_AFTER: Duration = Duration::from_secs(5);
const ASKED_EVERY: Duration = Duration::from_secs(1);
const ASKED: u32 = 4;

/// See the module.
#[derive(Debug)]
pub(super) struct TreeLink {
    link: Link,
    protocol: LinkProtocol,
    /// The memory of the parent, if it is shared.
    above: Option<Box<ParentMemory>>,
    is_watching: bool,
    /// Whether reading waits for something to read.
    waits: bool,
    /// The member that was invited over it, and its rank.
    pub(super) invited: Option<(NodeId, u32)>,
    /// The process that this program has started at the other end.
    pub(super) started: Option<u32>,
    /// While it is not open.
    pub(super) dialling: Option<Dialling>,
}

/// The memory that small frames may go through: the parent's, or the node's own.
struct LinkMemory<'a> {
    above: Option<&'a mut ParentMemory>,
    below: Option<&'a mut ChildrenMemory>,
}

impl FrameMemory for LinkMemory<'_> {
    fn write(&mut self, way: Way, frame: &Frame, by_socket: u32, is_expected: bool) -> bool {
        match (way, &mut self.below, &mut self.above) {
            (Way::Below(place), Some(below), _) => below.send(place, frame, by_socket),
            (Way::Above, _, Some(above)) => above.send(frame, by_socket, is_expected),
            _ => false,
        }
    }

    fn read(&mut self, way: Way, from_socket: u32) -> Result<Next, SharedError> {
        match (way, &mut self.below, &mut self.above) {
            (Way::Below(place), Some(below), _) => below.receive(place, from_socket),
            (Way::Above, _, Some(above)) => above.receive(from_socket),
            _ => Ok(Next::Nothing),
        }
    }

    fn open(&mut self, place: u32) {
        self.below.iter_mut().for_each(|below| below.open(place));
    }
}

impl TreeLink {
    pub(super) fn new(link: Link, is_local: bool) -> TreeLink {
        if is_local {
            widen(&link);
        } else {
            keep_alive(&link);
        }
        TreeLink {
            link,
            protocol: LinkProtocol::new(LONGEST_PAYLOAD, is_local),
            above: None,
            is_watching: false,
            waits: false,
            invited: None,
            started: None,
            dialling: None,
        }
    }

    /// The end of a member, which has taken its invitation from the socket.
    pub(super) fn of_member(link: Link) -> TreeLink {
        let link = TreeLink::new(link, true);
        let mut link = TreeLink { protocol: link.protocol.after(1), ..link };
        link.expect_memory();
        link
    }

    pub(super) fn protocol(&self) -> &LinkProtocol {
        &self.protocol
    }

    pub(super) fn protocol_mut(&mut self) -> &mut LinkProtocol {
        &mut self.protocol
    }

    /// The peer may become the parent, and offer memory to share.
    pub(super) fn expect_memory(&mut self) {
        if self.protocol.is_local() {
            self.link.expect_descriptors();
        }
    }

    /// Offers a child a place in the node's memory, if that is on this host and was offered none.
    pub(super) fn offer_memory(&mut self, below: &mut ChildrenMemory) {
        if self.protocol.may_offer()
            && self.link.capabilities().contains(SHARED_MEMORY)
            && self.link.can_hand_over()
            && let Ok((place, descriptors)) = below.place()
        {
            self.link.hand_over(descriptors);
            self.protocol.offer(&mut self.link, place);
        }
    }

    /// Shares the memory that the parent has offered. Where it cannot be had the socket does.
    pub(super) fn share_memory(&mut self, place: u32, poller: &Poller, token: u64) {
        let shared = |handed: Handed| ParentMemory::new(handed, place).ok();
        if let Some(above) = self.link.take_descriptors().and_then(shared)
            && poller.register_bell(above.bell(), token).is_ok()
        {
            self.above = Some(Box::new(above));
            self.protocol.share(&mut self.link, place);
        }
    }

    /// What went and came through shared memory.
    pub(super) fn shared(&self) -> LinkFigures {
        self.protocol.shared()
    }

    /// The place that a child was offered, whether it reads there or not.
    pub(super) fn offered_place(&self) -> Option<u32> {
        if let Way::Below(place) | Way::Offered(place) = self.protocol.way() { Some(place) } else { None }
    }

    /// The place of a child that reads in this node's memory.
    pub(super) fn place(&self) -> Option<u32> {
        if let Way::Below(place) = self.protocol.way() { Some(place) } else { None }
    }

    /// Whether small frames go through the memory of the parent.
    pub(super) fn shares_above(&self) -> bool {
        self.protocol.way() == Way::Above
    }

    /// Lets reads wait, if its socket was made to wait, for so long.
    pub(super) fn wait_at_most(&mut self, time: Duration) {
        let (socket, _) = self.link.fds();
        let is_made_to = rustix::fs::fcntl_getfl(socket).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK));
        self.waits = is_made_to && sockopt::set_socket_timeout(socket, Timeout::Recv, Some(time)).is_ok();
    }

    /// Whether reading waits for something to read.
    pub(super) fn can_wait(&self) -> bool {
        self.waits
    }

    /// Whether it leads to another host.
    pub(super) fn is_remote(&self) -> bool {
        !self.protocol.is_local()
    }

    /// Whether what was sent to the other host has not arrived there for so long.
    pub(super) fn is_cut(&self, silence: Duration) -> bool {
        !self.protocol.is_local() && self.link.unacknowledged_for().is_some_and(|time| time >= silence)
    }

    /// Whether the peer may say that it is this node, with this rank: it proved to be, or was invited as that. Ranks follow
    /// from nodes where it is known which is the first member.
    pub(super) fn may_be(&self, place: &NodeInfo, first_member: Option<NodeId>) -> bool {
        let proved = self.link.peer_id().map(|peer| NodeId(peer.index));
        let invited = self.invited.is_none_or(|(node, rank)| place.node == node && place.rank == Some(rank));
        let is_ranked = |node| first_member.is_none_or(|first| place.rank == rank_of(node, first));
        invited && proved.is_none_or(|node| place.node == node && is_ranked(node))
    }

    /// Whether it is known, before it says so, that the peer is a member.
    pub(super) fn is_known_member(&self, first_member: Option<NodeId>) -> bool {
        let proved = self.link.peer_id().map(|peer| NodeId(peer.index));
        let is_ranked = |node| first_member.is_some_and(|first| rank_of(node, first).is_some());
        self.invited.is_some() || proved.is_some_and(is_ranked)
    }

    /// Whether the system at the other end has accepted the connection, though nobody may have answered.
    pub(super) fn is_connected(&self) -> bool {
        rustix::net::getpeername(&self.link).is_ok()
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    pub(super) fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    /// Queues a message; not one about clocks that the peer would not understand.
    pub(super) fn send(&mut self, message: &Message, book: &AddressBook) {
        let is_of_clocks = matches!(message, Message::CountClocks(_) | Message::ClockCounted { .. });
        if is_of_clocks && !self.link.capabilities().contains(CLOCKS) {
            return;
        }
        self.protocol.send(message, book);
    }

    /// Queues a frame as it is.
    pub(super) fn send_frame(&mut self, frame: Frame) {
        self.protocol.send_frame(frame);
    }

    /// Moves what waits into shared memory, if there is some, or into the link as far as there is credit, and sends it;
    /// whether the link had anything to do. Nothing goes into the node's own memory where that is not given.
    pub(super) fn flush(&mut self, formats: &FormatBook, below: Option<&mut ChildrenMemory>, now: Instant) -> bool {
        let mut memory = LinkMemory { above: self.above.as_deref_mut(), below };
        self.protocol.flush(&mut self.link, &mut memory, formats);
        if let Some(above) = &mut self.above {
            above.announce();
        }
        // Not for nothing, which takes long in a process that was just woken; but memory that was received into is given back.
        let has_traffic = self.protocol.take_received() || self.link.wants_write();
        if has_traffic {
            self.link.flush(now);
        }
        has_traffic
    }

    /// What has arrived next.
    pub(super) fn next(
        &mut self,
        book: &mut AddressBook,
        formats: &FormatBook,
        below: &mut Option<ChildrenMemory>,
    ) -> Option<Arrival> {
        let mut memory = LinkMemory { above: self.above.as_deref_mut(), below: below.as_mut() };
        self.protocol.next(&mut self.link, &mut memory, book, formats)
    }

    /// Whether everything was sent, the goodbye included.
    pub(super) fn is_finished(&self) -> bool {
        self.link.is_finished()
    }

    /// Puts the link under the poller's eyes.
    pub(super) fn register(&self, poller: &Poller, token: u64) -> io::Result<()> {
        poller.register(&self.link, token, self.interest())
    }

    fn interest(&self) -> Interest {
        if self.is_watching { Interest::BOTH } else { Interest::READ }
    }

    /// Asks to be told when the link can be written, if it has something to write and could not.
    pub(super) fn watch(&mut self, poller: &Poller, token: u64) -> io::Result<()> {
        let wants = self.link.wants_write();
        if wants == self.is_watching {
            return Ok(());
        }
        self.is_watching = wants;
        poller.modify(&self.link, token, self.interest())
    }

    /// Takes the link from under the poller's eyes.
    pub(super) fn unregister(&self, poller: &Poller) {
        if let Some(above) = &self.above {
            // Others have the bell, too: the poller would go on to watch it.
            let _ = poller.remove(above.bell());
        }
        // What the poller has forgotten by itself is as good.
        let _ = poller.remove(&self.link);
        debug_assert!(self.link.fds().0.as_raw_fd() == self.link.fds().1.as_raw_fd(), "tree links are sockets");
    }
}

/// Lets a good part of a large record lie in the socket: sender and receiver take turns less often.
fn widen(link: &Link) {
    // The system gives less where it must; then they do more often.
    let _ = sockopt::set_socket_send_buffer_size(link.fds().1, SEND_BUFFER);
}

/// Lets the kernel find out whether the other host is gone: front-ends and members are silent while they compute.
fn keep_alive(link: &Link) {
    let (socket, _) = link.fds();
    // Without it the end of that host is noticed when there is something to send.
    let _ = sockopt::set_tcp_keepidle(socket, ASKED_AFTER)
        .and_then(|()| sockopt::set_tcp_keepintvl(socket, ASKED_EVERY))
        .and_then(|()| sockopt::set_tcp_keepcnt(socket, ASKED))
        .and_then(|()| sockopt::set_socket_keepalive(socket, true));
}

/// The rank of a node, if it is a member: behind the agents, and before their guards.
pub(super) fn rank_of(node: NodeId, first_member: NodeId) -> Option<u32> {
    node.0.checked_sub(first_member.0).filter(|_| node < NodeId::FIRST_GUARD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_from_nodes_and_agents_and_guards_have_none() {
        let ranks = [0, 4, 5, 9, NodeId(1).guard().0, u32::MAX].map(|node| rank_of(NodeId(node), NodeId(5)));
        assert_eq!(ranks, [None, None, Some(0), Some(4), None, None]);
    }
}
