//! Members that another process is now, and what becomes of the process before it, which may only have been cut off.
//!
//! Of two processes that are one member, the later one counts. When the front-end hears of it, it tells every node, and
//! whoever has the earlier one for a child sends it away. A node tells its children before anything else that it hears from
//! then on, and a new child before all. So whoever knows of an acknowledgement that the front-end gave after a succession
//! knows of the succession: an earlier process contributes to no wave behind the window of the last acknowledgement before
//! it. Up to there the later one contributes by itself ([`Predecessor`](super::newcomer::Predecessor)), and no member is combined
//! twice.

use std::sync::Arc;

use banyan_boot::RankSet;

use super::{Action, Node, Report};
use crate::ids::{LinkId, StreamId, Time, WaveNumber};
use crate::message::{Message, NodeInfo, Succession};

impl Node {
    /// The process that has taken the place of this one, if any has.
    pub(super) fn successor_of(&self, place: &NodeInfo) -> Option<&Arc<Succession>> {
        self.successions.get(&place.node).filter(|succession| succession.life > place.epoch.life())
    }

    /// At a member: whether another process has taken its place.
    pub(super) fn is_succeeded(&self) -> bool {
        self.successions.get(&self.id).is_some_and(|known| known.life > self.life())
    }

    /// At a member: what was said of it when it took another's place.
    pub(super) fn own_succession(&self) -> Option<Arc<Succession>> {
        self.successions.get(&self.id).filter(|own| own.life == self.life()).cloned()
    }

    /// At the front-end: these nodes are there. Some may be members that other processes were before.
    pub(super) fn note_successors(&mut self, places: &[NodeInfo], now: Time) {
        if !self.role.is_front_end() {
            return;
        }
        let mut replaced = RankSet::new();
        for place in places.iter().filter(|place| place.epoch.life() > 0) {
            let (life, known) = (place.epoch.life(), self.successions.get(&place.node));
            if let Some(rank) = place.rank
                && known.is_none_or(|known| known.life < life)
            {
                let succession = Succession { member: place.node, life, free: self.free_waves(rank) };
                self.succeeded(&Arc::new(succession), now);
                replaced.insert(rank);
            }
        }
        self.replaced(&replaced);
    }

    /// For each stream of a member, the first wave that nobody can have contributed to who has not heard what is said now.
    fn free_waves(&self, rank: u32) -> Vec<(StreamId, WaveNumber)> {
        let window = self.options.window_waves;
        let streams = self.streams.iter().filter(|(_, stream)| {
            // Without waves nothing is combined.
            stream.records.is_none() && stream.opening.members.contains(rank)
        });
        streams.map(|(id, stream)| (*id, WaveNumber(stream.kept.acknowledged().0.saturating_add(window)))).collect()
    }

    /// Another process is this member now.
    pub(super) fn succeeded(&mut self, succession: &Arc<Succession>, now: Time) {
        let Succession { member, life, .. } = **succession;
        if self.successions.get(&member).is_some_and(|known| known.life >= life) {
            return;
        }
        self.successions.insert(member, Arc::clone(succession));
        if member == self.id && life > self.life() {
            self.report(Report::Succeeded);
        }
        let children: Vec<(NodeInfo, LinkId)> =
            self.below.links().filter_map(|(node, link)| Some((self.below.get(node)?, link))).collect();
        for (child, link) in children {
            // A successor whose place is known already may be elsewhere below: then this link is of the one before it.
            if child.node == member && (child.parent != self.id || child.epoch.life() < life) {
                self.send_away(link, succession, now);
            } else {
                self.tell_succession(link, child, succession);
            }
        }
    }

    /// Tells a child that has just come of all successions.
    pub(super) fn tell_successions(&mut self, link: LinkId, child: NodeInfo) {
        let successions: Vec<Arc<Succession>> = self.successions.values().cloned().collect();
        successions.iter().for_each(|succession| self.tell_succession(link, child, succession));
    }

    /// A member has nobody below, and is told of its own alone.
    fn tell_succession(&mut self, link: LinkId, child: NodeInfo, succession: &Arc<Succession>) {
        if child.rank.is_none() || child.node == succession.member {
            self.send(link, Message::Succeeded(Arc::clone(succession)));
        }
    }

    /// Tells a process that another is what it was, and has nothing to do with it any more.
    pub(super) fn send_away(&mut self, link: LinkId, succession: &Arc<Succession>, now: Time) {
        self.send(link, Message::Succeeded(Arc::clone(succession)));
        self.actions.push_back(Action::Close(link));
        self.child_closed(link, false, now);
    }
}
