//! The shape that a network is launched in.

use std::str::FromStr;

use banyan_topology::{Spec, Topology, TopologyError};

/// The shape of a network: a word, laid over the hosts of the members, or a tree whose nodes have their hosts.
///
/// ```
/// use banyan_tree::{NetworkOptions, topology::Topology};
///
/// let file = "localhost:0 => localhost:1 localhost:2 ;"; // as MRNet writes it
/// let options = NetworkOptions::default().topology(Topology::parse(file, None)?.into());
/// let same = NetworkOptions::default().topology("flat:2".parse()?);
/// # drop((options, same));
/// # Ok::<(), banyan_tree::topology::TopologyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// A word: `4x16`, say.
    Spec(Spec),
    /// A tree, as a file says: agents and members run where it has them, and this program is the front-end.
    Topology(Box<Topology>),
}

impl From<Spec> for Shape {
    fn from(spec: Spec) -> Shape {
        Shape::Spec(spec)
    }
}

impl From<Topology> for Shape {
    fn from(topology: Topology) -> Shape {
        Shape::Topology(Box::new(topology))
    }
}

/// Of a word; what a file says is read with [`Topology::parse`].
impl FromStr for Shape {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Shape, TopologyError> {
        text.parse().map(Shape::Spec)
    }
}
