//! What happens in a simulation, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::faults::Fault;
use super::network::{EndIndex, WireId};
use crate::ids::Time;

/// Something that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happening {
    /// Something arrives at an end of a wire.
    Arrival(WireId, EndIndex),
    /// A dial reaches the one that was dialled.
    Dialled(WireId),
    /// A dial fails.
    Refused(WireId),
    /// An end that may have heard nothing for too long looks whether that is so.
    Silence(WireId, EndIndex),
    /// The system takes more of what an end has to send.
    Writable(WireId, EndIndex),
    /// An end is woken because something was written to the memory that it shares.
    Rung(WireId, EndIndex),
    /// A node's deadline.
    Wake(usize),
    /// A node looks whether to compare clocks.
    Compare(usize),
    /// A word about clocks arrives.
    Clock(usize),
    /// A node's program goes on.
    Program(usize),
    /// Something goes wrong.
    Fault(Fault),
    /// A member that was not there joins.
    Join(usize),
    /// An inner node that was killed is started again.
    Restart(usize),
    /// Another process takes the place of this one, which is a member.
    Succeed(usize),
}

/// What is still to happen.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(Time, u64, usize)>>,
    happenings: Vec<Happening>,
    free: Vec<usize>,
    count: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, at: Time, happening: Happening) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.happenings[slot] = happening;
                slot
            }
            None => {
                self.happenings.push(happening);
                self.happenings.len() - 1
            }
        };
        self.count += 1;
        // Of things at the same time, what was planned first happens first.
        self.heap.push(Reverse((at, self.count, slot)));
    }

    pub(super) fn next(&mut self) -> Option<(Time, Happening)> {
        let Reverse((at, _, slot)) = self.heap.pop()?;
        self.free.push(slot);
        Some((at, self.happenings[slot]))
    }
}
