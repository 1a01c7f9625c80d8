//! The clocks of a network's nodes, as a table of edges.

use std::fmt;
use std::ops::Deref;

use banyan_boot::Session;
use banyan_link::Deadline;

use super::shared::Core;
use super::{Network, first_member};
use crate::clocks::NodeClock;
use crate::error::TreeError;
use crate::ids::NodeId;

/// An edge of the tree: a node with its parent, and what is known of the offset of their clocks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ClockEdge {
    /// The node at the lower end.
    pub node: NodeId,
    /// Its rank, if it is a member.
    pub rank: Option<u32>,
    /// Its host; empty where the front-end does not know it, because the process has taken the place of another one.
    pub host: String,
    /// What the node knows.
    pub clock: NodeClock,
}

impl Deref for ClockEdge {
    type Target = NodeClock;

    fn deref(&self) -> &NodeClock {
        &self.clock
    }
}

/// For people: which node, and by how much its clock is ahead of its parent's.
impl fmt::Display for ClockEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClockEdge { node, host, clock, .. } = self;
        let parent = clock.parent;
        match (clock.offset(), clock.bound()) {
            _ if clock.is_same => write!(f, "{node} on {host} has the clock of {parent}"),
            (Some(offset), Some(bound)) => write!(f, "{node} on {host}: {offset} ± {bound} ns ahead of {parent}"),
            _ => write!(f, "{node} on {host}: not compared with {parent} yet"),
        }
    }
}

impl Network {
    /// How the clocks of all nodes stand to those of their parents, asked for through the tree itself: a row for each node
    /// below the front-end, by number. Members answer when they next wait or send. After the limit: of those who have
    /// answered. Nodes of a release that does not compare clocks, and those below them, do not answer.
    ///
    /// # Errors
    /// When the network has ended.
    pub fn clocks(&self, limit: impl Into<Deadline>) -> Result<Vec<ClockEdge>, TreeError> {
        self.shared.core().driver.node_mut().ask_clocks();
        let answered = |core: &mut Core| {
            let node = core.driver.node();
            (node.clocks()?.len() >= node.nodes().len()).then_some(Ok(()))
        };
        match self.shared.wait(limit.into(), answered) {
            Err(TreeError::TimedOut) | Ok(()) => {}
            Err(error) => return Err(error),
        }
        let core = self.shared.core();
        let clocks = core.driver.node().clocks().into_iter().flatten();
        Ok(clocks.map(|(node, clock)| edge(&self.session, *node, *clock)).collect())
    }
}

fn edge(session: &Session, node: NodeId, clock: NodeClock) -> ClockEdge {
    let first = first_member(session);
    let rank = node.0.checked_sub(first.0).filter(|rank| *rank < session.size());
    let host = match rank {
        Some(rank) => session.hosts().nth(rank as usize),
        // Agents are numbered from 1.
        None => {
            (node.without_guard().0 as usize).checked_sub(1).and_then(|at| session.layout().get(at)).map(|at| &*at.host)
        }
    };
    ClockEdge { node, rank, host: host.unwrap_or_default().to_owned(), clock }
}
