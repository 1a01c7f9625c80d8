//! One link of a node: messages in, messages out, in order.
//!
//! What the peer has no credit for waits here. It is bounded by the windows of the node, which keeps the same bytes
//! anyway.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use banyan_link::{Event, Frame, Handed, Interest, Link, LinkError, OtherProtocol, Poller};

use banyan_link::shared::SharedError;
use banyan_ndr::FormatId;
use bytes::Bytes;
use rustix::fs::OFlags;
use rustix::net::sockopt::{self, Timeout};

use super::dialling::Dialling;
use super::memory::{Above, Below, Next};
use crate::format_book::{FormatBook, SentFormats};
use crate::ids::NodeId;
use crate::message::{Message, Place};
use crate::node::LinkFigures;
use crate::wire::{ADDRESSES, AddressBook, Decoder, Encoder, LONGEST_MESSAGE, MEMORY, SHARED_MEMORY, contributes};

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

/// What came over a link.
#[derive(Debug)]
pub(super) enum Arrival {
    Message(Message),
    /// The peer is there.
    Opened,
    /// The parent offers memory to share, and a place there.
    Offered(u32),
    /// The link has ended, or is not to be had.
    Ended(End),
    /// The peer broke the protocol, in this way.
    Broken(String),
}

/// The way that small frames take.
#[derive(Debug)]
enum Way {
    Socket,
    /// The child was offered this place in the node's memory, and has not said that it reads there.
    Offered(u32),
    /// The node's memory, in this place.
    Below(u32),
    /// The parent's memory.
    Above(Box<Above>),
}

/// How a link ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its other end, on this host, was closed: by its process, or with it.
    Closed,
    /// Nobody listens there.
    Refused,
    /// Somehow else.
    Other,
}

/// See the module.
#[derive(Debug)]
pub(super) struct TreeLink {
    link: Link,
    encoder: Encoder,
    decoder: Decoder,
    outbox: VecDeque<Frame>,
    /// Empty between messages: its memory is used again.
    encoded: Vec<Frame>,
    is_watching: bool,
    /// Whether reading waits for something to read.
    waits: bool,
    /// The system tells of the end of a process at the other end of a socket of this host.
    is_local: bool,
    /// The member that was invited over it, and its rank.
    pub(super) invited: Option<(NodeId, u32)>,
    /// Whether the peer is a member, which has no children and nothing to say of others.
    pub(super) is_members: bool,
    /// The process that this program has started at the other end.
    pub(super) started: Option<u32>,
    /// While it is not open.
    pub(super) dialling: Option<Dialling>,
    is_open: bool,
    /// The format of the last frame that came with one: it is in the book.
    learnt: Option<FormatId>,
    /// The formats of all of them.
    formats: SentFormats,
    /// The format of the last frame that went with one: the peer knows it.
    taught: Option<FormatId>,
    pub(super) is_closing: bool,
    /// Whether the node is told when nothing waits any more.
    pub(super) tells_drained: bool,
    /// Frames that were given to the socket, and that were taken from it: they wrap around.
    sent: u32,
    taken: u32,
    /// What went and came through shared memory.
    shared: LinkFigures,
    /// Whether something came by the socket since it was last flushed.
    has_received: bool,
    /// The way that small frames take.
    way: Way,
    /// Whether the last frame was part of a contribution that the parent may wait for.
    contributes: bool,
    /// What the peer speaks, if the link has ended because this node does not.
    pub(super) other_protocol: Option<OtherProtocol>,
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
            encoder: Encoder::new(LONGEST_PAYLOAD),
            decoder: Decoder::new(LONGEST_MESSAGE),
            outbox: VecDeque::new(),
            encoded: Vec::new(),
            is_watching: false,
            waits: false,
            is_local,
            invited: None,
            is_members: false,
            started: None,
            dialling: None,
            is_open: false,
            learnt: None,
            formats: SentFormats::default(),
            taught: None,
            is_closing: false,
            tells_drained: false,
            sent: 0,
            taken: 0,
            shared: LinkFigures::default(),
            has_received: true,
            way: Way::Socket,
            contributes: false,
            other_protocol: None,
        }
    }

    /// The end of a member, which has taken its invitation from the socket.
    pub(super) fn of_member(link: Link) -> TreeLink {
        let mut link = TreeLink { taken: 1, ..TreeLink::new(link, true) };
        link.expect_memory();
        link
    }

    /// The peer may become the parent, and offer memory to share.
    pub(super) fn expect_memory(&mut self) {
        if self.is_local {
            self.link.expect_descriptors();
        }
    }

    /// Offers a child a place in the node's memory, if that is on this host and was offered none.
    pub(super) fn offer_memory(&mut self, below: &mut Below) {
        if self.is_local
            && matches!(self.way, Way::Socket)
            && self.link.capabilities().contains(SHARED_MEMORY)
            && self.link.can_hand_over()
            && let Ok((place, descriptors)) = below.place()
        {
            self.link.hand_over(descriptors);
            self.say_memory(place);
            self.way = Way::Offered(place);
        }
    }

    /// Shares the memory that the parent has offered. Where it cannot be had the socket does.
    pub(super) fn share_memory(&mut self, place: u32, poller: &Poller, token: u64) {
        let shared = |handed: Handed| Above::new(handed, place).ok();
        if let Some(above) = self.link.take_descriptors().and_then(shared)
            && poller.register_bell(above.bell(), token).is_ok()
        {
            self.say_memory(place);
            self.way = Way::Above(Box::new(above));
        }
    }

    /// By the socket, whatever else waits: what waits is not for the one way or the other.
    fn say_memory(&mut self, place: u32) {
        self.link.send(Frame::new(MEMORY, place, 0, Bytes::new()));
        self.sent = self.sent.wrapping_add(1);
    }

    /// What went and came through shared memory.
    pub(super) fn shared(&self) -> LinkFigures {
        self.shared
    }

    /// The place that a child was offered, whether it reads there or not.
    pub(super) fn offered_place(&self) -> Option<u32> {
        if let Way::Below(place) | Way::Offered(place) = self.way { Some(place) } else { None }
    }

    /// The place of a child that reads in this node's memory.
    pub(super) fn place(&self) -> Option<u32> {
        if let Way::Below(place) = self.way { Some(place) } else { None }
    }

    /// Whether small frames go through the memory of the parent.
    pub(super) fn shares_above(&self) -> bool {
        matches!(self.way, Way::Above(_))
    }

    /// Whether something came by the socket since it was last flushed.
    pub(super) fn has_received(&self) -> bool {
        self.has_received
    }

    /// Whether records of more formats came than one member may send.
    pub(super) fn has_too_many_formats(&self) -> bool {
        self.formats.are_too_many()
    }

    /// Whether something waits to be sent.
    pub(super) fn has_frames(&self) -> bool {
        !self.outbox.is_empty()
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
        !self.is_local
    }

    /// Whether what was sent to the other host has not arrived there for so long.
    pub(super) fn is_cut(&self, silence: Duration) -> bool {
        !self.is_local && self.link.unacknowledged_for().is_some_and(|time| time >= silence)
    }

    /// Whether the peer may say that it is this node, with this rank: it proved to be, or was invited as that. Ranks follow
    /// from nodes where it is known which is the first member.
    pub(super) fn may_be(&self, place: &Place, first_member: Option<NodeId>) -> bool {
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

    /// Queues a message.
    pub(super) fn send(&mut self, message: &Message, book: &AddressBook) {
        self.encoder.encode(message, book, &mut self.encoded);
        self.outbox.extend(self.encoded.drain(..));
    }

    /// Queues a frame as it is.
    pub(super) fn send_frame(&mut self, frame: Frame) {
        self.outbox.push_back(frame);
    }

    /// Moves what waits into shared memory, if there is some, or into the link as far as there is credit, and sends it;
    /// whether the link had anything to do. Nothing goes into the node's own memory where that is not given.
    pub(super) fn flush(&mut self, formats: &FormatBook, mut below: Option<&mut Below>, now: Instant) -> bool {
        while let Some(frame) = self.outbox.pop_front() {
            let is_known = frame.format.is_none() || frame.format == self.taught;
            let is_expected = contributes(&frame, self.contributes);
            if is_known && self.write_shared(&frame, is_expected, below.as_deref_mut()) {
                self.contributes = is_expected;
                self.shared.frames_sent += 1;
                self.shared.bytes_sent += frame.cost() as u64;
                continue;
            }
            if self.link.room() == 0 {
                self.outbox.push_front(frame);
                break;
            }
            if !is_known {
                if let Some(format) = frame.format.and_then(|id| formats.get(id)) {
                    // A peer that can learn no more formats refuses the frame, and says so.
                    let _ = self.link.send_format(&format);
                }
                self.taught = frame.format;
            }
            self.link.send(frame);
            self.sent = self.sent.wrapping_add(1);
            self.contributes = is_expected;
        }
        if let Way::Above(above) = &mut self.way {
            above.announce();
        }
        if self.is_closing && self.outbox.is_empty() {
            self.link.close();
        }
        // Not for nothing, which takes long in a process that was just woken; but memory that was received into is given back.
        let has_traffic = std::mem::take(&mut self.has_received) || self.link.wants_write();
        if has_traffic {
            self.link.flush(now);
        }
        has_traffic
    }

    /// Writes a frame to shared memory; false where there is none, or no room for it.
    fn write_shared(&mut self, frame: &Frame, is_expected: bool, below: Option<&mut Below>) -> bool {
        match (&mut self.way, below) {
            (Way::Below(place), Some(below)) => below.send(*place, frame, self.sent),
            (Way::Above(above), _) => above.send(frame, self.sent, is_expected),
            _ => false,
        }
    }

    fn read_shared(&mut self, below: Option<&mut Below>) -> Result<Next, SharedError> {
        match (&mut self.way, below) {
            (Way::Below(place), Some(below)) => below.receive(*place, self.taken),
            (Way::Above(above), _) => above.receive(self.taken),
            _ => Ok(Next::Nothing),
        }
    }

    /// What has arrived next.
    pub(super) fn next(
        &mut self,
        book: &mut AddressBook,
        formats: &FormatBook,
        below: &mut Option<Below>,
    ) -> Option<Arrival> {
        loop {
            // Before what was read from the socket is taken: what was sent before that is there.
            match self.read_shared(below.as_mut()) {
                Ok(Next::Nothing) => {}
                Ok(Next::Later) => return None,
                Ok(Next::Frame(frame)) => {
                    self.shared.frames_received += 1;
                    self.shared.bytes_received += frame.cost() as u64;
                    match self.understood(&frame, book, formats) {
                        None => continue,
                        arrival => return arrival,
                    }
                }
                Err(error) => return Some(Arrival::Broken(error.to_string())),
            }
            let event = self.link.poll()?;
            if let Some(arrival) = self.arrived(event, book, formats, below.as_mut()) {
                return Some(arrival);
            }
        }
    }

    /// What has come by the socket. A function of its own: who is served by memory need not touch what this needs.
    #[inline(never)]
    fn arrived(
        &mut self,
        event: Event,
        book: &mut AddressBook,
        formats: &FormatBook,
        below: Option<&mut Below>,
    ) -> Option<Arrival> {
        self.has_received = true;
        match event {
            Event::Frame(frame) => {
                self.taken = self.taken.wrapping_add(1);
                let arrival = if frame.kind == MEMORY {
                    self.heard_of_memory(frame.stream, below)
                } else {
                    self.understood(&frame, book, formats)
                };
                if frame.kind.is_data() {
                    self.link.release(frame.cost());
                }
                arrival
            }
            Event::Opened(_) => {
                self.is_open = true;
                Some(Arrival::Opened)
            }
            Event::Closed => Some(Arrival::Ended(End::Other)),
            Event::Lost(LinkError::Protocol(error)) if self.is_open => Some(Arrival::Broken(error.to_string())),
            Event::Lost(error) => {
                self.other_protocol = error.other_protocol();
                Some(Arrival::Ended(self.end(&error)))
            }
        }
    }

    fn end(&self, error: &LinkError) -> End {
        match error {
            LinkError::Ended { .. } if self.is_local && self.is_open => End::Closed,
            LinkError::System { kind: io::ErrorKind::ConnectionRefused, .. } if !self.is_open => End::Refused,
            _ => End::Other,
        }
    }

    /// A child reads the memory that it was offered; or a parent offers some.
    fn heard_of_memory(&mut self, place: u32, below: Option<&mut Below>) -> Option<Arrival> {
        match (&self.way, below) {
            (Way::Offered(offered), Some(below)) => {
                below.open(*offered);
                self.way = Way::Below(*offered);
                None
            }
            (Way::Socket, _) => Some(Arrival::Offered(place)),
            _ => Some(Arrival::Broken("spoke of shared memory again".into())),
        }
    }

    fn understood(&mut self, frame: &Frame, book: &mut AddressBook, formats: &FormatBook) -> Option<Arrival> {
        if let Some(id) = frame.format
            && self.learnt != Some(id)
            && let Some(format) = self.link.format(id)
        {
            // A book that is full does not know it, and whoever asks says so.
            let _ = formats.learn(format);
            self.learnt = Some(id);
            self.formats.add(format);
        }
        if frame.kind == ADDRESSES && self.is_members {
            return Some(Arrival::Broken("is a member, and told where others can be reached".into()));
        }
        match self.decoder.decode(frame, book) {
            Ok(message) => message.map(Arrival::Message),
            Err(error) => Some(Arrival::Broken(error.to_string())),
        }
    }

    /// Whether everything was sent, the goodbye included.
    pub(super) fn is_finished(&self) -> bool {
        self.link.is_finished()
    }

    /// Messages and pieces of them that wait for credit.
    pub(super) fn queued(&self) -> usize {
        self.outbox.len()
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
        if let Way::Above(above) = &self.way {
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
