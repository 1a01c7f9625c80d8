//! A parent's side: the memory, and all places in it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_link::shared::{Hub, SharedError};
use banyan_link::{Bell, Frame, Handing};

use crate::link_protocol::Next;

/// Frames of one child that a node takes before others have their turn: more than a ring holds, unless the child writes
/// while they are read.
const FRAMES_AT_ONCE: u32 = 256;

/// A node looks at all places after this time at the latest, whoever has called it: a child that was stopped just when it
/// should have called, or one that spoils what the others announce themselves by, makes these no later than that.
const UNASKED: Duration = Duration::from_millis(250);

/// See the module.
#[derive(Debug)]
pub(in super::super) struct ChildrenMemory {
    hub: Hub,
    /// By which children wake this node.
    call: Bell,
    call_descriptor: Arc<OwnedFd>,
    /// Something was written that nobody was woken for.
    is_unread: bool,
    /// The child that is read, and how many more of its frames.
    turn: (u32, u32),
    /// A child may have written more than was taken.
    is_unfinished: bool,
    /// This node has called itself, and not looked since.
    is_called: bool,
    /// When to look whoever has called.
    look_at: Instant,
}

impl ChildrenMemory {
    pub(in super::super) fn new() -> io::Result<ChildrenMemory> {
        let call = Bell::new()?;
        Ok(ChildrenMemory {
            hub: Hub::new()?,
            call_descriptor: Arc::new(call.as_fd().try_clone_to_owned()?),
            call,
            is_unread: false,
            turn: (0, FRAMES_AT_ONCE),
            is_unfinished: false,
            is_called: false,
            look_at: Instant::now() + UNASKED,
        })
    }

    /// What wakes this node.
    pub(in super::super) fn bell(&self) -> BorrowedFd<'_> {
        self.call.as_fd()
    }

    /// Makes a place for one more child: its number, and what the child needs to share it.
    pub(in super::super) fn place(&mut self) -> io::Result<(u32, Handing)> {
        // Numbers are those of children, so there are few.
        let free = (0..).find(|number| !self.hub.has(*number)).unwrap_or_default();
        let [signals, place, bell] = self.hub.place(free)?;
        Ok((free, [signals, place, bell, Arc::clone(&self.call_descriptor)]))
    }

    /// The child with this place reads there.
    pub(in super::super) fn open(&mut self, place: u32) {
        self.hub.open(place);
    }

    /// It is gone.
    pub(in super::super) fn close(&mut self, place: u32) {
        self.hub.close(place);
    }

    /// It is the turn of this child, again.
    pub(in super::super) fn begin_turn(&mut self, place: u32) {
        self.turn = (place, FRAMES_AT_ONCE);
    }

    /// Whether frames for so many children are better written here: who wakes one wakes all.
    pub(in super::super) fn suits(&self, children: usize) -> bool {
        2 * children >= self.hub.open_spokes() as usize
    }

    /// Writes a frame, when so many have gone by the socket; false where there is no room for it.
    pub(in super::super) fn send(&mut self, place: u32, frame: &Frame, by_socket: u32) -> bool {
        let is_written = self.hub.send_in_order(place, frame, by_socket);
        self.is_unread |= is_written;
        is_written
    }

    /// Lets children know of what was written, if anything was.
    pub(in super::super) fn announce(&mut self) {
        if std::mem::take(&mut self.is_unread) {
            self.hub.ring();
        }
    }

    /// The next frame of a child, if its turn has come: so many were taken from the socket.
    pub(in super::super) fn receive(&mut self, place: u32, from_socket: u32) -> Result<Next, SharedError> {
        if self.turn.0 != place {
            self.begin_turn(place);
        }
        if self.turn.1 == 0 {
            self.is_unfinished = true;
            return Ok(Next::Later);
        }
        let frame = self.hub.receive_in_order(place, from_socket)?;
        self.turn.1 -= u32::from(frame.is_some());
        Ok(frame.map_or(Next::Nothing, Next::Frame))
    }

    /// Wakes whoever waits for the bell of this node: there is something to look at.
    pub(in super::super) fn call_oneself(&mut self) {
        if !std::mem::replace(&mut self.is_called, true) {
            self.call.ring();
        }
    }

    /// When this node looks whoever has called it, if there is a place to look at.
    pub(in super::super) fn deadline(&self) -> Option<Instant> {
        (self.hub.open_spokes() > 0).then_some(self.look_at)
    }

    /// Whether children may have written something, which will be found from now on.
    pub(in super::super) fn look(&mut self, now: Instant) -> bool {
        self.is_called = false;
        let is_due = std::mem::take(&mut self.is_unfinished) || self.hub.is_due(1) || self.look_at <= now;
        if is_due {
            self.look_at = now + UNASKED;
            self.hub.look();
            self.turn.1 = FRAMES_AT_ONCE;
        }
        is_due
    }

    /// This node goes to sleep, and wants to be woken when so many children have written something; false if they have.
    pub(in super::super) fn doze(&mut self, awaited: u32) -> bool {
        !self.is_unfinished && self.hub.doze(awaited)
    }
}
