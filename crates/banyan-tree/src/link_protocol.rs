//! One link of a node, without descriptors: messages become frames, and frames messages, in one order over both ways that
//! frames take. The driver runs it on sockets and shared memory, the simulator on what it plays of them.
//!
//! What the peer has no credit for waits here. It is bounded by the windows of the node, which keeps the same bytes
//! anyway.

use std::collections::VecDeque;
use std::io;

use banyan_link::shared::SharedError;
use banyan_link::{Connection, Event, Frame, Link, LinkError, OtherProtocol, SendError};
use banyan_ndr::{Format, FormatId};
use bytes::Bytes;

use crate::format_book::{FormatBook, SentFormats};
use crate::message::Message;
use crate::node::LinkFigures;
use crate::wire::{ADDRESSES, AddressBook, Decoder, Encoder, LONGEST_MESSAGE, MEMORY, contributes};

/// The socket of a link: frames with credit, in order.
pub(crate) trait FrameSocket {
    /// Bytes that may be sent before the peer has to give credit.
    fn credit_left(&self) -> usize;
    fn send(&mut self, frame: Frame);
    /// Describes a format to the peer, once.
    fn send_format(&mut self, format: &Format) -> Result<(), SendError>;
    /// A format that the peer has described.
    fn format(&self, id: FormatId) -> Option<&Format>;
    /// What happened, in order.
    fn poll(&mut self) -> Option<Event>;
    /// Frames that cost so much were taken.
    fn release(&mut self, cost: usize);
    /// Says goodbye behind everything that was sent.
    fn close(&mut self);
}

/// The memory that both ends of a link may share: small frames, in order.
pub(crate) trait FrameMemory {
    /// Writes a frame, when so many have gone by the socket; false where there is no room for it. One that is expected waits
    /// for others.
    fn write(&mut self, way: Way, frame: &Frame, by_socket: u32, is_expected: bool) -> bool;
    /// The next frame, if its turn has come: so many were taken from the socket.
    fn read(&mut self, way: Way, from_socket: u32) -> Result<Next, SharedError>;
    /// The child with this place reads there.
    fn open(&mut self, place: u32);
}

/// What the other side has written to shared memory.
#[derive(Debug)]
pub(crate) enum Next {
    Frame(Frame),
    /// Nothing whose turn has come.
    Nothing,
    /// There may be more, but it is the turn of others; nothing may be taken from the socket before.
    Later,
}

/// The way that small frames take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Socket,
    /// The child was offered this place in the node's memory, and has not said that it reads there.
    Offered(u32),
    /// The node's memory, in this place.
    Below(u32),
    /// The parent's memory.
    Above,
}

/// What came over a link.
#[derive(Debug)]
pub(crate) enum Arrival {
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

/// How a link ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Its other end, on this host, was closed: by its process, or with it.
    Closed,
    /// Nobody listens there.
    Refused,
    /// Somehow else.
    Other,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct LinkProtocol {
    encoder: Encoder,
    decoder: Decoder,
    outbox: VecDeque<Frame>,
    /// Empty between messages: its memory is used again.
    encoded: Vec<Frame>,
    /// The system tells of the end of a process at the other end of a socket of this host.
    is_local: bool,
    is_open: bool,
    /// Whether the peer is a member, which has no children and nothing to say of others.
    is_members: bool,
    /// What the peer speaks, if the link has ended because this node does not.
    other_protocol: Option<OtherProtocol>,
    /// The format of the last frame that came with one: it is in the book.
    learnt: Option<FormatId>,
    /// The formats of all of them.
    formats: SentFormats,
    /// The format of the last frame that went with one: the peer knows it.
    taught: Option<FormatId>,
    is_closing: bool,
    /// Whether the node is told when nothing waits any more.
    tells_drained: bool,
    /// Frames that were given to the socket, and that were taken from it: they wrap around.
    sent: u32,
    taken: u32,
    /// What went and came through shared memory.
    shared: LinkFigures,
    /// Whether something came by the socket since this was last asked.
    has_received: bool,
    way: Way,
    /// Whether the last frame was part of a contribution that the parent may wait for.
    contributes: bool,
}

impl LinkProtocol {
    /// A new link, whose frames have payloads of up to so many bytes.
    pub(crate) fn new(longest_payload: usize, is_local: bool) -> LinkProtocol {
        LinkProtocol {
            encoder: Encoder::new(longest_payload),
            decoder: Decoder::new(LONGEST_MESSAGE),
            outbox: VecDeque::new(),
            encoded: Vec::new(),
            is_local,
            is_open: false,
            is_members: false,
            other_protocol: None,
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
        }
    }

    /// So many frames were taken from the socket before.
    #[must_use]
    pub(crate) fn after(self, taken: u32) -> LinkProtocol {
        LinkProtocol { taken, ..self }
    }

    /// Whether the peer is a process of this host.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }

    /// The peer is a member, or is not.
    pub(crate) fn set_member(&mut self, is_member: bool) {
        self.is_members = is_member;
    }

    /// What the peer speaks, if the link has ended because this node does not.
    pub(crate) fn other_protocol(&self) -> Option<OtherProtocol> {
        self.other_protocol
    }

    /// What went and came through shared memory.
    pub(crate) fn shared(&self) -> LinkFigures {
        self.shared
    }

    /// The way that small frames take.
    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// Whether a child may be offered memory: it was offered none.
    pub(crate) fn may_offer(&self) -> bool {
        self.is_local && self.way == Way::Socket
    }

    /// Offers the child a place in the node's memory.
    pub(crate) fn offer(&mut self, socket: &mut impl FrameSocket, place: u32) {
        self.say_memory(socket, place);
        self.way = Way::Offered(place);
    }

    /// Shares the memory that the parent has offered.
    pub(crate) fn share(&mut self, socket: &mut impl FrameSocket, place: u32) {
        self.say_memory(socket, place);
        self.way = Way::Above;
    }

    /// By the socket, whatever else waits: what waits is not for the one way or the other.
    fn say_memory(&mut self, socket: &mut impl FrameSocket, place: u32) {
        socket.send(Frame::new(MEMORY, place, 0, Bytes::new()));
        self.sent = self.sent.wrapping_add(1);
    }

    /// Whether something came by the socket since it was last flushed.
    pub(crate) fn has_received(&self) -> bool {
        self.has_received
    }

    /// The same, and forgets it.
    pub(crate) fn take_received(&mut self) -> bool {
        std::mem::take(&mut self.has_received)
    }

    /// Whether records of more formats came than one member may send.
    pub(crate) fn has_too_many_formats(&self) -> bool {
        self.formats.are_too_many()
    }

    /// Whether something waits to be sent.
    pub(crate) fn has_frames(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Messages and pieces of them that wait for credit.
    pub(crate) fn queued(&self) -> usize {
        self.outbox.len()
    }

    /// Closes the link when everything has gone that was sent on it; what comes meanwhile is nobody's.
    pub(crate) fn close(&mut self) {
        self.is_closing = true;
    }

    /// Whether the peer was there.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// The node is to be told when everything has gone that was sent.
    pub(crate) fn tell_drained(&mut self) {
        self.tells_drained = true;
    }

    /// Whether to tell the node, once, that everything has gone.
    pub(crate) fn take_drained(&mut self) -> bool {
        !self.has_frames() && std::mem::take(&mut self.tells_drained)
    }

    /// Queues a message.
    pub(crate) fn send(&mut self, message: &Message, book: &AddressBook) {
        self.encoder.encode(message, book, &mut self.encoded);
        self.outbox.extend(self.encoded.drain(..));
    }

    /// Queues a frame as it is.
    pub(crate) fn send_frame(&mut self, frame: Frame) {
        self.outbox.push_back(frame);
    }

    /// Moves what waits into shared memory, if there is some, or to the socket as far as there is credit.
    pub(crate) fn flush(&mut self, socket: &mut impl FrameSocket, memory: &mut impl FrameMemory, formats: &FormatBook) {
        while let Some(frame) = self.outbox.pop_front() {
            let is_known = frame.format.is_none() || frame.format == self.taught;
            let is_expected = contributes(&frame, self.contributes);
            if is_known && memory.write(self.way, &frame, self.sent, is_expected) {
                self.contributes = is_expected;
                self.shared.frames_sent += 1;
                self.shared.bytes_sent += frame.cost() as u64;
                continue;
            }
            if socket.credit_left() == 0 {
                self.outbox.push_front(frame);
                break;
            }
            if !is_known {
                if let Some(format) = frame.format.and_then(|id| formats.get(id)) {
                    // A peer that can learn no more formats refuses the frame, and says so.
                    let _ = socket.send_format(&format);
                }
                self.taught = frame.format;
            }
            socket.send(frame);
            self.sent = self.sent.wrapping_add(1);
            self.contributes = is_expected;
        }
        if self.is_closing && self.outbox.is_empty() {
            socket.close();
        }
    }

    /// What has arrived next.
    pub(crate) fn next(
        &mut self,
        socket: &mut impl FrameSocket,
        memory: &mut impl FrameMemory,
        book: &mut AddressBook,
        formats: &FormatBook,
    ) -> Option<Arrival> {
        loop {
            // Before what was read from the socket is taken: what was sent before that is there.
            match memory.read(self.way, self.taken) {
                Ok(Next::Nothing) => {}
                Ok(Next::Later) => return None,
                Ok(Next::Frame(frame)) => {
                    self.shared.frames_received += 1;
                    self.shared.bytes_received += frame.cost() as u64;
                    match self.understood(&frame, socket, book, formats) {
                        None => continue,
                        arrival => return arrival,
                    }
                }
                Err(error) => return Some(Arrival::Broken(error.to_string())),
            }
            let event = socket.poll()?;
            if let Some(arrival) = self.arrived(event, socket, memory, book, formats) {
                return Some(arrival);
            }
        }
    }

    /// What has come by the socket. A function of its own: who is served by memory need not touch what this needs.
    #[inline(never)]
    fn arrived(
        &mut self,
        event: Event,
        socket: &mut impl FrameSocket,
        memory: &mut impl FrameMemory,
        book: &mut AddressBook,
        formats: &FormatBook,
    ) -> Option<Arrival> {
        self.has_received = true;
        match event {
            Event::Frame(frame) => {
                self.taken = self.taken.wrapping_add(1);
                let arrival = if frame.kind == MEMORY {
                    self.heard_of_memory(frame.stream, memory)
                } else {
                    self.understood(&frame, socket, book, formats)
                };
                if frame.kind.is_data() {
                    socket.release(frame.cost());
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
    fn heard_of_memory(&mut self, place: u32, memory: &mut impl FrameMemory) -> Option<Arrival> {
        match self.way {
            Way::Offered(offered) => {
                memory.open(offered);
                self.way = Way::Below(offered);
                None
            }
            Way::Socket => Some(Arrival::Offered(place)),
            Way::Below(_) | Way::Above => Some(Arrival::Broken("spoke of shared memory again".into())),
        }
    }

    fn understood(
        &mut self,
        frame: &Frame,
        socket: &impl FrameSocket,
        book: &mut AddressBook,
        formats: &FormatBook,
    ) -> Option<Arrival> {
        if let Some(id) = frame.format
            && self.learnt != Some(id)
            && let Some(format) = socket.format(id)
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
}

impl FrameSocket for Link {
    fn credit_left(&self) -> usize {
        Link::credit_left(self)
    }

    fn send(&mut self, frame: Frame) {
        Link::send(self, frame);
    }

    fn send_format(&mut self, format: &Format) -> Result<(), SendError> {
        Link::send_format(self, format)
    }

    fn format(&self, id: FormatId) -> Option<&Format> {
        Link::format(self, id)
    }

    fn poll(&mut self) -> Option<Event> {
        Link::poll(self)
    }

    fn release(&mut self, cost: usize) {
        Link::release(self, cost);
    }

    fn close(&mut self) {
        Link::close(self);
    }
}

/// A link without a socket.
impl FrameSocket for Connection {
    fn credit_left(&self) -> usize {
        Connection::credit_left(self)
    }

    fn send(&mut self, frame: Frame) {
        Connection::send(self, frame);
    }

    fn send_format(&mut self, format: &Format) -> Result<(), SendError> {
        Connection::send_format(self, format)
    }

    fn format(&self, id: FormatId) -> Option<&Format> {
        Connection::format(self, id)
    }

    fn poll(&mut self) -> Option<Event> {
        self.poll_event()
    }

    fn release(&mut self, cost: usize) {
        Connection::release(self, cost);
    }

    fn close(&mut self) {
        Connection::close(self);
    }
}
