//! How many children nodes take: as many as their capacity says, and beyond that only those who have asked everyone.

use std::collections::BTreeSet;

use super::model::Broken;
use super::world::{World, options};
use crate::ids::LinkId;
use crate::message::Message;

/// So many are asked before someone is asked urgently, should they not be all: as nodes do it themselves.
const PASS: usize = 64;

/// Whom a node has turned to, and who has turned to it.
#[derive(Default)]
pub(super) struct Crowding {
    /// Whom it has dialled since it last had a parent.
    dialled: BTreeSet<usize>,
    /// How many have asked it urgently to take them in.
    received_asked: usize,
}

impl World<'_, '_> {
    pub(super) fn note_dial(&mut self, from: usize, to: usize) {
        self.nodes[from].crowding.dialled.insert(to);
    }

    /// Whoever asks urgently has turned to all its ancestors, of whom the front-end is the last.
    pub(super) fn note_question(&mut self, from: usize, link: LinkId, message: &Message) -> Result<(), Broken> {
        if !matches!(message, Message::Attach(attach) if attach.is_urgent) {
            return Ok(());
        }
        let dialled = &self.nodes[from].crowding.dialled;
        if !dialled.contains(&0) && dialled.len() < PASS {
            return Err(Broken::Urgent { node: from, asked: dialled.len() });
        }
        if let Some((wire, end)) = self.nodes[from].wires.get(&link) {
            let to = self.wires[*wire].nodes[1 - end];
            self.nodes[to].crowding.received_asked += 1;
        }
        Ok(())
    }

    pub(super) fn watch_degree(&mut self, node: usize) -> Result<(), Broken> {
        let inhabitant = &mut self.nodes[node];
        if inhabitant.node.parent().is_some() {
            inhabitant.crowding.dialled.clear();
        }
        let degree = inhabitant.node.degree();
        self.outcome.degree = self.outcome.degree.max(degree);
        let allowed = options(self.plan).capacity + inhabitant.crowding.received_asked;
        if degree > allowed { Err(Broken::Degree { node, degree, allowed }) } else { Ok(()) }
    }
}
