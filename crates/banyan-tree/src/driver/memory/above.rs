//! A child's side: its place in the memory of its parent.

use std::io;
use std::os::fd::BorrowedFd;

use banyan_link::shared::{SharedError, Spoke};
use banyan_link::{Bell, Frame, Handed};

use crate::link_protocol::Next;

/// See the module.
#[derive(Debug)]
pub(in super::super) struct ParentMemory {
    spoke: Spoke,
    /// By which it wakes the parent.
    call: Bell,
    /// Something was written that the parent does not count on.
    is_urgent: bool,
}

impl ParentMemory {
    /// A place in the memory whose descriptors the parent has handed over.
    pub(in super::super) fn new([signals, place, bell, call]: Handed, number: u32) -> io::Result<ParentMemory> {
        let spoke = Spoke::new([signals, place, bell], None, number)?;
        Ok(ParentMemory { spoke, call: call.into(), is_urgent: false })
    }

    /// What wakes this side.
    pub(in super::super) fn bell(&self) -> BorrowedFd<'_> {
        self.spoke.bell()
    }

    /// Writes a frame, when so many have gone by the socket; false where there is no room for it. One that is expected waits for
    /// others.
    pub(in super::super) fn send(&mut self, frame: &Frame, by_socket: u32, is_expected: bool) -> bool {
        let is_written = self.spoke.send_in_order(frame, by_socket);
        self.is_urgent |= is_written && !is_expected;
        is_written
    }

    /// Lets the parent know of what was written, if anything was.
    pub(in super::super) fn announce(&mut self) {
        if self.spoke.announce(std::mem::take(&mut self.is_urgent)) {
            self.call.ring();
        }
    }

    /// The next frame, if its turn has come: so many were taken from the socket.
    pub(in super::super) fn receive(&mut self, from_socket: u32) -> Result<Next, SharedError> {
        Ok(self.spoke.receive_in_order(from_socket)?.map_or(Next::Nothing, Next::Frame))
    }
}
