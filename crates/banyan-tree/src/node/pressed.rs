//! Members say now and then how far they have taken packets: often enough for the bytes that they get. The front-end may keep
//! far more of the same packets: the parts of all members, or what a filter on the way made small. So where it keeps much it
//! asks, and of packets that were sent before that members say at once when they have taken them.

use super::{Node, Stream};
use crate::ids::{LinkId, StreamId};
use crate::message::Message;

impl Node {
    /// At the front-end, when a packet was sent: asks if much is kept, and not for the same packets again.
    pub(super) fn press_if_much(&mut self, id: StreamId) {
        let much = self.options.ahead_bytes / 2;
        let is_due = |stream: &Stream| stream.log.bytes() > much && stream.pressed <= stream.log.start();
        if self.streams.get(&id).is_some_and(|stream| is_due(stream)) {
            self.press(id);
        }
    }

    /// At the front-end, when there is no room for a packet: asks unless all that is kept was asked for.
    pub(super) fn press_if_new(&mut self, id: StreamId) {
        if self.streams.get(&id).is_some_and(|stream| stream.pressed < stream.log.next()) {
            self.press(id);
        }
    }

    /// What has been sent so far is to be reported as soon as it is taken, here and by all below.
    pub(super) fn press(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.pressed = stream.log.next();
        for link in stream.log.children().collect::<Vec<_>>() {
            self.send(link, Message::Hurry(id));
        }
        if self.rank.is_some() {
            self.report_received(id);
        }
    }

    /// A child has come, or gets packets again: it may not have heard, or not of these.
    pub(super) fn press_child(&mut self, link: LinkId, id: StreamId) {
        if self.streams.get(&id).is_some_and(|stream| stream.pressed > stream.log.start()) {
            self.send(link, Message::Hurry(id));
        }
    }
}
