//! What a node is in its network, and what it has for that.
//!
//! Front-end, agents and members pass packets and waves on by the same rules. What only one of them needs stands in its
//! role: the front-end knows who is there, and a member knows itself.

use banyan_reduce::FilterRole;

use super::closed::Closed;
use super::front_end::FrontEnd;
use super::newcomer::MemberPhase;

/// The role of a node, which it has for its life.
#[derive(Debug)]
pub(super) enum NodeRole {
    /// The root of the tree.
    FrontEnd(Box<FrontEnd>),
    /// A node with others above and below it; also the guard of an agent that was killed.
    Agent,
    /// A leaf.
    Member(OwnMember),
}

/// What a member knows of itself.
#[derive(Debug)]
pub(super) struct OwnMember {
    pub(super) rank: u32,
    pub(super) phase: MemberPhase,
    /// Streams that were closed.
    pub(super) closed: Closed,
}

impl NodeRole {
    /// An agent, or with a rank a member that has just come.
    pub(super) fn below(rank: Option<u32>) -> NodeRole {
        let member = |rank| OwnMember { rank, phase: MemberPhase::Arriving, closed: Closed::default() };
        rank.map_or(NodeRole::Agent, |rank| NodeRole::Member(member(rank)))
    }

    pub(super) fn is_front_end(&self) -> bool {
        matches!(self, NodeRole::FrontEnd(_))
    }

    pub(super) fn is_member(&self) -> bool {
        matches!(self, NodeRole::Member(_))
    }

    /// Whether it is a member that has not heard of all streams that were open before it came.
    pub(super) fn is_arriving(&self) -> bool {
        matches!(self, NodeRole::Member(OwnMember { phase: MemberPhase::Arriving, .. }))
    }

    /// The rank of a member.
    pub(super) fn rank(&self) -> Option<u32> {
        match self {
            NodeRole::Member(member) => Some(member.rank),
            NodeRole::FrontEnd(_) | NodeRole::Agent => None,
        }
    }

    pub(super) fn member_mut(&mut self) -> Option<&mut OwnMember> {
        match self {
            NodeRole::Member(member) => Some(member),
            NodeRole::FrontEnd(_) | NodeRole::Agent => None,
        }
    }

    pub(super) fn front_end(&self) -> Option<&FrontEnd> {
        match self {
            NodeRole::FrontEnd(front_end) => Some(front_end),
            NodeRole::Agent | NodeRole::Member(_) => None,
        }
    }

    pub(super) fn front_end_mut(&mut self) -> Option<&mut FrontEnd> {
        match self {
            NodeRole::FrontEnd(front_end) => Some(front_end),
            NodeRole::Agent | NodeRole::Member(_) => None,
        }
    }

    /// Which of a stream's filters run here.
    pub(super) fn filters(&self) -> FilterRole {
        match self {
            NodeRole::FrontEnd(_) => FilterRole::Root,
            NodeRole::Agent => FilterRole::Inner,
            NodeRole::Member(_) => FilterRole::Member,
        }
    }
}
