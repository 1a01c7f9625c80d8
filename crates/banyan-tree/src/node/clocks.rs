//! What every node knows of the clocks above it, collected through the tree as [`figures`](super::figures) are. Nodes of an
//! earlier release, and those below them, say nothing.

use std::collections::BTreeMap;

use super::{Action, Node};
use crate::clocks::NodeClock;
use crate::ids::{LinkId, NodeId};
use crate::message::Message;

/// At the front-end: the last question, and the answers so far.
#[derive(Debug, Default)]
pub(super) struct ClockInquiry {
    question: u32,
    answers: BTreeMap<NodeId, NodeClock>,
}

impl Node {
    /// At the front-end: asks every node for what it knows of clocks. Answers to questions before are forgotten.
    pub fn ask_clocks(&mut self) {
        let Some(front_end) = self.role.front_end_mut() else { return };
        front_end.clock_inquiry.question += 1;
        front_end.clock_inquiry.answers.clear();
        let question = front_end.clock_inquiry.question;
        self.pass_clock_question(question);
    }

    /// At the front-end: the answers to the last question that have come.
    pub fn clocks(&self) -> Option<&BTreeMap<NodeId, NodeClock>> {
        self.role.front_end().map(|front_end| &front_end.clock_inquiry.answers)
    }

    /// Asks those below, and the driver.
    pub(super) fn pass_clock_question(&mut self, question: u32) {
        let links: Vec<LinkId> = self.below.links().map(|(_, link)| link).collect();
        for link in links {
            self.send(link, Message::CountClocks(question));
        }
        self.actions.push_back(Action::CountClocks(question));
    }

    /// Answers a question with what the driver knows.
    pub fn answer_clocks(&mut self, question: u32, clock: NodeClock) {
        self.clock_counted(question, self.id, Box::new(clock));
    }

    /// A node's answer is on its way.
    pub(super) fn clock_counted(&mut self, question: u32, node: NodeId, clock: Box<NodeClock>) {
        match self.role.front_end_mut() {
            // The front-end has nobody above it.
            Some(_) if node == NodeId::ROOT => {}
            Some(front_end) if front_end.clock_inquiry.question == question => {
                front_end.clock_inquiry.answers.insert(node, *clock);
            }
            Some(_) => {}
            None => self.send_up(Message::ClockCounted { question, node, clock }),
        }
    }
}
