//! A pause of the front-end: it is about to be stopped, and will be silent until it goes on.
//!
//! Agents judge those above them by their silence. Only the children of the root hear nothing from a front-end that is
//! stopped, so only they are told; all others have a parent that lives. What becomes of members is no matter of this module.

use std::time::Duration;

use banyan_link::Frame;
use bytes::Bytes;

use super::{Node, Up};
use crate::message;

impl Node {
    /// At the root: announces so many seconds of silence, or with 0 that they are over.
    pub(super) fn announce_pause(&mut self, seconds: u32) {
        self.to_agents(&Frame::new(message::PAUSE, seconds, 0, Bytes::new()));
        // The front-end waits for this before it stops.
        self.flush();
        if let Up::RootChannel(channel) = &self.up {
            channel.lay(|root_state| root_state.is_paused = seconds > 0);
        }
    }

    /// At a child of the root: how long that may be silent from now on.
    pub(super) fn parent_pauses(&mut self, seconds: u32) {
        let usual = Duration::from_millis(self.assignment.terms.silence);
        if let Up::Parent(wire) = &mut self.up {
            wire.link.set_silence(usual.max(Duration::from_secs(seconds.into())));
        }
    }
}
