//! The side that listens.

use snow::HandshakeState;

use super::PeerId;
use super::noise::{ANSWER_BYTES, FIRST_BYTES, SECOND_BYTES, TAG_BYTES, handshake};
use super::preamble::{ANSWER_HEAD_BYTES, MAGIC, NoPreamble, PREAMBLE_BYTES, Preamble, WANTS_ENCRYPTION, answer_head};
use crate::cipher::{Cipher, LENGTH_BYTES};
use crate::secret::Secret;
use crate::slab::Slabs;

/// Bytes of what the one who dials sends first.
const FIRST: usize = PREAMBLE_BYTES + FIRST_BYTES;
/// Bytes of its proof: an empty message under the new keys.
const PROOF: usize = LENGTH_BYTES + TAG_BYTES;
/// Bytes of the answer in between.
const ANSWER: usize = ANSWER_HEAD_BYTES + SECOND_BYTES;

/// Why somebody was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It does not speak this protocol.
    Garbage,
    /// It speaks another version of it.
    Version,
    /// No such session, peer or incarnation.
    UnknownPeer,
    /// It does not know the secret.
    Secret,
    /// Its first message was right, but it cannot go on: somebody repeats what another one said.
    Replay,
    /// Its first message was right, and it went.
    Left,
}

/// How far it is.
#[derive(Debug)]
pub enum OpeningState {
    /// More bytes are needed.
    More,
    /// The peer is who it says.
    Proved(Accepted),
}

/// Somebody who was let in.
#[derive(Debug)]
pub struct Accepted {
    pub(crate) peer: PeerId,
    pub(crate) cipher: Option<Box<Cipher>>,
}

impl Accepted {
    /// Who it is.
    pub fn peer(&self) -> PeerId {
        self.peer
    }
}

/// Waits for preamble and first message, answers, waits for the proof.
#[derive(Debug)]
pub struct Responder {
    stage: Stage,
    encrypt: bool,
    buffer: [u8; FIRST],
    filled: usize,
    outgoing: [u8; ANSWER],
    /// Of `outgoing`, what is to be sent.
    unsent: std::ops::Range<usize>,
}

#[derive(Debug)]
enum Stage {
    First,
    Proof { preamble: Preamble, cipher: Box<Cipher> },
    Refused,
}

impl Responder {
    /// One that has heard nothing; `encrypt` when this side wants frames encrypted.
    pub fn new(encrypt: bool) -> Responder {
        let (buffer, outgoing) = ([0; FIRST], [0; ANSWER]);
        Responder { stage: Stage::First, encrypt, buffer, filled: 0, outgoing, unsent: 0..0 }
    }

    /// Whether the first message has shown knowledge of the secret, be it repeated.
    pub fn has_shown_secret(&self) -> bool {
        matches!(self.stage, Stage::Proof { .. })
    }

    /// Where the next bytes go: exactly what is missing of the next message, so that nothing behind it is read.
    pub fn space(&mut self) -> &mut [u8] {
        let end = match self.stage {
            Stage::First => FIRST,
            Stage::Proof { .. } => PROOF,
            Stage::Refused => self.filled,
        };
        &mut self.buffer[self.filled..end]
    }

    /// What is to be sent.
    pub fn transmit(&self) -> &[u8] {
        &self.outgoing[self.unsent.clone()]
    }

    /// So much of it went.
    pub fn sent(&mut self, count: usize) {
        self.unsent.start += count;
    }

    /// Bytes have come. `find` knows the secrets of peers. After a refusal there may still be something to
    /// [send](Self::transmit).
    pub fn received(
        &mut self,
        count: usize,
        slabs: &Slabs,
        find: &mut dyn FnMut(&PeerId) -> Option<Secret>,
    ) -> Result<OpeningState, Refusal> {
        self.filled += count;
        let result = match &self.stage {
            Stage::First => self.first(slabs, find),
            Stage::Proof { .. } => self.proof(),
            Stage::Refused => Err(Refusal::Garbage),
        };
        if result.is_err() {
            self.stage = Stage::Refused;
        }
        result
    }

    fn first(
        &mut self,
        slabs: &Slabs,
        find: &mut dyn FnMut(&PeerId) -> Option<Secret>,
    ) -> Result<OpeningState, Refusal> {
        let known = self.filled.min(MAGIC.len());
        if self.buffer[..known] != MAGIC[..known] {
            return Err(Refusal::Garbage);
        }
        let Some(bytes) = self.buffer[..self.filled].first_chunk::<PREAMBLE_BYTES>() else {
            return Ok(OpeningState::More);
        };
        let preamble = match Preamble::decode(bytes) {
            Ok(preamble) => preamble,
            Err(NoPreamble::Garbage) => return Err(Refusal::Garbage),
            Err(NoPreamble::Version) => {
                self.outgoing[..ANSWER_HEAD_BYTES].copy_from_slice(&answer_head());
                self.unsent = 0..ANSWER_HEAD_BYTES;
                return Err(Refusal::Version);
            }
        };
        if self.filled < FIRST {
            return Ok(OpeningState::More);
        }
        let secret = find(&preamble.peer).ok_or(Refusal::UnknownPeer)?;
        let mut noise = handshake(false, bytes, &secret).map_err(|_| Refusal::Secret)?;
        noise.read_message(&self.buffer[PREAMBLE_BYTES..], &mut []).map_err(|_| Refusal::Secret)?;
        let cipher = self.answer(noise, slabs).map_err(|_| Refusal::Secret)?;
        self.stage = Stage::Proof { preamble, cipher };
        self.filled = 0;
        Ok(OpeningState::More)
    }

    fn answer(&mut self, mut noise: HandshakeState, slabs: &Slabs) -> Result<Box<Cipher>, snow::Error> {
        let mut answer = [0; ANSWER_BYTES];
        let wishes = if self.encrypt { WANTS_ENCRYPTION } else { 0 };
        answer[..4].copy_from_slice(&wishes.to_le_bytes());
        self.outgoing[..ANSWER_HEAD_BYTES].copy_from_slice(&answer_head());
        noise.write_message(&answer, &mut self.outgoing[ANSWER_HEAD_BYTES..])?;
        self.unsent = 0..ANSWER;
        Ok(Box::new(Cipher::new(noise.into_transport_mode()?, slabs.clone())))
    }

    fn proof(&mut self) -> Result<OpeningState, Refusal> {
        if self.filled < PROOF {
            return Ok(OpeningState::More);
        }
        let Stage::Proof { preamble, mut cipher } = std::mem::replace(&mut self.stage, Stage::Refused) else {
            return Err(Refusal::Garbage);
        };
        cipher.open_proof(&self.buffer[..PROOF]).map_err(|_| Refusal::Replay)?;
        let encrypt = self.encrypt || preamble.wishes & WANTS_ENCRYPTION != 0;
        Ok(OpeningState::Proved(Accepted { peer: preamble.peer, cipher: encrypt.then_some(cipher) }))
    }
}
