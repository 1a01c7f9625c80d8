//! A parent's side: the memory, and all places in it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use banyan_link::shared::{Hub, SharedError};
use banyan_link::{Bell, Frame, Handed};

use super::Next;

/// Places for children that come later: those of nodes that have died.
const SPARE: u32 = 16;

/// Frames of one child that a node takes before others have their turn: more than a ring holds, unless the child writes
/// while they are read.
const FRAMES_AT_ONCE: u32 = 256;

/// See the module.
#[derive(Debug)]
pub(in super::super) struct Below {
    hub: Hub,
    /// By which children wake this node.
    call: Bell,
    /// What children need of it.
    descriptors: Arc<Handed>,
    /// Places that were offered, and that there are: none is offered twice, since who had it may still write there.
    offered: u32,
    places: u32,
    /// Something was written that nobody was woken for.
    is_unread: bool,
    /// The child that is read, and how many more of its frames.
    turn: (u32, u32),
    /// A child may have written more than was taken.
    is_unfinished: bool,
    /// This node has called itself, and not looked since.
    is_called: bool,
}

impl Below {
    /// For a node that expects so many children.
    pub(in super::super) fn new(children: u32) -> io::Result<Below> {
        let places = children.saturating_add(SPARE);
        let (hub, call) = (Hub::new(places)?, Bell::new()?);
        let [memory, bell] = hub.descriptors();
        let own = |descriptor: BorrowedFd<'_>| descriptor.try_clone_to_owned();
        let descriptors = Arc::new([own(memory)?, own(bell)?, own(call.as_fd())?]);
        let turn = (0, FRAMES_AT_ONCE);
        let (is_unread, is_unfinished, is_called) = (false, false, false);
        Ok(Below { hub, call, descriptors, offered: 0, places, is_unread, turn, is_unfinished, is_called })
    }

    /// What wakes this node.
    pub(in super::super) fn bell(&self) -> BorrowedFd<'_> {
        self.call.as_fd()
    }

    /// What children need to share this memory.
    pub(in super::super) fn descriptors(&self) -> &Arc<Handed> {
        &self.descriptors
    }

    /// Whether there is a place for one more child.
    pub(in super::super) fn has_place(&self) -> bool {
        self.offered < self.places
    }

    /// A place for one more child, if there is one.
    pub(in super::super) fn place(&mut self) -> Option<u32> {
        let place = self.has_place().then_some(self.offered)?;
        self.offered += 1;
        Some(place)
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

    /// Whether children may have written something, which will be found from now on.
    pub(in super::super) fn look(&mut self) -> bool {
        self.is_called = false;
        let is_due = std::mem::take(&mut self.is_unfinished) || self.hub.is_due(1);
        if is_due {
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
