//! Writes MRNet's notation, a statement a line.

use std::collections::HashSet;
use std::fmt;

use super::super::{NodeId, Topology};

/// The host of what has none.
const SOMEWHERE: &str = "localhost";

/// A topology in MRNet's notation; see [`Topology::mrnet`].
#[derive(Debug, Clone, Copy)]
pub struct Mrnet<'a>(pub(in super::super) &'a Topology);

impl fmt::Display for Mrnet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topology = self.0;
        let somewhere = Somewhere::of(topology);
        for node in topology.nodes().filter(|node| topology.degree(*node) > 0) {
            somewhere.write(f, topology, node)?;
            f.write_str(" =>")?;
            for child in topology.children(node) {
                f.write_str(" ")?;
                somewhere.write(f, topology, child)?;
            }
            f.write_str(" ;\n")?;
        }
        Ok(())
    }
}

/// Indices on [`SOMEWHERE`] for the nodes that have no place.
struct Somewhere {
    /// By node; empty if all have a place.
    indices: Vec<u32>,
}

impl Somewhere {
    fn of(topology: &Topology) -> Somewhere {
        if topology.nodes().all(|node| topology.place(node).is_some()) {
            return Somewhere { indices: Vec::new() };
        }
        let places = topology.nodes().filter_map(|node| topology.place(node));
        let taken: HashSet<u32> = places.filter(|place| place.host == SOMEWHERE).map(|place| place.index).collect();
        let mut free = (0..).filter(|index| !taken.contains(index));
        let index = |node| topology.place(node).map_or_else(|| free.next().unwrap_or_default(), |_| 0);
        Somewhere { indices: topology.nodes().map(index).collect() }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, topology: &Topology, node: NodeId) -> fmt::Result {
        match topology.place(node) {
            Some(place) => write!(f, "{place}"),
            None => write!(f, "{SOMEWHERE}:{}", self.indices[node.index()]),
        }
    }
}
