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
    pub(crate) fn opened(
        &mut self,
        number: u32,
        socket: impl FnOnce() -> Option<OwnedFd>,
    ) -> Result<usize, Violation> {
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
