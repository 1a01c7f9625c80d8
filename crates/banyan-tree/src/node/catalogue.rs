//! Which streams are open, for those who come when the packets of the control stream that opened them are gone.
//!
//! Every node knows all streams that are open, up to the packet of the control stream that it is at, and drops those
//! packets when all its children have them. A child that needs earlier ones gets the openings of what is open instead, and
//! the word that these are all. So streams that were opened and closed again leave nothing behind, and one who was away when
//! a stream was closed hears of that too.

use std::sync::Arc;

use super::Node;
use super::newcomer::MemberPhase;
use crate::ids::{LinkId, StreamId};
use crate::message::{Message, Opening};

impl Node {
    /// Tells children that need packets of the control stream which are gone what came of them.
    pub(super) fn send_catalogues(&mut self) {
        for (link, until) in self.control.take_late() {
            self.send_catalogue(link, until);
        }
    }

    fn send_catalogue(&mut self, link: LinkId, until: u64) {
        let open: Vec<Arc<Opening>> = self.streams().cloned().collect();
        for opening in open {
            self.send(link, Message::Listed(opening));
        }
        self.send(link, Message::Skipped { stream: StreamId::CONTROL, until });
    }

    /// The parent has this stream open. It is opened here when all are known: a parent that dies before that leaves nothing
    /// which the next, if it has heard less, would have closed again.
    pub(super) fn listed(&mut self, opening: &Arc<Opening>) {
        self.listed.insert(opening.stream, Arc::clone(opening));
    }

    /// Tells a member that has just come that it has heard of everything that was there before it.
    pub(super) fn end_greeting(&mut self, link: LinkId) {
        let until = self.control.next();
        self.send(link, Message::Skipped { stream: StreamId::CONTROL, until });
    }

    /// The parent has listed all streams that are open, in place of the packets before this one.
    pub(super) fn catalogue_ends(&mut self, until: u64) {
        let listed = std::mem::take(&mut self.listed);
        if until <= self.control.next() {
            // Nothing was skipped: a greeting ends.
            self.role.member_mut().into_iter().for_each(|member| member.phase = MemberPhase::Arrived);
            return;
        }
        self.forget_streams_but(|id| listed.contains_key(&id));
        listed.values().for_each(|opening| self.open_here(opening));
        for link in self.control.skip(until) {
            self.send_catalogue(link, until);
        }
        self.pump_down(StreamId::CONTROL);
    }
}
