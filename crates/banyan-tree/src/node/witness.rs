//! Members whose processes have ended by the word of whoever started them, wherever in the tree they were.
//!
//! A node knows of the end of its own children. A member that has lost its agent is nobody's child until it finds another
//! parent, so if it ends before that only the system on its host knows. The agent that started it, or the guard of an agent
//! that was killed, says so; the front-end then waits no longer for that member to come back.
//!
//! A member that has a parent is left to it: what the member has sent last comes by that way, and so does the news of its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use banyan_boot::RankSet;

use super::Node;
use crate::ids::{LinkId, NodeId};
use crate::message::Message;

/// What was said so far. It is said again to every new parent, since an old one may have died with it.
#[derive(Debug, Default)]
pub(super) struct Witnesses {
    /// Members that have ended, by who says so.
    ended: BTreeMap<NodeId, RankSet>,
    /// At the front-end: the agent that started each member, by rank. Without them everyone is believed.
    starters: Option<Vec<NodeId>>,
}

impl Witnesses {
    /// Whether it is this node's business to say that these members have ended.
    fn may_tell(&self, node: NodeId, members: &RankSet) -> bool {
        let is_own = |rank: u32, starters: &Vec<NodeId>| starters.get(rank as usize) == Some(&node.without_guard());
        self.starters.as_ref().is_none_or(|starters| members.iter().all(|rank| is_own(rank, starters)))
    }
}

impl Node {
    /// At the front-end: the agents that started the members, by rank.
    pub fn set_starters(&mut self, starters: Vec<NodeId>) {
        self.witnesses.starters = Some(starters);
    }

    /// At an agent or its guard: the processes of these members, which the agent started, have ended.
    pub fn witness(&mut self, members: RankSet) {
        self.note_ended(self.id, members);
    }

    /// A child says of a node at or below it that it has seen members end.
    pub(super) fn witnessed(&mut self, link: LinkId, node: NodeId, members: &RankSet) -> Result<(), String> {
        let is_agents = self.below.get(node).is_some_and(|place| place.rank.is_none());
        if !is_agents || self.below.link_towards(node) != Some(link) {
            // It has moved on, and says so by another way.
            return Ok(());
        }
        if !self.witnesses.may_tell(node, members) {
            return Err(format!("says that members {members} have ended, which {node} has not started"));
        }
        self.note_ended(node, members.clone());
        Ok(())
    }

    fn note_ended(&mut self, node: NodeId, members: RankSet) {
        let known = self.witnesses.ended.entry(node).or_default();
        *known = known.union(&members);
        if self.role.is_front_end() {
            self.lose_ended();
            self.expect();
        } else {
            self.send_up(Message::Ended { node, members: Arc::new(members) });
        }
    }

    /// Tells a new parent everything.
    pub(super) fn tell_ended(&mut self) {
        let all: Vec<(NodeId, RankSet)> = self.witnesses.ended.iter().map(|(node, set)| (*node, set.clone())).collect();
        for (node, members) in all {
            self.send_up(Message::Ended { node, members: Arc::new(members) });
        }
    }

    /// At the front-end: does not wait for those to come back who have ended. A process that has taken the place of one of
    /// them is another.
    pub(super) fn lose_ended(&mut self) {
        let Some(front_end) = self.role.front_end() else { return };
        let ended = self.witnesses.ended.values().fold(RankSet::new(), |all, members| all.union(members));
        let is_adrift = |node: NodeId| self.below.chain(node).any(|above| front_end.is_adrift(above));
        let is_first = |rank: u32, life: u32| life == 0 && ended.contains(rank);
        let places =
            self.below.places().filter(|place| place.rank.is_some_and(|rank| is_first(rank, place.epoch.life())));
        let dead: Vec<NodeId> = places.map(|place| place.node).filter(|node| is_adrift(*node)).collect();
        for node in dead {
            self.lose(node);
            self.below.remove(node);
        }
    }
}
