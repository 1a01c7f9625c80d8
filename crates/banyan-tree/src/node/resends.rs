//! Packets that a child asks for again, and those that this node asks its parent for.
//!
//! An answer is as long as what is kept of a stream. So a child gets the next one when the last one has gone, and whatever it
//! asks meanwhile costs nothing. A child that asks for packets asks again for earlier ones only: one that goes on asking for
//! what it was promised breaks the rules.

use super::log::Asked;
use super::{Action, Node};
use crate::ids::{LinkId, StreamId};
use crate::message::Message;

impl Node {
    /// A child needs packets again.
    pub(super) fn resend(&mut self, link: LinkId, id: StreamId, from: u64) -> Result<(), String> {
        match self.log_mut(id).map(|log| log.asked_by(link, from)) {
            Some(Asked::Now) => self.answer_resend(link, id),
            Some(Asked::TooOften) => {
                return Err(format!("asked for packets of {id} again and again, and takes none"));
            }
            Some(Asked::Later) | None => {}
        }
        Ok(())
    }

    /// Everything that was sent on this link has gone, as [`Action::Drain`] has asked to be told.
    pub fn drained(&mut self, link: LinkId) {
        self.answers.remove(&link);
        for id in self.stream_ids() {
            if self.log_mut(id).is_some_and(|log| log.drained(link)) {
                self.answer_resend(link, id);
            }
        }
    }

    fn answer_resend(&mut self, link: LinkId, id: StreamId) {
        self.pump_down(id);
        self.ask_received_of_child(link, id);
        self.actions.push_back(Action::Drain(link));
    }

    /// Asks the parent for packets from this one on, unless it was asked for them and none has come.
    pub(super) fn ask_again(&mut self, id: StreamId, from: u64) {
        if self.log_mut(id).is_some_and(|log| log.asks(from)) {
            self.send_up(Message::Resend { stream: id, from });
        }
    }
}
