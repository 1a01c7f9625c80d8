//! Tunnels: connections of an extension that travel in frames of the session's link between an agent and the node above.
//!
//! Each has a number, counted from 1 by the agent, which opens it. Its bytes travel in pieces. Each side may send a
//! [`WINDOW`], and more as the other says that it has handed bytes on. So a socket whose reader is slow stops its own
//! tunnel and nothing else, and memory is bounded. A tunnel is over when both sides have closed it.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use banyan_link::{Frame, Interest, Poller};
use bytes::Bytes;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::message::{TUNNEL_BYTES, TUNNEL_CLOSE, TUNNEL_OPEN, TUNNEL_TAKEN};

/// Tunnels over one link at a time: one carries a network's link, the others are for attempts that were given up and have
/// not ended on both sides.
pub(crate) const TUNNELS: usize = 4;

/// Bytes under way in one direction of a tunnel, and so those kept for a socket that takes none. All tunnels of a link
/// together stay far below what a link queues of control frames.
pub(crate) const WINDOW: usize = 1 << 20;

/// Bytes of one frame at most.
pub(crate) const PIECE: usize = 64 << 10;

/// Pieces read from one socket before others have their turn.
const PIECES_AT_ONCE: usize = 4;

/// What a peer did that no peer may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Violation {
    #[error("the beginning of a tunnel, though the session has no extension")]
    NoExtension,
    #[error("something for a tunnel that it never opened")]
    NeverOpened,
    #[error("something for a tunnel that it had closed")]
    Closed,
    #[error("the beginning of more than {TUNNELS} tunnels at once")]
    TooMany,
    #[error("the beginning of a tunnel with a number that is not its turn")]
    OutOfTurn,
    #[error("more than the window of a tunnel")]
    Window,
    #[error("a piece of a tunnel without bytes, or with more than {PIECE}")]
    Piece,
    #[error("an acknowledgement of bytes of a tunnel that it was not sent")]
    Grant,
}

/// The tunnels over one link, on one side of it.
#[derive(Debug, Default)]
pub(crate) struct Tunnels {
    /// The number of the last one that was opened.
    last: u32,
    slots: [Option<Tunnel>; TUNNELS],
}

#[derive(Debug)]
struct Tunnel {
    number: u32,
    /// Until this side closes it.
    socket: Option<OwnedFd>,
    watched: Option<Interest>,
    may_send: usize,
    /// What has come for the socket.
    incoming: VecDeque<u8>,
    /// Bytes that are done with, of which the peer was not told.
    untold: usize,
    /// This side has closed it, …
    has_closed: bool,
    /// … and the peer has.
    is_closed: bool,
}

impl Tunnels {
    /// Opens one for a socket; the frame that says so goes to `out`. `None`, and the socket is closed, if there are enough.
    pub(crate) fn open(&mut self, socket: OwnedFd, out: &mut Vec<Frame>) -> Option<usize> {
        let slot = self.slots.iter().position(Option::is_none)?;
        let number = self.last.checked_add(1)?;
        self.last = number;
        self.slots[slot] = Some(Tunnel::new(number, Some(socket)));
        out.push(Frame::new(TUNNEL_OPEN, number, 0, Bytes::new()));
        Some(slot)
    }

    /// The peer has opened one, which leads to a socket made for it, or nowhere.
    pub(crate) fn opened(&mut self, number: u32, socket: impl FnOnce() -> Option<OwnedFd>) -> Result<usize, Violation> {
        if Some(number) != self.last.checked_add(1) {
            return Err(Violation::OutOfTurn);
        }
        let slot = self.slots.iter().position(Option::is_none).ok_or(Violation::TooMany)?;
        self.last = number;
        self.slots[slot] = Some(Tunnel::new(number, socket()));
        Ok(slot)
    }

    /// A frame of the peer for a tunnel that is open. The tunnel is to be [served](Self::serve) then.
    pub(crate) fn take(&mut self, frame: &Frame) -> Result<usize, Violation> {
        let number = frame.stream;
        let slot = self.slots.iter().position(|slot| slot.as_ref().is_some_and(|tunnel| tunnel.number == number));
        let Some((slot, tunnel)) = slot.and_then(|slot| Some((slot, self.slots[slot].as_mut()?))) else {
            let is_past = (1..=self.last).contains(&number);
            return Err(if is_past { Violation::Closed } else { Violation::NeverOpened });
        };
        if tunnel.is_closed {
            return Err(Violation::Closed);
        }
        match frame.kind {
            TUNNEL_TAKEN => tunnel.taken(frame.sequence)?,
            TUNNEL_CLOSE => tunnel.is_closed = true,
            _ => tunnel.arrived(&frame.payload)?,
        }
        Ok(slot)
    }

    /// Moves bytes between a tunnel's socket and its link, as far as both go; what is to be sent goes to `out`.
    pub(crate) fn serve(&mut self, slot: usize, buffer: &mut Vec<u8>, poller: &Poller, out: &mut Vec<Frame>) {
        let Some(tunnel) = &mut self.slots[slot] else { return };
        if !tunnel.write(out) || !tunnel.read(buffer, out) {
            tunnel.close(poller, out);
        }
        if tunnel.socket.is_none() && tunnel.is_closed {
            self.slots[slot] = None;
        }
    }

    /// Has the poller look at a tunnel's socket for what can go on; false if it refuses.
    pub(crate) fn watch(&mut self, slot: usize, poller: &Poller, token: u64) -> bool {
        let Some(Tunnel { socket: Some(socket), watched, may_send, incoming, is_closed, .. }) = &mut self.slots[slot]
        else {
            return true;
        };
        let interest = Interest { readable: *may_send > 0 && !*is_closed, writable: !incoming.is_empty() };
        // A socket that nothing is wanted of would still tell of its end, again and again.
        let wanted = (interest.readable || interest.writable).then_some(interest);
        let done = match (*watched, wanted) {
            (before, after) if before == after => Ok(()),
            (None, Some(interest)) => poller.register(&*socket, token, interest),
            (Some(_), Some(interest)) => poller.modify(&*socket, token, interest),
            (_, None) => poller.remove(&*socket),
        };
        *watched = wanted;
        done.is_ok()
    }

    /// This side closes a tunnel.
    pub(crate) fn close(&mut self, slot: usize, poller: &Poller, out: &mut Vec<Frame>) {
        if let Some(tunnel) = &mut self.slots[slot] {
            tunnel.close(poller, out);
            if tunnel.is_closed {
                self.slots[slot] = None;
            }
        }
    }

    /// The link is gone: the sockets of all of them are closed.
    pub(crate) fn end(&mut self, poller: &Poller) {
        for mut tunnel in self.slots.iter_mut().filter_map(Option::take) {
            tunnel.close(poller, &mut Vec::new());
        }
    }
}

impl Tunnel {
    fn new(number: u32, socket: Option<OwnedFd>) -> Tunnel {
        Tunnel {
            number,
            socket,
            watched: None,
            may_send: WINDOW,
            incoming: VecDeque::new(),
            untold: 0,
            has_closed: false,
            is_closed: false,
        }
    }

    fn taken(&mut self, count: u32) -> Result<(), Violation> {
        let sum = self.may_send.checked_add(count as usize).filter(|sum| count > 0 && *sum <= WINDOW);
        self.may_send = sum.ok_or(Violation::Grant)?;
        Ok(())
    }

    fn arrived(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        if !(1..=PIECE).contains(&bytes.len()) {
            return Err(Violation::Piece);
        }
        if self.incoming.len() + self.untold + bytes.len() > WINDOW {
            return Err(Violation::Window);
        }
        if self.socket.is_some() {
            self.incoming.extend(bytes);
        } else {
            // Nobody wants it, and it counts all the same: the peer is to hear of the close before it sends a window more.
            self.untold += bytes.len();
        }
        Ok(())
    }

    /// Hands on what has come; false if the socket is done with.
    fn write(&mut self, out: &mut Vec<Frame>) -> bool {
        let Some(socket) = &self.socket else { return false };
        while !self.incoming.is_empty() {
            let (bytes, _) = self.incoming.as_slices();
            match send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.incoming.drain(..count);
                    self.untold += count;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return false,
            }
        }
        if self.untold >= WINDOW / 4 && !self.is_closed {
            out.push(Frame::new(TUNNEL_TAKEN, self.number, self.untold as u32, Bytes::new()));
            self.untold = 0;
        }
        if self.incoming.is_empty() {
            // Memory of a time when its reader was slow.
            self.incoming.shrink_to(PIECE);
        }
        !(self.is_closed && self.incoming.is_empty())
    }

    /// Reads what the peer has room for; false at the end of the socket.
    fn read(&mut self, buffer: &mut Vec<u8>, out: &mut Vec<Frame>) -> bool {
        let Some(socket) = &self.socket else { return false };
        buffer.resize(buffer.len().max(PIECE), 0);
        for _ in 0..PIECES_AT_ONCE {
            let room = self.may_send.min(PIECE);
            if room == 0 || self.is_closed {
                break;
            }
            match recv(socket, &mut buffer[..room], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return false,
                Ok((count, _)) => {
                    self.may_send -= count;
                    out.push(Frame::new(TUNNEL_BYTES, self.number, 0, Bytes::copy_from_slice(&buffer[..count])));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return false,
            }
        }
        true
    }

    /// Nothing more goes through it from here.
    fn close(&mut self, poller: &Poller, out: &mut Vec<Frame>) {
        if let Some(socket) = self.socket.take()
            && self.watched.take().is_some()
        {
            // What the poller has forgotten by itself is as good.
            let _ = poller.remove(&socket);
        }
        // The peer is not told that there is room again.
        self.untold += self.incoming.len();
        self.incoming = VecDeque::new();
        if !std::mem::replace(&mut self.has_closed, true) {
            out.push(Frame::new(TUNNEL_CLOSE, self.number, 0, Bytes::new()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    /// One side of a link, and the ends of its tunnels that its extension has.
    struct Side {
        tunnels: Tunnels,
        poller: Poller,
        /// Frames on their way to the other side.
        out: VecDeque<Frame>,
        ends: Vec<UnixStream>,
        /// How many bytes each end has written and read.
        written: Vec<usize>,
        read: Vec<usize>,
        buffer: Vec<u8>,
    }

    impl Side {
        fn new() -> Side {
            let (tunnels, poller, out) = (Tunnels::default(), Poller::new().unwrap(), VecDeque::new());
            let (ends, written, read, buffer) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            Side { tunnels, poller, out, ends, written, read, buffer }
        }

        fn end(&mut self) -> OwnedFd {
            let (ours, theirs) = UnixStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            self.ends.push(ours);
            self.written.push(0);
            self.read.push(0);
            theirs.into()
        }

        fn serve(&mut self, slot: usize) {
            let mut out = Vec::new();
            self.tunnels.serve(slot, &mut self.buffer, &self.poller, &mut out);
            assert!(self.tunnels.watch(slot, &self.poller, slot as u64));
            self.out.extend(out);
            let kept = self.tunnels.slots[slot].as_ref().map_or(0, |tunnel| tunnel.incoming.len() + tunnel.untold);
            assert!(kept <= WINDOW, "{kept} bytes are kept");
        }

        /// Writes what the socket takes of so many bytes; each says where it stands.
        fn write(&mut self, end: usize, count: usize) {
            match self.ends[end].write(pattern(self.written[end], count)) {
                Ok(count) => self.written[end] += count,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            self.serve(end);
        }

        fn read(&mut self, end: usize, count: usize) {
            let mut bytes = vec![0; count];
            match self.ends[end].read(&mut bytes) {
                Ok(count) => {
                    assert!(bytes[..count] == *pattern(self.read[end], count), "in order");
                    self.read[end] += count;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            self.serve(end);
        }
    }

    /// What stands in a stream from a place on.
    fn pattern(from: usize, count: usize) -> &'static [u8] {
        const PERIOD: usize = 251;
        static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| (0..=250).cycle().take(WINDOW + PERIOD).collect());
        &BYTES[from % PERIOD..][..count]
    }

    /// An agent with so many tunnels to the node above, which come to slots of the same numbers.
    fn sides(tunnels: usize) -> [Side; 2] {
        let mut sides = [Side::new(), Side::new()];
        for _ in 0..tunnels {
            let [below, _] = &mut sides;
            let socket = below.end();
            let mut out = Vec::new();
            below.tunnels.open(socket, &mut out).unwrap();
            below.out.extend(out);
            deliver(&mut sides, 0, usize::MAX);
        }
        sides
    }

    /// Takes so many frames of one side to the other.
    fn deliver(sides: &mut [Side; 2], from: usize, count: usize) {
        let [below, above] = sides;
        let (from, to) = if from == 0 { (below, above) } else { (above, below) };
        for _ in 0..count.min(from.out.len()) {
            let frame = from.out.pop_front().unwrap();
            let slot = match frame.kind {
                TUNNEL_OPEN => {
                    let socket = to.end();
                    to.tunnels.opened(frame.stream, || Some(socket)).unwrap()
                }
                _ => to.tunnels.take(&frame).unwrap(),
            };
            to.serve(slot);
        }
    }

    #[derive(Debug, Clone)]
    enum Operation {
        Write(usize, usize, usize),
        Read(usize, usize, usize),
        Deliver(usize, usize),
    }

    fn step() -> impl Strategy<Value = Operation> {
        let (side, end) = (0..2usize, 0..TUNNELS);
        prop_oneof![
            (side.clone(), end.clone(), 1..400_000usize)
                .prop_map(|(side, end, count)| Operation::Write(side, end, count)),
            (side.clone(), end, 1..200_000usize).prop_map(|(side, end, count)| Operation::Read(side, end, count)),
            (side, 1..20usize).prop_map(|(side, count)| Operation::Deliver(side, count)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
        #[test]
        fn at_whatever_pace_all_bytes_arrive_in_order_and_what_is_kept_has_a_bound(
            steps in proptest::collection::vec(step(), 1..100)
        ) {
            let mut sides = sides(TUNNELS);
            for step in steps {
                match step {
                    Operation::Write(side, end, count) => sides[side].write(end, count),
                    Operation::Read(side, end, count) => sides[side].read(end, count),
                    Operation::Deliver(side, count) => deliver(&mut sides, side, count),
                }
            }
            let is_done = |sides: &[Side; 2]| sides[0].written == sides[1].read && sides[1].written == sides[0].read;
            let mut rounds = 0;
            while !is_done(&sides) {
                rounds += 1;
                prop_assert!(rounds < 10_000, "{:?} of {:?}", sides[1].read, sides[0].written);
                (0..2).for_each(|side| (0..TUNNELS).for_each(|end| sides[side].read(end, PIECE)));
                (0..2).for_each(|side| deliver(&mut sides, side, usize::MAX));
            }
        }
    }

    #[test]
    fn a_reader_that_takes_nothing_stops_its_own_tunnel_and_no_other() {
        let mut sides = sides(2);
        for _ in 0..100 {
            sides[0].write(0, PIECE);
            deliver(&mut sides, 0, usize::MAX);
            deliver(&mut sides, 1, usize::MAX);
        }
        let stuck = sides[0].written[0];
        assert!((WINDOW..2 * WINDOW).contains(&stuck), "a window, and what two sockets hold: {stuck}");
        for _ in 0..100 {
            sides[0].write(1, PIECE);
            deliver(&mut sides, 0, usize::MAX);
            sides[1].read(1, 2 * PIECE);
            deliver(&mut sides, 1, usize::MAX);
        }
        assert!(sides[1].read[1] > 4 * WINDOW, "{} bytes", sides[1].read[1]);
        assert_eq!(sides[0].written[0], stuck);
    }

    #[test]
    fn what_was_written_before_an_end_arrives_and_then_the_end() {
        let mut sides = sides(1);
        sides[0].write(0, 3 * PIECE);
        let written = sides[0].written[0];
        sides[0].ends.clear();
        for _ in 0..4 {
            sides[0].serve(0);
            deliver(&mut sides, 0, usize::MAX);
        }
        let mut all = Vec::new();
        sides[1].ends[0].set_nonblocking(false).unwrap();
        let mut end = sides[1].ends[0].try_clone().unwrap();
        let reader = std::thread::spawn(move || end.read_to_end(&mut all).unwrap());
        while sides[1].tunnels.slots[0].is_some() {
            sides[1].serve(0);
        }
        assert_eq!(reader.join().unwrap(), written);
        deliver(&mut sides, 1, usize::MAX);
        assert!(sides.iter().all(|side| side.tunnels.slots.iter().all(Option::is_none)), "both have closed it");
        // Its number is not used again, and its place is.
        let (socket, mut out) = (sides[0].end(), Vec::new());
        assert_eq!(sides[0].tunnels.open(socket, &mut out), Some(0));
        assert_eq!((out[0].kind, out[0].stream), (TUNNEL_OPEN, 2));
    }

    fn bytes(number: u32, count: usize) -> Frame {
        Frame::new(TUNNEL_BYTES, number, 0, vec![0; count])
    }

    /// The node above, where one tunnel is open whose socket nobody reads.
    fn above() -> Side {
        let mut above = Side::new();
        let socket = above.end();
        above.tunnels.opened(1, || Some(socket)).unwrap();
        above
    }

    #[test]
    fn what_no_peer_may_do_is_an_error_that_says_what_it_was() {
        let refused = |frame: &Frame| above().tunnels.take(frame).unwrap_err();
        assert_eq!(refused(&bytes(0, 1)), Violation::NeverOpened);
        assert_eq!(refused(&bytes(2, 1)), Violation::NeverOpened);
        assert_eq!(refused(&bytes(1, 0)), Violation::Piece);
        assert_eq!(refused(&bytes(1, PIECE + 1)), Violation::Piece);
        assert_eq!(refused(&Frame::new(TUNNEL_TAKEN, 1, 1, Bytes::new())), Violation::Grant);
        assert_eq!(refused(&Frame::new(TUNNEL_TAKEN, 1, u32::MAX, Bytes::new())), Violation::Grant);
        for number in [0, 1, 3, u32::MAX] {
            assert_eq!(above().tunnels.opened(number, || None), Err(Violation::OutOfTurn));
        }
        let mut side = above();
        let close = Frame::new(TUNNEL_CLOSE, 1, 0, Bytes::new());
        side.tunnels.take(&close).unwrap();
        assert_eq!(side.tunnels.take(&bytes(1, 1)), Err(Violation::Closed));
        side.serve(0);
        assert_eq!(side.tunnels.take(&close), Err(Violation::Closed));
    }

    #[test]
    fn nobody_has_more_tunnels_or_more_bytes_in_one_than_there_may_be() {
        let mut side = above();
        for number in 2..=TUNNELS as u32 {
            let socket = side.end();
            side.tunnels.opened(number, || Some(socket)).unwrap();
        }
        assert_eq!(side.tunnels.opened(TUNNELS as u32 + 1, || None), Err(Violation::TooMany));
        // Before anything was handed on, …
        for _ in 0..WINDOW / PIECE {
            side.tunnels.take(&bytes(1, PIECE)).unwrap();
        }
        assert_eq!(side.tunnels.take(&bytes(1, 1)), Err(Violation::Window));
        // … and when it goes nowhere.
        side.tunnels.close(1, &side.poller, &mut Vec::new());
        for _ in 0..WINDOW / PIECE {
            side.tunnels.take(&bytes(2, PIECE)).unwrap();
        }
        assert_eq!(side.tunnels.take(&bytes(2, 1)), Err(Violation::Window));
    }
}
