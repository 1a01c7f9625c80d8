//! The side that dials.

use snow::HandshakeState;

use super::Opening;
use super::noise::{ANSWER_BYTES, FIRST_BYTES, SECOND_BYTES, handshake};
use super::preamble::{ANSWER_HEAD_BYTES, MAGIC, PREAMBLE_BYTES, Preamble, WANTS_ENCRYPTION};
use crate::cipher::Cipher;
use crate::error::OpeningError;
use crate::protocol::OtherProtocol;
use crate::slab::Slabs;

/// Bytes of the listener's answer.
const ANSWER: usize = ANSWER_HEAD_BYTES + SECOND_BYTES;

/// Sends preamble and first message, waits for the second.
#[derive(Debug)]
pub(crate) struct Initiator {
    noise: Option<HandshakeState>,
    encrypt: bool,
    outgoing: [u8; PREAMBLE_BYTES + FIRST_BYTES],
    sent: usize,
    incoming: [u8; ANSWER],
    filled: usize,
}

/// The listener has proved that it knows the secret.
#[derive(Debug)]
pub(crate) struct Opened {
    /// How frames go from now on.
    pub(crate) cipher: Option<Box<Cipher>>,
    /// What has to go before any frame: proves that this side is no recording.
    pub(crate) proof: Vec<u8>,
}

impl Initiator {
    pub(crate) fn new(opening: &Opening, encrypt: bool) -> Result<Initiator, OpeningError> {
        let wishes = if encrypt { WANTS_ENCRYPTION } else { 0 };
        let preamble = Preamble { wishes, peer: opening.peer }.encode();
        let mut noise = handshake(true, &preamble, &opening.secret).map_err(cryptography)?;
        let mut outgoing = [0; PREAMBLE_BYTES + FIRST_BYTES];
        outgoing[..PREAMBLE_BYTES].copy_from_slice(&preamble);
        noise.write_message(&[], &mut outgoing[PREAMBLE_BYTES..]).map_err(cryptography)?;
        Ok(Initiator { noise: Some(noise), encrypt, outgoing, sent: 0, incoming: [0; ANSWER], filled: 0 })
    }

    /// What is to be sent.
    pub(crate) fn transmit(&self) -> &[u8] {
        &self.outgoing[self.sent..]
    }

    pub(crate) fn sent(&mut self, count: usize) {
        self.sent += count;
    }

    /// Where the answer goes: exactly what is missing of it.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        &mut self.incoming[self.filled..]
    }

    /// Bytes of the answer have come.
    pub(crate) fn received(&mut self, count: usize, slabs: &Slabs) -> Result<Option<Opened>, OpeningError> {
        self.filled += count;
        let known = self.filled.min(MAGIC.len());
        if self.incoming[..known] != MAGIC[..known] {
            return Err(OpeningError::NotBanyan);
        }
        if self.filled >= ANSWER_HEAD_BYTES {
            OtherProtocol::check(u16::from_le_bytes([self.incoming[8], self.incoming[9]]))?;
        }
        if self.filled < ANSWER {
            return Ok(None);
        }
        self.finish(slabs).map(Some)
    }

    fn finish(&mut self, slabs: &Slabs) -> Result<Opened, OpeningError> {
        let mut noise = self.noise.take().ok_or(OpeningError::Secret)?;
        let mut answer = [0; SECOND_BYTES];
        let length = noise.read_message(&self.incoming[ANSWER_HEAD_BYTES..], &mut answer);
        if length != Ok(ANSWER_BYTES) {
            return Err(OpeningError::Secret);
        }
        let wishes = u32::from_le_bytes([answer[0], answer[1], answer[2], answer[3]]);
        let transport = noise.into_transport_mode().map_err(cryptography)?;
        let mut cipher = Box::new(Cipher::new(transport, slabs.clone()));
        let proof = cipher.seal_proof().map_err(cryptography)?;
        let encrypt = self.encrypt || wishes & WANTS_ENCRYPTION != 0;
        Ok(Opened { cipher: encrypt.then_some(cipher), proof })
    }
}

fn cryptography(error: snow::Error) -> OpeningError {
    OpeningError::Cryptography(error.to_string())
}
