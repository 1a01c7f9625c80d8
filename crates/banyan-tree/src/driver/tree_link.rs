//! One link of a node: messages in, messages out, in order.
//!
//! What the peer has no credit for waits here. It is bounded by the windows of the node, which keeps the same bytes
//! anyway.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use banyan_link::{Address, Event, Frame, Interest, Link, LinkError, Poller};

use banyan_ndr::FormatId;
use rustix::fs::OFlags;
use rustix::net::sockopt::{self, Timeout};

use crate::agent::FIRST_GUARD;
use crate::format_book::FormatBook;
use crate::ids::NodeId;
use crate::message::{Message, Place};
use crate::wire::{AddressBook, Decoder, Encoder, LONGEST_MESSAGE};

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
    /// The peer is there.
    Opened,
    Message(Message),
    /// The link has ended, or is not to be had.
    Ended(End),
}

/// How a link ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The process at the other end has, too.
    Certain,
    /// Nobody listens there.
    Refused,
    /// Somehow else.
    Other,
}

/// A node that is being dialled.
#[derive(Debug)]
pub(super) struct Dialling {
    pub(super) to: NodeId,
    /// Its addresses that were not tried yet.
    pub(super) rest: VecDeque<Address>,
    /// How many addresses beyond this host were.
    pub(super) tried: usize,
    /// Whether nobody listened at all those that were.
    pub(super) is_refused: bool,
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
    /// While it is not open.
    pub(super) dialling: Option<Dialling>,
    is_open: bool,
    /// The format of the last frame that came with one: it is in the book.
    learnt: Option<FormatId>,
    /// The format of the last frame that went with one: the peer knows it.
    taught: Option<FormatId>,
    pub(super) is_closing: bool,
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
            dialling: None,
            is_open: false,
            learnt: None,
            taught: None,
            is_closing: false,
        }
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

    /// Moves what waits into the link as far as there is credit, and sends it.
    pub(super) fn flush(&mut self, formats: &FormatBook, now: Instant) {
        while self.link.room() > 0
            && let Some(frame) = self.outbox.pop_front()
        {
            if frame.format.is_some() && frame.format != self.taught {
                if let Some(format) = frame.format.and_then(|id| formats.get(id)) {
                    // A peer that can learn no more formats refuses the frame, and says so.
                    let _ = self.link.send_format(&format);
                }
                self.taught = frame.format;
            }
            self.link.send(frame);
        }
        if self.is_closing && self.outbox.is_empty() {
            self.link.close();
        }
        self.link.flush(now);
    }

    /// What has arrived next.
    pub(super) fn next(&mut self, book: &mut AddressBook, formats: &FormatBook) -> Option<Arrival> {
        loop {
            match self.link.poll()? {
                Event::Opened(_) => {
                    self.is_open = true;
                    return Some(Arrival::Opened);
                }
                Event::Frame(frame) => {
                    if let Some(arrival) = self.taken(&frame, book, formats) {
                        return Some(arrival);
                    }
                }
                Event::Closed => return Some(Arrival::Ended(End::Other)),
                Event::Lost(error) => return Some(Arrival::Ended(self.end(&error))),
            }
        }
    }

    fn end(&self, error: &LinkError) -> End {
        match error {
            LinkError::Ended { .. } if self.is_local && self.is_open => End::Certain,
            LinkError::System { kind: io::ErrorKind::ConnectionRefused, .. } if !self.is_open => End::Refused,
            _ => End::Other,
        }
    }

    fn taken(&mut self, frame: &Frame, book: &mut AddressBook, formats: &FormatBook) -> Option<Arrival> {
        if let Some(id) = frame.format
            && self.learnt != Some(id)
            && let Some(format) = self.link.format(id)
        {
            // A book that is full does not know it, and whoever asks says so.
            let _ = formats.learn(format);
            self.learnt = Some(id);
        }
        let decoded = self.decoder.decode(frame, book);
        if frame.kind.is_data() {
            self.link.release(frame.cost());
        }
        match decoded {
            Ok(message) => message.map(Arrival::Message),
            // It does not speak as nodes do: its link is as good as gone.
            Err(_) => Some(Arrival::Ended(End::Other)),
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
fn rank_of(node: NodeId, first_member: NodeId) -> Option<u32> {
    node.0.checked_sub(first_member.0).filter(|_| node.0 < FIRST_GUARD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_from_nodes_and_agents_and_guards_have_none() {
        let ranks = [0, 4, 5, 9, FIRST_GUARD | 1, u32::MAX].map(|node| rank_of(NodeId(node), NodeId(5)));
        assert_eq!(ranks, [None, None, Some(0), Some(4), None, None]);
    }
}
