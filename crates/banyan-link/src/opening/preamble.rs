//! The first bytes of a connection: who dials, in which session, in the clear. Believed only once the handshake that
//! they are bound into has succeeded.

use std::fmt;
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::protocol::PROTOCOL_VERSION;

/// How a connection between Banyan processes begins. Neither text nor the begin of any protocol's first message.
pub(super) const MAGIC: [u8; 8] = *b"\x8bBanyan\n";

/// Bytes of the preamble.
pub(super) const PREAMBLE_BYTES: usize = 48;

/// Bytes in the clear before the listener's message: magic, version, reserved.
pub(super) const ANSWER_HEAD_BYTES: usize = 16;

/// The sender wants frames encrypted.
pub(super) const WANTS_ENCRYPTION: u32 = 1;

/// Names a session: 16 random bytes. Not a secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub [u8; 16]);

impl SessionId {
    /// A new one.
    pub fn random() -> io::Result<SessionId> {
        let mut id = [0; 16];
        getrandom(&mut id, GetRandomFlags::empty())?;
        Ok(SessionId(id))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({self})")
    }
}

/// Who dials: a peer of a session, and how often it has been started anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PeerId {
    /// The session it belongs to.
    pub session: SessionId,
    /// Its number there.
    pub index: u32,
    /// Higher every time that it is started anew or connects anew.
    pub incarnation: u64,
}

/// The first bytes from the one who dials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Preamble {
    pub(super) wishes: u32,
    pub(super) peer: PeerId,
}

/// Why bytes are no preamble.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoPreamble {
    Garbage,
    Version,
}

impl Preamble {
    pub(super) fn encode(&self) -> [u8; PREAMBLE_BYTES] {
        let mut bytes = [0; PREAMBLE_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.wishes.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.peer.session.0);
        bytes[32..36].copy_from_slice(&self.peer.index.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.peer.incarnation.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; PREAMBLE_BYTES]) -> Result<Preamble, NoPreamble> {
        if bytes[..8] != MAGIC {
            return Err(NoPreamble::Garbage);
        }
        if bytes[8..10] != PROTOCOL_VERSION.to_le_bytes() {
            return Err(NoPreamble::Version);
        }
        if bytes[10..12] != [0; 2] || bytes[36..40] != [0; 4] {
            return Err(NoPreamble::Garbage);
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let mut session = [0; 16];
        session.copy_from_slice(&bytes[16..32]);
        let incarnation = u64::from(word(40)) | u64::from(word(44)) << 32;
        let peer = PeerId { session: SessionId(session), index: word(32), incarnation };
        Ok(Preamble { wishes: word(12), peer })
    }
}

/// What the listener sends in the clear, also to those it refuses for their version.
pub(super) fn answer_head() -> [u8; ANSWER_HEAD_BYTES] {
    let mut bytes = [0; ANSWER_HEAD_BYTES];
    bytes[0..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
    bytes
}
