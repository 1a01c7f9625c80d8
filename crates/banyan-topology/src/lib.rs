//! Trees of processes: who is whose child, on which host.
//!
//! ```
//! use banyan_topology::{Spec, Topology};
//!
//! let topology = "4x16".parse::<Spec>()?.build()?; // four agents with sixteen members each
//! assert_eq!((topology.agents(), topology.members(), topology.depth()), (4, 64, 2));
//! let agent = topology.children(topology.root()).nth(2).expect("there are four");
//! assert_eq!(topology.members_below(agent), 32..48);
//!
//! let file = "front-end\n  agents on node[1-4]\n    members 16\n";
//! let placed = Topology::parse(file, None)?;
//! assert_eq!(placed.host(agent), Some("node3"));
//! assert_eq!(placed.outline().to_string(), file);
//! # Ok::<(), banyan_topology::TopologyError>(())
//! ```
//!
//! The root is the front-end, inner nodes are agents, leaves are members. A [`Topology`] that exists is a tree with at
//! least one member and within the bounds ([`MAX_NODES`], [`MAX_DEPTH`]); it never changes. It comes from a
//! [specification](Spec), from [hosts](Topology::of_hosts), or from a file in one of two notations
//! ([`Topology::parse`]; `docs/topologies.md` has them), and is written and drawn in several.
//!
//! Nothing is started here, and no host name is looked up.

#![forbid(unsafe_code)]

mod assemble;
mod balanced;
mod draw;
mod error;
mod fold;
mod hosts;
mod limits;
mod mrnet;
mod outline;
mod spec;

use std::fmt;
use std::ops::Range;

use banyan_hosts::HostSet;

pub use draw::{Branch, Folding, View};
pub use error::{Position, TopologyError, TopologyProblem};
pub use limits::{MAX_DEPTH, MAX_NODES, MAX_TEXT_BYTES};
pub use mrnet::Mrnet;
pub use outline::Outline;
pub use spec::Spec;

/// A node of a [`Topology`]: its number, level by level from the root, which is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// Its number, for tables by node.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The root.
    FrontEnd,
    /// A node with others above and below it.
    Agent,
    /// A leaf.
    Member,
}

/// Where a node runs: a host, and which of the nodes there it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location<'a> {
    /// The host's name.
    pub host: &'a str,
    /// Its number among the nodes of the host.
    pub index: u32,
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.index)
    }
}

/// How many children the nodes have that have any.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Degrees {
    /// The fewest.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// On average.
    pub mean: f64,
}

/// Where a node runs, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Placing {
    /// A number in the set of hosts, or [`Placing::NOWHERE`].
    host: u32,
    index: u32,
}

impl Placing {
    const NOWHERE: u32 = u32::MAX;
}

/// A tree of nodes, numbered level by level, the children of a node one behind the other.
///
/// Members have ranks from 0 in depth-first order, so those below a node are a range. A million nodes take
/// 20 MB, and 28 MB on hosts. Numbers of nodes are those of one topology; with those of a larger one queries panic.
#[derive(Debug, Clone)]
pub struct Topology {
    /// The parent of each node; the root has itself.
    parents: Vec<u32>,
    /// Where the children of each node begin; they end where those of the next do. One more than there are nodes.
    children: Vec<u32>,
    /// Ranks of the members below each node, itself included: the first, and how many.
    below: Vec<(u32, u32)>,
    /// The node of each rank.
    ranks: Vec<u32>,
    /// Where each level begins, and where the last ends.
    levels: Vec<u32>,
    /// Where each node runs; empty if nothing is known of any.
    places: Vec<Placing>,
    hosts: HostSet,
}

impl Topology {
    /// Reads a topology in Banyan's notation, or in MRNet's, which is known by its arrows.
    ///
    /// If hosts are given, only these may occur.
    pub fn parse(text: &str, hosts: Option<&HostSet>) -> Result<Topology, TopologyError> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(TopologyProblem::TooMuchText.into());
        }
        if mrnet::is_mrnet(text) { mrnet::parse(text, hosts) } else { outline::parse(text, hosts) }
    }

    /// How many nodes there are, the front-end included.
    #[expect(clippy::len_without_is_empty, reason = "no topology is empty")]
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// How many members.
    pub fn members(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// How many agents.
    pub fn agents(&self) -> u32 {
        (self.len() - self.ranks.len() - 1) as u32
    }

    /// How many levels there are below the front-end.
    pub fn depth(&self) -> u32 {
        self.levels.len() as u32 - 2
    }

    /// All nodes, level by level.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        span(0..self.parents.len() as u32)
    }

    /// The nodes of a level; none below the last.
    pub fn nodes_of_level(&self, level: u32) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        let level = level as usize;
        span(self.levels.get(level..level + 2).map_or(0..0, |ends| ends[0]..ends[1]))
    }

    /// The front-end.
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    /// The node with this number.
    pub fn node(&self, index: usize) -> Option<NodeId> {
        (index < self.len()).then_some(NodeId(index as u32))
    }

    /// What the node is.
    pub fn role(&self, node: NodeId) -> Role {
        match (node.0, self.degree(node)) {
            (0, _) => Role::FrontEnd,
            (_, 0) => Role::Member,
            _ => Role::Agent,
        }
    }

    /// The node above; the front-end has none.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        (node.0 != 0).then(|| NodeId(self.parents[node.index()]))
    }

    /// The nodes below, in the order of their ranks.
    pub fn children(&self, node: NodeId) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator + Clone {
        span(self.children[node.index()]..self.children[node.index() + 1])
    }

    /// How many children the node has.
    pub fn degree(&self, node: NodeId) -> u32 {
        self.children[node.index() + 1] - self.children[node.index()]
    }

    /// How far it is below the front-end.
    pub fn level(&self, node: NodeId) -> u32 {
        assert!(node.index() < self.len(), "node {} of a topology of {}", node.0, self.len());
        self.levels.partition_point(|start| *start <= node.0) as u32 - 1
    }

    /// The nodes above it, the nearest first, up to the front-end.
    pub fn path_to_root(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.parent(node), |above| self.parent(*above))
    }

    /// The ranks of the members below; a member has its own.
    pub fn members_below(&self, node: NodeId) -> Range<u32> {
        let (first, count) = self.below[node.index()];
        first..first + count
    }

    /// The rank of a member.
    pub fn rank(&self, node: NodeId) -> Option<u32> {
        (self.role(node) == Role::Member).then(|| self.below[node.index()].0)
    }

    /// The member of a rank.
    pub fn member(&self, rank: u32) -> Option<NodeId> {
        self.ranks.get(rank as usize).copied().map(NodeId)
    }

    /// The host a node runs on, if that is known.
    pub fn host(&self, node: NodeId) -> Option<&str> {
        self.place(node).map(|place| place.host)
    }

    /// Where a node runs, if that is known.
    pub fn place(&self, node: NodeId) -> Option<Location<'_>> {
        let Placing { host, index } = *self.places.get(node.index())?;
        self.hosts.get(host as usize).map(|host| Location { host, index })
    }

    /// All hosts that nodes run on.
    pub fn hosts(&self) -> &HostSet {
        &self.hosts
    }

    /// How many children front-end and agents have.
    pub fn degrees(&self) -> Degrees {
        let degrees = || self.children.windows(2).map(|ends| ends[1] - ends[0]).filter(|degree| *degree > 0);
        // There is a member, so the front-end has a child.
        Degrees {
            least: degrees().min().unwrap_or_default(),
            most: degrees().max().unwrap_or_default(),
            mean: (self.len() - 1) as f64 / degrees().count() as f64,
        }
    }

    /// As text in Banyan's notation.
    pub fn outline(&self) -> Outline<'_> {
        Outline(self)
    }

    /// As text in MRNet's notation. What has no host is on `localhost`.
    pub fn mrnet(&self) -> Mrnet<'_> {
        Mrnet(self)
    }

    /// As a picture, with what repeats itself folded.
    pub fn view(&self, folding: Folding) -> View<'_> {
        View::new(self, folding)
    }
}

/// The same tree, each node at the same place.
impl PartialEq for Topology {
    fn eq(&self, other: &Topology) -> bool {
        self.parents == other.parents && self.nodes().all(|node| self.place(node) == other.place(node))
    }
}

impl Eq for Topology {}

fn span(numbers: Range<u32>) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator + Clone {
    numbers.map(NodeId)
}
