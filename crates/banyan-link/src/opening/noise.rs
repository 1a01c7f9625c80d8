//! The handshake: `Noise_NNpsk0_25519_AESGCM_SHA256` with the preamble as prologue.

use snow::{Builder, HandshakeState};

use super::preamble::PREAMBLE_BYTES;
use crate::secret::Secret;

const PATTERN: &str = "Noise_NNpsk0_25519_AESGCM_SHA256";

/// A message without payload: a public key and a tag.
pub(super) const FIRST_BYTES: usize = 32 + TAG_BYTES;

/// A public key, [`ANSWER_BYTES`] of payload and a tag.
pub(super) const SECOND_BYTES: usize = 32 + ANSWER_BYTES + TAG_BYTES;

/// What the listener says of itself in the second message.
pub(super) const ANSWER_BYTES: usize = 16;

/// What authentication adds to a message.
pub(crate) const TAG_BYTES: usize = 16;

#[cfg(test)]
thread_local! {
    /// The ephemeral key of the next handshakes of this thread, so that recordings are always the same.
    pub(crate) static EPHEMERAL: std::cell::Cell<Option<[u8; 32]>> = const { std::cell::Cell::new(None) };
}

/// The dialling side when `initiator`, the listening side otherwise.
pub(super) fn handshake(
    initiator: bool,
    preamble: &[u8; PREAMBLE_BYTES],
    secret: &Secret,
) -> Result<HandshakeState, snow::Error> {
    let builder = Builder::new(PATTERN.parse()?).psk(0, secret.expose())?.prologue(preamble)?;
    #[cfg(test)]
    let key = EPHEMERAL.get();
    #[cfg(test)]
    let builder = match &key {
        Some(key) => builder.fixed_ephemeral_key_for_testing_only(key),
        None => builder,
    };
    if initiator { builder.build_initiator() } else { builder.build_responder() }
}
