//! What goes wrong at an agent and is its users' business, who are at the front-end: it is told upwards, within a bound. Neither
//! of it is kept: what happens while an agent has no parent is not told.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Node, Report};
use crate::ids::{Level, LinkId, NodeId, StreamId, WaveNumber};
use crate::message::Message;
use crate::stream_options::Direction;

/// What an agent tells of in its life. A filter that fails in every wave, or a child that breaks the rules whenever it has come
/// back, is not worth more than that.
const MOST: usize = 256;

/// Characters of each cause.
const CAUSE: usize = 400;

/// What an agent has told of.
#[derive(Debug, Default)]
pub(super) struct ToldFailures {
    count: usize,
    /// Streams whose filters failed: of each it is told once.
    streams: BTreeSet<(StreamId, Direction)>,
}

impl Node {
    /// A filter of this node has failed.
    pub(super) fn uncombined(&mut self, stream: StreamId, direction: Direction, wave: WaveNumber, cause: &str) {
        let node = self.id;
        self.report(Report::Uncombined { node, stream, direction, wave, cause: cause.to_owned() });
        if self.tells() && self.failures.streams.insert((stream, direction)) {
            self.failures.count += 1;
            self.send_up(Message::Uncombined { node, stream, direction, wave, cause: short(cause) });
        }
    }

    /// A child has broken the rules.
    pub(super) fn violated(&mut self, child: NodeId, cause: String) {
        let node = self.id;
        if self.tells() {
            self.failures.count += 1;
            self.send_up(Message::Violated { node, child, cause: short(&cause) });
        }
        self.report(Report::Violation { node, child, rank: self.rank_of(child), cause });
    }

    /// Whether this is an agent that has someone to tell. One that only keeps the members of another has no streams of its own.
    fn tells(&self) -> bool {
        let is_agent = !self.role.is_member() && self.ascent.level() != Level::LOWEST;
        is_agent && self.ascent.link().is_some() && self.failures.count < MOST
    }

    /// A child tells of an agent at or below it.
    pub(super) fn summary_of_problems(&mut self, link: LinkId, node: NodeId, message: Message) {
        let is_agents = self.below.get(node).is_some_and(|place| place.rank.is_none());
        if !is_agents || self.below.link_towards(node) != Some(link) {
            return;
        }
        // An agent that does not cut what it says is nobody's reason to keep more.
        match message {
            Message::Uncombined { node, stream, direction, wave, cause } if !self.role.is_front_end() => {
                self.send_up(Message::Uncombined { node, stream, direction, wave, cause: short(&cause) });
            }
            Message::Violated { node, child, cause } if !self.role.is_front_end() => {
                self.send_up(Message::Violated { node, child, cause: short(&cause) });
            }
            Message::Uncombined { node, stream, direction, wave, cause } => {
                self.report(Report::Uncombined { node, stream, direction, wave, cause: short(&cause).to_string() });
            }
            Message::Violated { node, child, cause } => {
                let (rank, cause) = (self.rank_of(child), short(&cause).to_string());
                self.report(Report::Violation { node, child, rank, cause });
            }
            _ => {}
        }
    }
}

pub(super) fn short(cause: &str) -> Arc<str> {
    cause.chars().take(CAUSE).collect::<String>().into()
}
