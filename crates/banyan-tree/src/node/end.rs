//! The end of a network: told to every node on the control stream, so that those who have moved hear of it, too.

use super::Node;
use crate::ids::{LinkId, StreamId};
use crate::message::Packet;

impl Node {
    /// At the front-end: the network ends.
    pub fn end(&mut self) {
        self.is_over = true;
        self.control.append(Packet::Over);
        self.pump(StreamId::CONTROL);
    }

    /// At the front-end: whether everyone below has taken what the control stream says.
    pub fn is_control_taken(&self) -> bool {
        self.control.received_by_children().is_none_or(|taken| taken >= self.control.next())
    }

    /// Whether this link is that of a child.
    pub fn is_child(&self, link: LinkId) -> bool {
        self.below.node_of(link).is_some()
    }
}
