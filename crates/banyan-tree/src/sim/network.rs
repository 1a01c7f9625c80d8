//! Links between simulated nodes: bytes in order, with delays, that can be cut in one direction or both; and memory that
//! both ends share, if they are on one host.
//!
//! Both ends are real ones: messages become frames by the protocol that drivers run, and frames become bytes by that of
//! links, with formats and credit. A cut link does not lose what was sent: the system sends it again once the way is free.
//! But an end that has not heard from the other for [`SILENCE`] gives the link up, as real links do by their heartbeats.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::mem::{Discriminant, discriminant};
use std::time::{Duration, Instant};

use banyan_link::shared::{SHARED_PAYLOAD, SharedError};
use banyan_link::{Connection, Frame, INITIAL_CREDIT, LinkOptions, Slabs};

use crate::format_book::FormatBook;
use crate::ids::{LinkId, StreamId, Time};
use crate::link_protocol::{self, FrameMemory, LinkProtocol, Next, Way};
use crate::message::{Message, Packet};
use crate::wire::{AddressBook, SHORTEST_PAYLOAD};

/// An end that has heard nothing for so long gives up.
pub(super) const SILENCE: Duration = Duration::from_secs(3);

/// Bytes that the system holds of what is on its way to an end, and that frames in shared memory take.
const SOCKET_BYTES: usize = 16 << 10;
const RING_BYTES: usize = 4 << 10;

/// SimulatedMemory that is kept for what links receive and send: all of them say hello at once.
const SPARE_BYTES: usize = 64 << 20;

/// Pieces that are sent at once.
const PIECES: usize = 16;

/// A wire between two nodes, by number.
pub(super) type WireId = usize;

/// One of the two ends: 0 is the one that dialled.
pub(super) type EndIndex = usize;

/// What waits to arrive at an end.
#[derive(Debug)]
pub(super) enum WireArrival {
    Bytes(Vec<u8>),
    /// The other end has closed.
    Closed,
}

/// How links are made: with as little room as links may have, so that messages are cut and wait for credit.
pub(super) fn link_options() -> LinkOptions {
    let slabs = Slabs::keeping(SPARE_BYTES);
    LinkOptions::inherited().max_payload(SHORTEST_PAYLOAD).window(INITIAL_CREDIT).slabs(slabs)
}

/// A node's end of a wire.
#[derive(Debug)]
pub(super) struct WireEnd {
    pub(super) connection: Connection,
    pub(super) protocol: LinkProtocol,
}

impl WireEnd {
    pub(super) fn new(options: &LinkOptions, is_local: bool, now: Instant) -> WireEnd {
        let protocol = LinkProtocol::new(options.max_payload, is_local);
        WireEnd { connection: Connection::inherited(options, now), protocol }
    }

    /// So many bytes of what can be sent now.
    fn transmit(&mut self, most: usize, now: Instant) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < most {
            let mut pieces = [IoSlice::new(&[]); PIECES];
            let count = self.connection.poll_transmit(&mut pieces);
            let begin = bytes.len();
            for piece in &pieces[..count] {
                bytes.extend_from_slice(&piece[..piece.len().min(most - bytes.len())]);
            }
            if bytes.len() == begin {
                break;
            }
            self.connection.sent(bytes.len() - begin, now);
        }
        self.connection.settle();
        bytes
    }

    /// Whether everything was sent, the goodbye included.
    fn is_finished(&self) -> bool {
        self.protocol.is_closing() && self.connection.is_finished()
    }
}

/// What is known of a message that was sent, to compare with what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    kind: Discriminant<Message>,
    stream: StreamId,
    /// The number of the first wave or packet, if it has one.
    first: u64,
    /// Waves, or 1.
    count: u32,
    contributes: bool,
}

impl Sent {
    pub(super) fn of(message: &Message) -> Sent {
        let (stream, first, count) = match message {
            Message::Run(run) => (run.stream, run.first.0, run.len()),
            Message::Packet { stream, sequence, packet: Packet::Close(closed) } => (*stream, *sequence, closed.0),
            Message::Packet { stream, sequence, .. } => (*stream, *sequence, 1),
            Message::Acknowledge { stream, until } => (*stream, until.0, 1),
            Message::Participate { stream, next } | Message::Begin { stream, next } => (*stream, next.0, 1),
            Message::Received { stream, until } | Message::Skipped { stream, until } => (*stream, *until, 1),
            Message::Resend { stream, from } => (*stream, *from, 1),
            Message::Withdraw(stream)
            | Message::Again(stream)
            | Message::WantAcknowledgement(stream)
            | Message::WantReceipt(stream) => (*stream, 0, 1),
            Message::Uncombined { stream, wave, .. } => (*stream, wave.0, 1),
            _ => (StreamId::CONTROL, 0, 1),
        };
        Sent { kind: discriminant(message), stream, first, count, contributes: matches!(message, Message::Run(_)) }
    }

    /// The stream that it contributes to, and how often; if it does.
    pub(super) fn contributions(&self) -> Option<(StreamId, u64)> {
        self.contributes.then_some((self.stream, u64::from(self.count)))
    }

    /// Takes off what has come; false if that is not what comes next. Of a long run a part may.
    fn take(&mut self, came: &Sent) -> bool {
        let is_begin = (self.kind, self.stream, self.first) == (came.kind, came.stream, came.first);
        if !is_begin || came.count > self.count {
            return false;
        }
        self.first += u64::from(came.count);
        self.count -= came.count;
        true
    }
}

/// Frames in memory that both ends share, on their way to each.
#[derive(Debug, Default)]
struct Rings {
    frames: [VecDeque<(Frame, u32)>; 2],
    bytes: [usize; 2],
}

/// What an end sees of them.
struct SimulatedMemory<'a> {
    rings: &'a mut Rings,
    own: EndIndex,
    has_written: bool,
}

impl FrameMemory for SimulatedMemory<'_> {
    fn write(&mut self, way: Way, frame: &Frame, by_socket: u32, _is_expected: bool) -> bool {
        let other = 1 - self.own;
        let has_room = frame.payload.len() <= SHARED_PAYLOAD && self.rings.bytes[other] + frame.cost() <= RING_BYTES;
        let is_written = has_room && matches!(way, Way::Below(_) | Way::Above);
        if is_written {
            self.rings.bytes[other] += frame.cost();
            self.rings.frames[other].push_back((frame.clone(), by_socket));
            self.has_written = true;
        }
        is_written
    }

    fn read(&mut self, way: Way, from_socket: u32) -> Result<Next, SharedError> {
        let ring = &mut self.rings.frames[self.own];
        let is_read = matches!(way, Way::Below(_) | Way::Above);
        let has_come = |by_socket: u32| by_socket.wrapping_sub(from_socket).cast_signed() <= 0;
        match ring.front() {
            Some((_, by_socket)) if is_read && has_come(*by_socket) => {}
            _ => return Ok(Next::Nothing),
        }
        let Some((frame, _)) = ring.pop_front() else { return Ok(Next::Nothing) };
        self.rings.bytes[self.own] -= frame.cost();
        Ok(Next::Frame(frame))
    }

    fn open(&mut self, _place: u32) {}
}

#[derive(Debug)]
pub(super) struct Wire {
    /// The nodes at both ends.
    pub(super) nodes: [usize; 2],
    /// What they call it; the one that was dialled has no name for it before it has heard of it.
    pub(super) names: [Option<LinkId>; 2],
    /// Whether the end has neither closed it nor was told that it is closed.
    pub(super) is_open: [bool; 2],
    /// The ends, from when they are made until they are closed.
    pub(super) ends: [Option<Box<WireEnd>>; 2],
    /// What is on its way to each end, with the time it comes.
    pub(super) arriving: [VecDeque<(Time, WireArrival)>; 2],
    /// Bytes of that.
    arriving_bytes: [usize; 2],
    /// Messages that were sent to each end and have not come.
    pub(super) sent: [VecDeque<Sent>; 2],
    rings: Rings,
    /// Whether the end waits until the system takes more.
    pub(super) is_blocked: [bool; 2],
    /// Whether the end is to be woken because something was written to memory.
    pub(super) is_rung: [bool; 2],
}

impl Wire {
    pub(super) fn new(from: usize, to: usize, name: LinkId) -> Wire {
        Wire {
            nodes: [from, to],
            names: [Some(name), None],
            is_open: [true, true],
            ends: [None, None],
            arriving: [VecDeque::new(), VecDeque::new()],
            arriving_bytes: [0; 2],
            sent: [VecDeque::new(), VecDeque::new()],
            rings: Rings::default(),
            is_blocked: [false; 2],
            is_rung: [false; 2],
        }
    }

    /// Whether both nodes are on one host: so is every other wire.
    pub(super) fn is_local(wire: WireId) -> bool {
        wire.is_multiple_of(2)
    }

    /// Puts something on its way to an end; when it comes, behind all that is on its way already.
    pub(super) fn put(&mut self, end: EndIndex, at: Time, arrival: WireArrival) -> Time {
        let last = self.arriving[end].back().map_or(Time(0), |(at, _)| *at);
        let at = at.max(last);
        if let WireArrival::Bytes(bytes) = &arrival {
            self.arriving_bytes[end] += bytes.len();
        }
        self.arriving[end].push_back((at, arrival));
        at
    }

    /// What comes next to an end.
    pub(super) fn take(&mut self, end: EndIndex) -> Option<WireArrival> {
        let (_, arrival) = self.arriving[end].pop_front()?;
        if let WireArrival::Bytes(bytes) = &arrival {
            self.arriving_bytes[end] -= bytes.len();
        }
        Some(arrival)
    }

    /// Of what is on its way to an end so much never comes: all behind these, and of the last of these what is behind so
    /// many bytes.
    pub(super) fn lose(&mut self, end: EndIndex, keep: usize, bytes: Option<usize>) {
        self.arriving[end].truncate(keep);
        if let (Some((_, WireArrival::Bytes(last))), Some(bytes)) = (self.arriving[end].back_mut(), bytes) {
            last.truncate(bytes);
        }
        let bytes = self.arriving[end].iter().map(|(_, arrival)| match arrival {
            WireArrival::Bytes(bytes) => bytes.len(),
            WireArrival::Closed => 0,
        });
        self.arriving_bytes[end] = bytes.sum();
    }

    /// An end is given up: nobody reads what was sent to it.
    pub(super) fn close(&mut self, end: EndIndex) -> Vec<Sent> {
        self.is_open[end] = false;
        self.ends[end] = None;
        self.arriving[end].clear();
        self.arriving_bytes[end] = 0;
        self.rings.frames[end].clear();
        self.sent[end].drain(..).collect()
    }

    /// Takes what an end can send now, and whether it has written to memory. What the system does not take waits.
    pub(super) fn transmit(&mut self, end: EndIndex, formats: &FormatBook, now: Instant) -> (Vec<u8>, bool) {
        let most = SOCKET_BYTES.saturating_sub(self.arriving_bytes[1 - end]);
        let Some(own) = &mut self.ends[end] else { return (Vec::new(), false) };
        let mut memory = SimulatedMemory { rings: &mut self.rings, own: end, has_written: false };
        own.protocol.flush(&mut own.connection, &mut memory, formats);
        let has_written = memory.has_written;
        let bytes = own.transmit(most, now);
        self.is_blocked[end] = own.connection.wants_transmit();
        (bytes, has_written)
    }

    /// Whether an end has said everything, and may go.
    pub(super) fn is_finished(&self, end: EndIndex) -> bool {
        self.ends[end].as_ref().is_some_and(|own| own.is_finished())
    }

    /// What has arrived next at an end.
    pub(super) fn next(
        &mut self,
        end: EndIndex,
        book: &mut AddressBook,
        formats: &FormatBook,
    ) -> Option<link_protocol::Arrival> {
        let own = self.ends[end].as_mut()?;
        let mut memory = SimulatedMemory { rings: &mut self.rings, own: end, has_written: false };
        own.protocol.next(&mut own.connection, &mut memory, book, formats)
    }

    /// Compares what has come with what was sent; what should have come, if it was something else.
    pub(super) fn compare(&mut self, end: EndIndex, came: &Sent) -> Result<(), Option<Sent>> {
        let Some(next) = self.sent[end].front_mut() else { return Err(None) };
        let expected = *next;
        if !next.take(came) {
            return Err(Some(expected));
        }
        if next.count == 0 {
            self.sent[end].pop_front();
        }
        Ok(())
    }
}
