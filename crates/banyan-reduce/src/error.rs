//! What can be wrong with the parts of a wave.

use banyan_ndr::{DecodeError, FormatError};
use banyan_ranks::RankSet;

/// Why a part could not be taken. The wave is spoilt then: [`Reduction::clear`](super::Reduction::clear) it, and
/// begin again without the part.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReduceError {
    /// A part has something wrong.
    #[error("members {members}: {fault}")]
    Part {
        /// Whose part.
        members: RankSet,
        /// What is wrong.
        #[source]
        fault: Fault,
    },
    /// A part came after one with higher ranks.
    #[error("members {members} come after member {after}; parts are added in the order of their lowest ranks")]
    Order {
        /// Whose part.
        members: RankSet,
        /// The lowest rank of the part before.
        after: u32,
    },
}

/// What is wrong with a part.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A part of nobody, or a record of several.
    #[error("a record comes from one member, and a partial result from at least one; {0} were given")]
    Members(u64),
    /// A path leads nowhere in the records of this format, or to something that cannot be reduced so.
    #[error("{name}: records of {format} cannot be reduced so: {reason}")]
    Path {
        /// The function.
        name: String,
        /// The name of the format.
        format: String,
        /// Why.
        reason: String,
    },
    /// No member has sent a record with a field of this name.
    #[error("{name}: no member has sent the field{}{why}; check its name", if .why.is_empty() { "" } else { ": " })]
    Missing {
        /// The function or key.
        name: String,
        /// What they have sent instead, if that is known.
        why: String,
    },
    /// Another kind of value than the parts before had.
    #[error("{name}: it is {found} here, but {wanted} in the parts before; all members must send the same kind")]
    Kind {
        /// The function.
        name: String,
        /// What this part has.
        found: String,
        /// What the others have.
        wanted: String,
    },
    /// An array of another length than the parts before had.
    #[error(
        "{name}: the array has {found} items here, but {wanted} in the parts before; element by element needs arrays \
         of one length"
    )]
    Length {
        /// The function.
        name: String,
        /// What this part has.
        found: usize,
        /// What the others have.
        wanted: usize,
    },
    /// A sum that no integer holds.
    #[error("{name}: the sum is too large for {integer}; send floats, or use avg")]
    Overflow {
        /// The function.
        name: String,
        /// The type of the sum.
        integer: &'static str,
    },
    /// A bound is exceeded.
    #[error("{name}: {found} {what} are more than {limit} (ReductionLimits::{bound})")]
    Limit {
        /// The function.
        name: String,
        /// What there is too much of.
        what: &'static str,
        /// How much.
        found: usize,
        /// How much may be.
        limit: usize,
        /// The field of [`ReductionLimits`](super::ReductionLimits).
        bound: &'static str,
    },
    /// The records of a wave are too much for one record.
    #[error("{found} {what} are more than {limit}, the most that are collected; open the stream with a filter")]
    Collected {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        found: usize,
        /// How much may be.
        limit: usize,
    },
    /// A partial result that no node with this specification makes.
    #[error("{name}: no partial result of this specification: {reason}; do all nodes have the same specification?")]
    Partial {
        /// The function, or what else of it.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A partial result that names members which did not contribute to it.
    #[error("it names members {0}, which did not contribute to it")]
    Stranger(RankSet),
    /// The bytes are no record of their format.
    #[error(transparent)]
    Record(#[from] DecodeError),
    /// The results cannot be described.
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl Fault {
    /// Says which function it was, where that was not known.
    pub(super) fn of(mut self, function: &str) -> Fault {
        match &mut self {
            Fault::Record(error) => return Fault::Record(error.clone().within(function)),
            Fault::Path { name, .. }
            | Fault::Kind { name, .. }
            | Fault::Length { name, .. }
            | Fault::Overflow { name, .. }
            | Fault::Limit { name, .. }
            | Fault::Partial { name, .. }
                if name.is_empty() =>
            {
                *name = function.into();
            }
            _ => {}
        }
        self
    }

    /// A partial result that is wrong.
    pub(super) fn partial(reason: impl Into<String>) -> Fault {
        Fault::Partial { name: String::new(), reason: reason.into() }
    }
}
