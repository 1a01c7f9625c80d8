//! What a simulation that stands still waits for.

use banyan_boot::RankSet;

use super::world::World;
use crate::ids::StreamId;

impl World<'_, '_> {
    fn progress_of(&self, stream: StreamId) -> String {
        let missing = self.nodes[0].node.missing(stream);
        let mut way = String::from("0");
        let mut at = 0;
        while let Some(next) = self.nodes[at].node.waits_for(stream).first() {
            at = next.0 as usize;
            way.push_str(&format!(" > {at}"));
        }
        let slowest = self.nodes[0].node.slowest(stream);
        let next = self.model.next(stream);
        format!("{stream} waits in {next} for {missing} by way of {way}, and its packets for {slowest:?}")
    }

    pub(super) fn progress(&self) -> String {
        let waves: Vec<String> = self.streams.iter().map(|(stream, _)| self.progress_of(*stream)).collect();
        let orphans: Vec<usize> = (1..self.nodes.len())
            .filter(|node| self.nodes[*node].is_alive && self.nodes[*node].node.parent().is_none())
            .take(8)
            .collect();
        let alive = self.alive();
        let unknown = alive.difference(&self.nodes[0].node.members());
        let lacks = |rank: &u32| {
            self.streams.iter().any(|(stream, members)| {
                members.contains(*rank) && !self.model.has_packets(*stream, *rank, self.plan.packets)
            })
        };
        let lacking: RankSet = alive.iter().filter(lacks).collect();
        format!(
            "{}; without parent: {orphans:?}; not known to be there: {unknown}; without all packets: {lacking}",
            waves.join(", ")
        )
    }
}
