//! What a neighbour did that no correct neighbour does. The driver cuts off a child that did; without a parent the
//! session is over.

use std::fmt;

use super::bundle::Damaged;

/// A neighbour broke the protocol.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{who} broke the protocol of collectives: {how}; all programs of a session must speak one protocol of Banyan")]
pub(crate) struct Broken {
    /// Who did.
    pub(crate) who: Neighbour,
    /// What it did.
    pub(crate) how: Offence,
}

/// The other end of a link.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Neighbour {
    /// The parent of this node.
    Parent,
    /// A child of this node: which, and its members.
    Child(usize, String),
}

/// What was wrong with a frame.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Offence {
    /// A kind that does not come this way.
    #[error("it sent a frame of kind {0}, which does not come from there")]
    Kind(u8),
    /// A payload that cannot be decoded.
    #[error("the {0} frame it sent cannot be decoded")]
    Payload(&'static str),
    /// A number that no member can have reached or that is long over.
    #[error("it sent a frame for collective {sequence}, but {expected} is next")]
    Number { sequence: u32, expected: u64 },
    /// Data or words of a member that is elsewhere.
    #[error("it spoke for member {0}, which is not there")]
    Rank(u32),
    /// Data that nobody waits for: of another operation, before ENTER, or more than there is.
    #[error("the data it sent for collective {number} is not what it entered")]
    Data { number: u64 },
    /// Pieces of a reduction that do not fit those of others.
    #[error("the piece it sent for the reduction of collective {number} has another length than others")]
    Piece { number: u64 },
}

impl From<Damaged> for Offence {
    fn from(_: Damaged) -> Offence {
        Offence::Payload("bundle")
    }
}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Neighbour::Parent => f.write_str("the parent"),
            Neighbour::Child(index, ranks) => write!(f, "child {index} (members {ranks})"),
        }
    }
}
