//! Agents that have not come yet, in sessions whose members do not wait for them.
//!
//! Who they are is told up after a while, so that people hear whom a command waits for. What goes down to members
//! meanwhile, standard input and user data, is kept for those that come later, up to a bound.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use banyan_link::Frame;

use super::child::ChildStage;
use super::token::Token;
use super::{Below, Node, Up};
use crate::message;

/// Who has not come after so long is named.
const NAMED_AFTER: Duration = Duration::from_secs(1);

/// Bytes that are kept for agents that have not come; then all others wait for them.
const KEPT_BYTES: usize = 1 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct Awaiting {
    begun: Instant,
    /// Nodes that were told to have not come.
    told: Vec<u32>,
    /// The same of all nodes, by the one that waits for them; known to the root.
    all: BTreeMap<u32, Vec<u32>>,
    kept: Vec<Frame>,
    kept_bytes: usize,
}

impl Awaiting {
    pub(super) fn new() -> Awaiting {
        Awaiting { begun: Instant::now(), told: Vec::new(), all: BTreeMap::new(), kept: Vec::new(), kept_bytes: 0 }
    }

    /// Whether more can be kept.
    pub(super) fn has_room(&self) -> bool {
        self.kept_bytes < KEPT_BYTES
    }
}

impl Node {
    /// Whether agents have not come that this node may have to start. The front-end starts all that others cannot.
    fn awaits_agents(&self) -> bool {
        match self.up {
            Up::RootChannel(_) => {
                let came: u32 = self.agents.iter().map(|agent| agent.progress.agents).sum();
                (came as usize) < self.agent_count
            }
            Up::Parent(_) | Up::Nobody => self.to_start.awaits_agents(),
        }
    }

    /// Keeps data on its way down for agents that have not come.
    pub(super) fn keep_for_awaited(&mut self, frame: &Frame) {
        if self.awaits_agents() {
            self.awaiting.kept_bytes += frame.cost();
            self.awaiting.kept.push(frame.clone());
        }
    }

    /// Gives a child that has come what went down before.
    pub(super) fn catch_up(&mut self, index: usize) {
        for frame in self.awaiting.kept.clone() {
            if frame.kind != message::USER || self.agents[index].ranks.contains(0) {
                self.send_below(Below::Agent(index), frame);
            }
        }
    }

    /// When those who have not come are to be named.
    pub(super) fn awaited_at(&self) -> Option<Instant> {
        let is_any = self.to_start.awaits_agents();
        let at = self.awaiting.begun + NAMED_AFTER;
        (is_any && self.awaiting.told.is_empty() && Instant::now() < at).then_some(at)
    }

    /// Says who has not come, if that has changed, and forgets what was kept for them when all have.
    pub(super) fn report_awaited(&mut self) {
        if !self.awaiting.kept.is_empty() && !self.awaits_agents() {
            self.awaiting.kept = Vec::new();
            self.awaiting.kept_bytes = 0;
        }
        let is_any = self.to_start.awaits_agents();
        if !is_any && self.awaiting.told.is_empty() || self.awaiting.begun.elapsed() < NAMED_AFTER {
            return;
        }
        let is_awaited =
            |index: &usize| matches!(self.agents[*index].stage, ChildStage::Waiting | ChildStage::Starting);
        let nodes = |index: usize| {
            let (first, start) = (self.nodes_below(index).start, self.agents[index].subtree.start);
            self.agents[index].places().map(move |place| first + (place - start) as u32)
        };
        let awaited: Vec<u32> = (0..self.agents.len()).filter(is_awaited).flat_map(nodes).collect();
        if awaited != self.awaiting.told {
            self.awaiting.told.clone_from(&awaited);
            let payload: Vec<u8> = awaited.into_iter().flat_map(u32::to_le_bytes).collect();
            self.tell_awaited(Frame::new(message::AWAITED, self.assignment.node, 0, payload));
        }
    }

    /// What a child agent, or one below it, says about those that it waits for.
    pub(super) fn awaited_below(&mut self, index: usize, frame: Frame) {
        let nodes = self.nodes_below(index);
        let mut named = frame.payload.chunks_exact(4).map(node_number);
        if nodes.contains(&frame.stream)
            && frame.payload.len().is_multiple_of(4)
            && named.all(|node| nodes.contains(&node))
        {
            self.tell_awaited(frame);
        } else {
            self.broken(Token::Agent(index as u32), "agents that it waits for and that are not below it");
        }
    }

    fn tell_awaited(&mut self, frame: Frame) {
        if !matches!(self.up, Up::RootChannel(_)) {
            return self.pass_up(frame);
        }
        let awaited: Vec<u32> = frame.payload.chunks_exact(4).map(node_number).collect();
        match awaited.is_empty() {
            true => drop(self.awaiting.all.remove(&frame.stream)),
            false => drop(self.awaiting.all.insert(frame.stream, awaited)),
        }
        self.name_awaited();
    }

    /// A child is lost: nobody waits any more for those that it waited for.
    pub(super) fn await_nobody_below(&mut self, index: usize) {
        let (nodes, before) = (self.nodes_below(index), self.awaiting.all.len());
        self.awaiting.all.retain(|node, _| !nodes.contains(node));
        if self.awaiting.all.len() < before {
            self.name_awaited();
        }
    }

    /// Tells the front-end which hosts have not answered.
    fn name_awaited(&self) {
        let Up::RootChannel(channel) = &self.up else { return };
        let awaited: BTreeSet<u32> = self.awaiting.all.values().flatten().copied().collect();
        // The root is node 0, and the others are in the order of its work.
        let agents = awaited.iter().filter_map(|node| self.assignment.agents.get(node.checked_sub(1)? as usize));
        let mut hosts: Vec<&str> = agents.map(|agent| agent.host.as_str()).collect();
        hosts.dedup();
        channel.name_awaited(&hosts);
    }
}

fn node_number(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}
