//! Where nodes can be reached, as far as a process has heard.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use banyan_link::Address;

use crate::ids::NodeId;

/// Nodes whose addresses are kept because others told them: more than a tree of a million members with 64 to a node has
/// inner nodes. Of more than these the longest known are forgotten.
pub(super) const NODES: usize = 1 << 14;

/// The addresses of nodes.
///
/// What a process says itself stays, and nobody can say otherwise; of what it hears from others the last word counts.
#[derive(Debug, Default)]
pub(crate) struct AddressBook {
    own: HashMap<NodeId, Arc<[Address]>>,
    heard: HashMap<NodeId, Arc<[Address]>>,
    /// The nodes in `heard`, the longest known first.
    order: VecDeque<NodeId>,
}

impl AddressBook {
    /// An empty one.
    pub(crate) fn new() -> AddressBook {
        AddressBook::default()
    }

    /// Where a node can be reached.
    pub(crate) fn get(&self, node: NodeId) -> Option<&Arc<[Address]>> {
        self.own.get(&node).or_else(|| self.heard.get(&node))
    }

    /// Notes for good what this process knows by itself, such as its own addresses.
    pub(crate) fn set(&mut self, node: NodeId, addresses: impl Into<Arc<[Address]>>) {
        self.own.insert(node, addresses.into());
    }

    /// Notes what another process told.
    pub(super) fn hear(&mut self, node: NodeId, addresses: Arc<[Address]>) {
        if self.heard.insert(node, addresses).is_some() {
            return;
        }
        self.order.push_back(node);
        if self.order.len() > NODES
            && let Some(oldest) = self.order.pop_front()
        {
            self.heard.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> Arc<[Address]> {
        [Address::Tcp(([127, 0, 0, 1], port).into())].into()
    }

    #[test]
    fn what_a_process_says_itself_is_neither_forgotten_nor_changed_by_others() {
        let mut book = AddressBook::new();
        book.set(NodeId(7), address(1));
        book.hear(NodeId(7), address(2));
        (0..NODES as u32 * 2).for_each(|node| book.hear(NodeId(node), address(3)));
        assert_eq!(book.get(NodeId(7)), Some(&address(1)));
    }

    #[test]
    fn the_longest_known_of_too_many_nodes_is_forgotten() {
        let mut book = AddressBook::new();
        let last = NODES as u32;
        (0..last).for_each(|node| book.hear(NodeId(node), address(1)));
        book.hear(NodeId(0), address(2));
        assert_eq!(book.get(NodeId(0)), Some(&address(2)));
        book.hear(NodeId(last), address(3));
        assert_eq!((book.get(NodeId(0)), book.heard.len()), (None, NODES));
        assert_eq!(book.get(NodeId(last)), Some(&address(3)));
    }
}
