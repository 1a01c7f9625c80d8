//! Members say now and then how far they have taken packets: often enough for the bytes that they get. The front-end may keep
//! far more of the same packets: the parts of all members, or what a filter on the way made small. So where it keeps much it
//! asks, and members say when they have taken everything that was sent before that.

use super::{Node, NodeStream};
use crate::ids::{LinkId, StreamId};
use crate::message::Message;

impl Node {
    /// At the front-end: asks if this much of a stream is kept. Not while some that were asked for are: with the last of
    /// them everyone will have answered.
    pub(super) fn ask_received_beyond(&mut self, id: StreamId, much: usize) {
        let is_due = |stream: &NodeStream| stream.log.bytes() >= much && stream.received_asked <= stream.log.start();
        if self.streams.get(&id).is_some_and(|stream| is_due(stream)) {
            self.ask_received(id);
        }
    }

    /// What has been sent so far is to be reported as soon as all of it is taken, here and by all below that have not.
    pub(super) fn ask_received(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.received_asked = stream.log.next();
        for link in stream.log.owing().collect::<Vec<_>>() {
            self.send(link, Message::WantReceipt(id));
        }
        if self.role.is_member() {
            self.report_received(id);
        }
    }

    /// A child has come, or gets packets again: it may not have heard, or not of these. All nodes up to the front-end do this,
    /// also those that know no packet yet and so cannot tell what was asked for.
    pub(super) fn ask_received_of_child(&mut self, link: LinkId, id: StreamId) {
        if self.streams.get(&id).is_some_and(|stream| stream.received_asked > stream.log.start()) {
            self.send(link, Message::WantReceipt(id));
        }
    }
}
