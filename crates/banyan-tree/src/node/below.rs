//! Who is below a node: every node keeps the map of its own subtree, the front-end that of the whole tree.
//!
//! Nodes move, and reports of their moves come by different ways and in any order. Each report says where one node is
//! *by its parent* and carries that node's epoch, and the larger epoch wins; everything else follows from the chain of
//! parents.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use banyan_boot::RankSet;

use crate::ids::{Epoch, LinkId, NodeId};
use crate::message::{Candidate, NodeInfo};

#[derive(Debug)]
pub(super) struct Subtree {
    /// Whose subtree this is.
    own: Candidate,
    places: HashMap<NodeId, NodeInfo>,
    children: HashMap<NodeId, BTreeSet<NodeId>>,
    /// Links of this node's own children.
    links: BTreeMap<NodeId, LinkId>,
    nodes: HashMap<LinkId, NodeId>,
    /// The members below links; found again when someone has moved there.
    members: HashMap<LinkId, RankSet>,
}

impl Subtree {
    pub(super) fn new(own: Candidate) -> Subtree {
        Subtree {
            own,
            places: HashMap::new(),
            children: HashMap::new(),
            links: BTreeMap::new(),
            nodes: HashMap::new(),
            members: HashMap::new(),
        }
    }

    /// Takes a report; false if it is out of date, says nothing new, or cannot be: levels grow from parent to child, so
    /// that no report can make a ring.
    pub(super) fn place(&mut self, place: NodeInfo) -> bool {
        let known = self.places.get(&place.node);
        if known.is_some_and(|known| known.epoch > place.epoch || *known == place) {
            return false;
        }
        let above = match self.places.get(&place.parent) {
            _ if place.parent == self.own.node => Some(self.own.level),
            parent => parent.map(|parent| parent.level),
        };
        let keeps_level = known.is_none_or(|known| known.level == place.level);
        if place.node == self.own.node || above.is_none_or(|above| place.level <= above) || !keeps_level {
            return false;
        }
        self.forget_members(place.node);
        if let Some(known) = self.places.insert(place.node, place) {
            self.leave_parent(known);
        }
        self.children.entry(place.parent).or_default().insert(place.node);
        self.forget_members(place.node);
        true
    }

    /// This node's own child, and its link.
    pub(super) fn link(&mut self, node: NodeId, link: LinkId) {
        self.nodes.insert(link, node);
        self.links.insert(node, link);
    }

    /// A link has ended: the child that it was the link of.
    pub(super) fn unlink_child(&mut self, link: LinkId) -> Option<NodeId> {
        let node = self.nodes.remove(&link)?;
        self.links.remove(&node);
        self.members.remove(&link);
        Some(node)
    }

    pub(super) fn links(&self) -> impl Iterator<Item = (NodeId, LinkId)> {
        self.links.iter().map(|(node, link)| (*node, *link))
    }

    pub(super) fn link_of(&self, node: NodeId) -> Option<LinkId> {
        self.links.get(&node).copied()
    }

    pub(super) fn node_of(&self, link: LinkId) -> Option<NodeId> {
        self.nodes.get(&link).copied()
    }

    /// How many children this node has.
    pub(super) fn degree(&self) -> usize {
        self.links.len()
    }

    /// Where everyone below is, in no order.
    pub(super) fn places(&self) -> impl Iterator<Item = &NodeInfo> {
        self.places.values()
    }

    /// How many children a node below has.
    pub(super) fn degree_of(&self, node: NodeId) -> usize {
        self.children.get(&node).map_or(0, BTreeSet::len)
    }

    pub(super) fn get(&self, node: NodeId) -> Option<NodeInfo> {
        self.places.get(&node).copied()
    }

    /// The epoch of the last report of a node.
    pub(super) fn epoch(&self, node: NodeId) -> Option<Epoch> {
        self.places.get(&node).map(|place| place.epoch)
    }

    /// A node and all below it, each after its parent.
    pub(super) fn subtree(&self, node: NodeId) -> Vec<NodeInfo> {
        let mut found: Vec<NodeInfo> = self.places.get(&node).copied().into_iter().collect();
        let mut at = 0;
        while at < found.len() {
            let children = self.children.get(&found[at].node).into_iter().flatten();
            found.extend(children.filter_map(|child| self.places.get(child)));
            at += 1;
        }
        found
    }

    /// All below this node's own children, each after its parent.
    pub(super) fn everyone(&self) -> Vec<NodeInfo> {
        self.links.keys().flat_map(|child| self.subtree(*child)).collect()
    }

    /// The members at and below a node.
    pub(super) fn members_below(&self, node: NodeId) -> RankSet {
        self.subtree(node).iter().filter_map(|place| place.rank).collect()
    }

    /// The link of this node's own child that a node is at or below.
    pub(super) fn link_towards(&self, node: NodeId) -> Option<LinkId> {
        self.chain(node).last().and_then(|child| self.links.get(&child)).copied()
    }

    /// A node and those above it, up to this node's own child. Levels become smaller, so it ends.
    pub(super) fn chain(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let parent = |node: &NodeId| self.places.get(node).map(|place| place.parent).filter(|up| *up != self.own.node);
        std::iter::successors(Some(node).filter(|node| self.places.contains_key(node)), parent)
    }

    /// Forgets a node and all below it.
    pub(super) fn remove(&mut self, node: NodeId) {
        self.forget_members(node);
        for place in self.subtree(node) {
            self.places.remove(&place.node);
            self.leave_parent(place);
        }
    }

    /// The members below a link.
    pub(super) fn members(&mut self, link: LinkId) -> &RankSet {
        if !self.members.contains_key(&link) {
            let members = self.node_of(link).map(|node| self.members_below(node)).unwrap_or_default();
            self.members.insert(link, members);
        }
        self.members.entry(link).or_default()
    }

    fn forget_members(&mut self, node: NodeId) {
        if let Some(link) = self.link_towards(node) {
            self.members.remove(&link);
        }
    }

    fn leave_parent(&mut self, place: NodeInfo) {
        if let Some(children) = self.children.get_mut(&place.parent) {
            children.remove(&place.node);
            if children.is_empty() {
                self.children.remove(&place.parent);
            }
        }
    }
}
