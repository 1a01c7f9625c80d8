//! Filters whose state is lost when their node dies, and the agents that may hold such a state: told when one is lost.
//!
//! The front-end knows what each agent's filters are, because it has opened the streams, and who is above whom. Nobody
//! else has to say anything; and a stream whose filters keep nothing costs nothing.

use std::collections::BTreeSet;

use banyan_reduce::{FilterRole, Recovery};

use super::{Node, Report};
use crate::ids::{Level, NodeId, StreamId};
use crate::message::{NodeInfo, Opening};
use crate::stream_options::Direction;

impl Node {
    /// At the front-end, for a stream that has such a filter: the agents that are above its members now.
    pub(super) fn holders(&self, opening: &Opening) -> Option<BTreeSet<NodeId>> {
        let loses = |text: &str| self.loses(text);
        self.role.front_end().filter(|_| opening.options.known_above_members().any(loses))?;
        let members = self.below.places().filter(|place| place.rank.is_some_and(|rank| opening.members.contains(rank)));
        Some(members.flat_map(|place| self.agents_above(place.node)).collect())
    }

    /// At the front-end: these nodes are there now, so those above them may come to hold something.
    pub(super) fn note_holders(&mut self, places: &[NodeInfo]) {
        let Node { streams, below, .. } = self;
        for stream in streams.values_mut() {
            let Some(holders) = &mut stream.holders else { continue };
            let is_member = |place: &&NodeInfo| place.rank.is_some_and(|rank| stream.opening.members.contains(rank));
            for place in places.iter().filter(is_member) {
                holders.extend(below.chain(place.node).skip(1));
            }
        }
    }

    /// At the front-end: an agent has ended, or was given up. Says what went with it.
    pub(super) fn tell_lost_state(&mut self, node: NodeId) {
        let Some(NodeInfo { level, .. }) = self.below.get(node) else { return };
        let held =
            |stream: &mut super::NodeStream| stream.holders.as_mut().is_some_and(|holders| holders.remove(&node));
        let streams: Vec<StreamId> =
            self.streams.iter_mut().filter_map(|(id, stream)| held(stream).then_some(*id)).collect();
        for stream in streams {
            for (direction, filter) in self.lost_filters(stream, level) {
                self.report(Report::StateLost { stream, node, direction, filter });
            }
        }
    }

    fn lost_filters(&self, stream: StreamId, level: Level) -> Vec<(Direction, String)> {
        let Some(stream) = self.streams.get(&stream) else { return Vec::new() };
        let options = &stream.opening.options;
        let of_agent = [
            (Direction::Up, options.upward(FilterRole::Inner, level)),
            (Direction::Down, options.downward(FilterRole::Inner, level)),
        ];
        let chosen = of_agent.into_iter().filter_map(|(direction, text)| Some((direction, text?)));
        chosen.filter(|(_, text)| self.loses(text)).map(|(direction, text)| (direction, text.to_owned())).collect()
    }

    /// Whether the state of a filter is lost with its node.
    fn loses(&self, text: &str) -> bool {
        self.transformations.make(text).is_ok_and(|filter| filter.recovery() == Recovery::Lost)
    }

    fn agents_above(&self, member: NodeId) -> impl Iterator<Item = NodeId> {
        self.below.chain(member).skip(1)
    }
}
