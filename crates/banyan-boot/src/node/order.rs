//! The children of a node in the order in which collectives number them: by lowest rank.

use super::child::ChildAgent;
use super::member::LocalMember;
use crate::collective::Subtree;

/// A child, by its index among the members or among the agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Below {
    Member(usize),
    Agent(usize),
}

/// The order of the children.
#[derive(Debug)]
pub(super) struct ChildOrder {
    children: Vec<Below>,
    /// The position of each member.
    members: Vec<usize>,
    /// The position of each agent.
    agents: Vec<usize>,
}

impl ChildOrder {
    /// The children by their lowest ranks.
    pub(super) fn new(members: &[LocalMember], agents: &[ChildAgent]) -> ChildOrder {
        let of_members = members.iter().enumerate().map(|(index, member)| (member.rank, Below::Member(index)));
        let lowest = |agent: &ChildAgent| agent.ranks.first().unwrap_or(u32::MAX);
        let of_agents = agents.iter().enumerate().map(|(index, agent)| (lowest(agent), Below::Agent(index)));
        let mut sorted: Vec<(u32, Below)> = of_members.chain(of_agents).collect();
        sorted.sort_by_key(|(lowest, _)| *lowest);
        let mut order = ChildOrder {
            children: sorted.into_iter().map(|(_, child)| child).collect(),
            members: vec![0; members.len()],
            agents: vec![0; agents.len()],
        };
        for (position, child) in order.children.iter().enumerate() {
            match child {
                Below::Member(index) => order.members[*index] = position,
                Below::Agent(index) => order.agents[*index] = position,
            }
        }
        order
    }

    /// An agent has become the last child.
    pub(super) fn push_agent(&mut self) {
        self.children.push(Below::Agent(self.agents.len()));
        self.agents.push(self.children.len() - 1);
    }

    /// The children in order.
    pub(super) fn children(&self) -> &[Below] {
        &self.children
    }

    /// The child at a position.
    pub(super) fn at(&self, position: usize) -> Below {
        self.children[position]
    }

    /// The position of a child.
    pub(super) fn position(&self, of: Below) -> usize {
        match of {
            Below::Member(index) => self.members[index],
            Below::Agent(index) => self.agents[index],
        }
    }

    /// The ranks of each child, in order.
    pub(super) fn subtrees(&self, members: &[LocalMember], agents: &[ChildAgent]) -> Vec<Subtree> {
        let subtree = |child: &Below| match child {
            Below::Member(index) => Subtree::Member(members[*index].rank),
            Below::Agent(index) => Subtree::Agent(agents[*index].ranks.clone()),
        };
        self.children.iter().map(subtree).collect()
    }
}
