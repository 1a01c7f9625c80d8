//! Whether a parent had heard of everyone below a node when it left a packet out.
//!
//! A packet for some members goes only to children that have any of them below. A node may have taken in another since, of which
//! its parent has not heard: then it cannot tell whether a packet that was left out is for that one, and asks. So both count
//! the joins that a node tells its parent, and the parent says how many it has heard of before it leaves something out.

use super::Node;
use crate::ids::LinkId;
use crate::message::Message;
use crate::sorted::SortedMap;

#[derive(Debug, Default)]
pub(super) struct Joins {
    /// Joins below this node.
    count: u64,
    /// How many there were when this node asked for its parent, and when the parent became that.
    asked: u64,
    base: u64,
    /// Those that the parent had heard of before it said what comes now.
    heard: u64,
    /// The last one below each child.
    last: SortedMap<LinkId, u64>,
    children: SortedMap<LinkId, Told>,
}

/// What a child has told, and been told.
#[derive(Debug, Default)]
struct Told {
    joins: u32,
    heard: u32,
}

impl Joins {
    /// Someone has joined by a child's link.
    pub(super) fn note(&mut self, link: LinkId) {
        self.count += 1;
        self.last.insert(link, self.count);
    }

    /// This node asks for a parent, and names everyone below.
    pub(super) fn ask(&mut self) {
        self.asked = self.count;
    }

    /// It has found one. If it tells at once of those who have joined since it asked, that counts as a join.
    pub(super) fn begin(&mut self, tells_again: bool) {
        (self.base, self.heard) = (self.count, self.asked);
        self.count += u64::from(tells_again);
    }

    /// The parent has heard of so many joins since it is that.
    pub(super) fn hear(&mut self, joins: u32) {
        self.heard = self.base + u64::from(joins);
    }

    /// The joins of which the parent has heard.
    pub(super) fn heard(&self) -> u64 {
        self.heard
    }

    /// The last join below a child.
    pub(super) fn last(&self, link: LinkId) -> u64 {
        self.last.get(&link).copied().unwrap_or_default()
    }

    /// A child has told of a join.
    pub(super) fn tell(&mut self, link: LinkId) {
        self.children.get_or_insert_with(link, Told::default).joins += 1;
    }

    /// How many joins of a child are known here, if it was not told that.
    fn unannounced(&mut self, link: LinkId) -> Option<u32> {
        let told = self.children.get_mut(&link).filter(|told| told.heard < told.joins)?;
        told.heard = told.joins;
        Some(told.joins)
    }

    pub(super) fn forget(&mut self, link: LinkId) {
        self.last.remove(&link);
        self.children.remove(&link);
    }
}

impl Node {
    /// Before something is left out on a link: says of how many joins below that child this node has heard.
    pub(super) fn tell_joins(&mut self, link: LinkId) {
        if let Some(joins) = self.joins.unannounced(link) {
            self.send(link, Message::JoinsHeard(joins));
        }
    }
}
