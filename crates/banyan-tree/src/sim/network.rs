//! Links between simulated nodes: in order, with delays, that can be cut in one direction or both.
//!
//! A cut link does not lose what was sent: the system sends it again once the way is free. But an end that has not heard
//! from the other for [`SILENCE`] gives the link up, as real links do by their heartbeats.

use std::collections::VecDeque;
use std::time::Duration;

use crate::ids::{LinkId, Time};
use crate::message::Message;

/// An end that has heard nothing for so long gives up.
pub(super) const SILENCE: Duration = Duration::from_secs(3);

/// A wire between two nodes, by number.
pub(super) type WireId = usize;

/// One of the two ends: 0 is the one that dialled.
pub(super) type End = usize;

/// What waits to arrive at an end.
#[derive(Debug)]
pub(super) enum Arrival {
    Message(Message),
    /// The other end has closed.
    Closed,
}

#[derive(Debug)]
pub(super) struct Wire {
    /// The nodes at both ends.
    pub(super) nodes: [usize; 2],
    /// What they call it; the one that was dialled has no name for it before it has heard of it.
    pub(super) names: [Option<LinkId>; 2],
    /// Whether the end has neither closed it nor was told that it is closed.
    pub(super) is_open: [bool; 2],
    /// What is on its way to each end, with the time it comes.
    pub(super) arriving: [VecDeque<(Time, Arrival)>; 2],
}

impl Wire {
    pub(super) fn new(from: usize, to: usize, name: LinkId) -> Wire {
        Wire {
            nodes: [from, to],
            names: [Some(name), None],
            is_open: [true, true],
            arriving: [VecDeque::new(), VecDeque::new()],
        }
    }

    /// Puts something on its way to an end; when it comes, behind all that is on its way already.
    pub(super) fn put(&mut self, end: End, at: Time, arrival: Arrival) -> Time {
        let last = self.arriving[end].back().map_or(Time(0), |(at, _)| *at);
        let at = at.max(last);
        self.arriving[end].push_back((at, arrival));
        at
    }
}
