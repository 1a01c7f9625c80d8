//! The [log](crate::agent_log) of agents: who is asked for it, and how its lines go up.

use banyan_link::Frame;

use super::Node;
use super::token::Token;
use crate::agent_log::{self, AGENT_LOG, AgentLog};
use crate::message;

/// Bytes of what a front-end may say about what is logged.
const FILTER_BYTES: usize = 4096;

impl Node {
    /// The front-end asks this agent and all below it for a log.
    pub(super) fn begin_log(&mut self, frame: &Frame) {
        let Some(filter) = str::from_utf8(&frame.payload).ok().filter(|filter| filter.len() <= FILTER_BYTES) else {
            return self.give_up("the parent wants a log of what cannot be read");
        };
        agent_log::begin(filter, &self.host);
        // Whoever takes spans was not there when the session began.
        self.enter_session();
        if let Some(keeper) = &self.keeper {
            // A keeper that is gone is noticed, and one that does not log works as well.
            let _ = keeper.begin_log(filter);
        }
        self.log = Some(AgentLog { filter: filter.to_owned(), take: agent_log::pass_on });
        (0..self.agents.len()).for_each(|index| self.ask_for_log(index));
    }

    /// Asks a child agent for its log, if one is wanted and it has one.
    pub(super) fn ask_for_log(&mut self, index: usize) {
        let (Some(log), Some(wire)) = (&self.log, &mut self.agents[index].wire) else { return };
        if wire.link.capabilities().contains(AGENT_LOG) {
            wire.link.send(Frame::new(message::LOG, 0, 0, log.filter.clone().into_bytes()));
            self.flow.touch(Token::Agent(index as u32));
        }
    }
}
