//! What can be chosen for a stream: whom its waves wait for, and which filters work on it, upwards and downwards, where.

use std::collections::BTreeMap;

use banyan_reduce::{COLLECT, FilterRole, REDUCE};

use crate::ids::Level;
use crate::synchronisation::Synchronisation;

/// The name that stands for no filter: what comes down goes on as it is.
pub const PASS: &str = "pass";

/// What is done with the records of a stream on their way up and down. A text is a reduction.
///
/// ```
/// use std::time::Duration;
/// use banyan_tree::{StreamOptions, Synchronisation, Where};
///
/// let options = StreamOptions::reduce("max(temp)").synchronised(Synchronisation::Timeout(Duration::from_millis(50)));
/// assert_eq!(StreamOptions::from("max(temp)").up, options.up);
///
/// // Filters of one's own: one at members, others at the agents just above them, and another for what goes down.
/// let options = StreamOptions::filter("merge", "")
///     .up_at(Where::Members, "compress", "level=3")
///     .up_at(Where::Level(2), "merge", "quick")
///     .down("stamp", "");
/// assert_eq!(options.down.len(), 1);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamOptions {
    /// What nodes do with the contributions to a wave. Without any choice, all records of a wave are collected in one.
    pub up: Filtering,
    /// What nodes do with what comes down. Without any choice, it is passed on as it is.
    pub down: Filtering,
    /// Whom waves wait for.
    pub synchronisation: Synchronisation,
}

/// Which filter works where, in one direction: the name of each, and behind a space its parameters.
///
/// For a node the nearest choice counts: that of its level, then that of its part in the tree, then that of everyone.
pub type Filtering = BTreeMap<Where, String>;

/// A way through the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From members to the front-end.
    Up,
    /// From the front-end to members.
    Down,
}

/// Some of the nodes that records of a stream pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Where {
    /// The front-end and all agents. Members only where [`Where::Members`] says so; on streams of intervals, this filter
    /// also puts a member's own records together.
    Everywhere,
    /// The front-end.
    Root,
    /// All agents.
    Agents,
    /// All members: their program has to know the filter ([`register_filters`](crate::register_filters)).
    Members,
    /// The agents of one level: 1 is right below the front-end. A node keeps the level that it began with.
    Level(u16),
}

/// The filter of a node, if there is a choice for it.
pub(crate) fn chosen(filtering: &Filtering, place: FilterRole, level: Level) -> Option<&str> {
    let nearest = match place {
        FilterRole::Root => [Where::Root, Where::Everywhere],
        FilterRole::Inner => [Where::Agents, Where::Everywhere],
        FilterRole::Member => return filtering.get(&Where::Members).map(String::as_str),
    };
    let of_level = filtering.get(&Where::Level(level.0));
    of_level.or_else(|| nearest.iter().find_map(|at| filtering.get(at))).map(String::as_str)
}

impl StreamOptions {
    /// A reduction: `max(temp), avg(load) by host`.
    pub fn reduce(text: &str) -> StreamOptions {
        StreamOptions::filter(REDUCE, text)
    }

    /// All records of a wave in one, with who sent each.
    pub fn collect() -> StreamOptions {
        StreamOptions::filter(COLLECT, "")
    }

    /// A filter of one's own, with its parameters.
    pub fn filter(name: &str, parameters: &str) -> StreamOptions {
        StreamOptions::default().up_at(Where::Everywhere, name, parameters)
    }

    /// The same with another synchronisation.
    #[must_use]
    pub fn synchronised(self, synchronisation: Synchronisation) -> StreamOptions {
        StreamOptions { synchronisation, ..self }
    }

    /// The same with a filter for what goes down: at the front-end, and at every agent on the way.
    #[must_use]
    pub fn down(self, name: &str, parameters: &str) -> StreamOptions {
        self.down_at(Where::Everywhere, name, parameters)
    }

    /// The same with another filter for what comes up, at some nodes.
    #[must_use]
    pub fn up_at(mut self, at: Where, name: &str, parameters: &str) -> StreamOptions {
        self.up.insert(at, text(name, parameters));
        self
    }

    /// The same with another filter for what goes down, at some nodes; or [`PASS`].
    #[must_use]
    pub fn down_at(mut self, at: Where, name: &str, parameters: &str) -> StreamOptions {
        self.down.insert(at, text(name, parameters));
        self
    }

    /// The filters that the front-end's program has to know, and with it its agents.
    pub(crate) fn known_above_members(&self) -> impl Iterator<Item = &str> {
        let of_others = |(at, text): (&Where, &'_ String)| *at != Where::Members && text != PASS;
        let all = self.up.iter().chain(&self.down);
        all.filter(move |choice| of_others(*choice)).map(|(_, text)| text.as_str())
    }

    /// The filter of a node for what comes up; nothing for what every node does, and where records are passed on.
    pub(crate) fn upward(&self, place: FilterRole, level: Level) -> Option<&str> {
        let passes = |text: &&str| *text == PASS && !self.synchronisation.has_waves();
        chosen(&self.up, place, level).filter(|text| !passes(text))
    }

    /// The filter that puts a member's own records of an interval together.
    pub(crate) fn of_intervals(&self) -> &str {
        [Where::Members, Where::Everywhere].iter().find_map(|at| self.up.get(at)).map_or("", String::as_str)
    }

    /// Whether a member's records pass a filter of its own before they are contributions, one by one.
    pub(crate) fn filters_at_members(&self) -> bool {
        self.up.contains_key(&Where::Members) && !matches!(self.synchronisation, Synchronisation::Interval(_))
    }

    /// Whether members send what a filter made of their records, instead of the records.
    pub(crate) fn are_made_at_members(&self) -> bool {
        self.filters_at_members() || matches!(self.synchronisation, Synchronisation::Interval(_))
    }

    /// The filter of a node for what goes down; none if it is passed on.
    pub(crate) fn downward(&self, place: FilterRole, level: Level) -> Option<&str> {
        chosen(&self.down, place, level).filter(|text| *text != PASS)
    }
}

fn text(name: &str, parameters: &str) -> String {
    format!("{name} {parameters}").trim().to_owned()
}

impl From<&str> for StreamOptions {
    fn from(reduction: &str) -> StreamOptions {
        StreamOptions::reduce(reduction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_choice_counts_for_a_node() {
        let options = StreamOptions::filter("all", "")
            .up_at(Where::Level(2), "second", "x")
            .up_at(Where::Agents, "agents", "")
            .down_at(Where::Root, PASS, "")
            .down("down", "");
        let up = |place, level| options.upward(place, Level(level));
        assert_eq!(up(FilterRole::Root, 0), Some("all"));
        assert_eq!(up(FilterRole::Inner, 1), Some("agents"));
        assert_eq!(up(FilterRole::Inner, 2), Some("second x"));
        assert_eq!(up(FilterRole::Member, 2), None, "members do nothing unless they are told to");
        assert_eq!(options.downward(FilterRole::Root, Level(0)), None);
        assert_eq!(options.downward(FilterRole::Inner, Level(1)), Some("down"));
    }
}
