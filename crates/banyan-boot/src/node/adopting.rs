//! Agents that start below another node than planned.
//!
//! An agent may lack what the front-end has to start others: a key, a file of ssh's configuration, a way through the network. A
//! child that it cannot start it hands up, with everything below it, and the front-end tries. What even the front-end
//! cannot start is unreachable; those below it become the front-end's own children.
//!
//! Nobody is in the middle of a collective then: the first one completes when all members have entered it.

use std::ops::Range;

use banyan_link::Frame;

use super::child::{ChildAgent, ChildStage};
use super::root_channel::Progress;
use super::token::Token;
use super::{Node, Up};
use crate::fallback::Fallback;
use crate::launcher::Way;
use crate::layout::ranks_of;
use crate::message;

impl Node {
    /// Whether agents may have another parent than planned: those that come by themselves look for theirs.
    pub(super) fn may_part(&self) -> bool {
        matches!(self.assignment.way, Way::Ssh(_)) && self.ending.is_none() && !self.detached
    }

    /// Leaves a child that cannot be started here, and all below it, to the front-end.
    pub(super) fn hand_up(&mut self, index: usize, cause: &str) {
        if self.agents[index].stage == ChildStage::Starting {
            self.to_start.agents_under_way -= 1;
        }
        self.stop_starter(index);
        self.close_agent_link(index);
        let node = self.nodes_below(index).start;
        let agent = &mut self.agents[index];
        agent.stage = ChildStage::Ended;
        agent.deadline = None;
        agent.progress = Progress::default();
        let subtree = agent.subtree.clone();
        self.part_with(index, subtree.clone());
        self.count_out(&subtree);
        self.regroup();
        self.pass_up(Frame::new(message::UNSTARTED, node, 0, Fallback::text(&self.host, cause).into_bytes()));
    }

    /// An agent below a child could not be started there.
    pub(super) fn unstarted_below(&mut self, index: usize, frame: Frame) {
        let Some(subtree) = self.subtree_of(index, frame.stream).filter(|_| self.may_part()) else {
            return self.broken(Token::Agent(index as u32), "an agent to start that is not below it");
        };
        self.part_with(index, subtree.clone());
        if let Up::RootChannel(channel) = &self.up {
            let fallback = Fallback::of(&self.assignment.agents[subtree.start].host, &frame.payload);
            channel.lay(|root_state| root_state.fallbacks.push(fallback));
            self.adopt(subtree);
        } else {
            self.count_out(&subtree);
            self.pass_up(frame);
        }
        self.regroup();
    }

    /// The agents below one that cannot be reached become children of this node.
    pub(super) fn adopt_below(&mut self, index: usize) {
        let Range { start, end } = self.agents[index].subtree;
        let below = crate::shape::subtrees(start + 1..end, |agent| self.assignment.agents[agent].below);
        for subtree in below {
            self.part_with(index, subtree.clone());
            self.adopt(subtree);
        }
        self.regroup();
    }

    /// The subtree of a node below a child, if it has not been parted with.
    fn subtree_of(&self, index: usize, node: u32) -> Option<Range<usize>> {
        let child = &self.agents[index];
        let place = child.subtree.start + node.checked_sub(self.nodes_below(index).start)? as usize;
        let end = place.checked_add(1)?.checked_add(self.assignment.agents.get(place)?.below as usize)?;
        let is_whole = (place..end).all(|place| child.subtree.contains(&place))
            && child.parted.iter().all(|part| part.end <= place || end <= part.start);
        (is_whole && place > child.subtree.start).then_some(place..end)
    }

    /// A child has these agents no more.
    fn part_with(&mut self, index: usize, subtree: Range<usize>) {
        let ranks = ranks_of(&self.assignment.agents[subtree.clone()]);
        let child = &mut self.agents[index];
        child.ranks = child.ranks.difference(&ranks);
        child.parted.push(subtree);
    }

    /// Nor has this node.
    fn count_out(&mut self, subtree: &Range<usize>) {
        self.agent_count -= subtree.len();
        self.ranks_below -= ranks_of(&self.assignment.agents[subtree.clone()]).len() as usize;
    }

    /// Starts a subtree as a child of this node.
    fn adopt(&mut self, subtree: Range<usize>) {
        let index = self.agents.len();
        self.agents.push(ChildAgent::new(subtree, &self.assignment));
        self.order.push_agent();
        self.to_start.agents.push_back(index);
        self.stage_without(index);
    }

    /// Tells the collectives which child has which ranks now.
    fn regroup(&mut self) {
        let children = self.order.subtrees(&self.members, &self.agents);
        self.collectives.regroup(children, &mut self.outgoing);
        self.deliver();
    }
}
