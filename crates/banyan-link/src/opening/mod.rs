//! Opening a link: both sides prove that they know the secret before anything else is parsed.
//!
//! The one who dials sends a [preamble](preamble) that says who it is, in the clear, and the first message of a Noise
//! handshake (`NNpsk0`) into which every byte of the preamble is bound. The listener finds the secret of that peer,
//! answers with the second message, and regards the link as open only when the first message under the new keys has
//! arrived: a first message that somebody recorded and repeats leads nowhere. No more than the bytes of the next message
//! are ever read, so that everything behind them is left for the link.
//!
//! Nothing here knows sockets or clocks.

mod initiator;
mod noise;
mod preamble;
mod responder;

pub(crate) use initiator::{Initiator, Opened};
#[cfg(test)]
pub(crate) use noise::EPHEMERAL;
pub use preamble::{PeerId, SessionId};
pub use responder::{Accepted, OpeningState, Refusal, Responder};

use crate::secret::Secret;

/// Who dials, and what proves it.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Who dials.
    pub peer: PeerId,
    /// What the listener knows of it, too.
    pub secret: Secret,
}
