//! Why a collective did not give a result.

use banyan_link::Frame;
use bytes::Bytes;

use crate::collective::{BadReduction, MESSAGE_LIMIT};

/// Why a collective did not give a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CollectiveError {
    /// It cannot complete, nor can any later one: members are in different collectives, or one is gone.
    #[error("{0}")]
    Failed(String),
    /// Another call before the end of one that has not completed in time.
    #[error("collective {number} ({call}) has not ended; make the same call again to go on waiting for it")]
    Unfinished {
        /// The number of that one.
        number: u64,
        /// What it is.
        call: String,
    },
    /// Only the master gives bytes.
    #[error("only the master (member 0) gives the bytes of a {0}; give none here")]
    Given(&'static str),
    /// The master gives bytes.
    #[error("the master (member 0) gives the bytes of a {0}; give them")]
    NotGiven(&'static str),
    /// A scatter needs a part for each.
    #[error("{given} parts for {members} members; give one part for each member")]
    Parts {
        /// Parts that were given.
        given: usize,
        /// Members of the session.
        members: u32,
    },
    /// More than a message may have.
    #[error("{0} bytes are more than the {MESSAGE_LIMIT} one collective carries for a member; use several")]
    TooLong(usize),
    /// The reduction does not exist.
    #[error(transparent)]
    Reduction(#[from] BadReduction),
    /// The agent sent what no correct agent sends.
    #[error(
        "the agent sent a frame of kind {kind} for collective {sequence} that does not belong there; \
         all programs of a session must speak one protocol of Banyan"
    )]
    Protocol {
        /// Kind of the frame.
        kind: u8,
        /// Number in the frame.
        sequence: u32,
    },
}

impl CollectiveError {
    pub(super) fn protocol(frame: &Frame) -> Self {
        Self::Protocol { kind: frame.kind.number(), sequence: frame.sequence }
    }

    pub(super) fn not_the_master(operation: &'static str, is_given: bool) -> Self {
        if is_given { Self::Given(operation) } else { Self::NotGiven(operation) }
    }
}

pub(super) fn check_length(bytes: &Bytes) -> Result<(), CollectiveError> {
    if bytes.len() as u64 <= MESSAGE_LIMIT { Ok(()) } else { Err(CollectiveError::TooLong(bytes.len())) }
}
