//! Encrypted transport: frames cut into messages that nobody can read, change, repeat, leave out or reorder.
//!
//! A message is its length (two bytes, little-endian), the encrypted bytes and a tag of 16 bytes. The number of the
//! message is part of what the tag protects. Messages know nothing of the frames in them.

use snow::TransportState;

use crate::error::ProtocolError;
use crate::input::Input;
use crate::output::Output;
use crate::slab::{SLAB_BYTES, Slab, Slabs};

/// Bytes of a message's length.
pub(crate) const LENGTH_BYTES: usize = 2;

/// What authentication adds.
const TAG_BYTES: usize = 16;

/// The longest message with its length.
const MESSAGE_BYTES: usize = LENGTH_BYTES + u16::MAX as usize;

/// The most that goes into one message.
const PLAIN_BYTES: usize = u16::MAX as usize - TAG_BYTES;

/// Bytes encrypted before the system must take some.
const SEALED_BYTES: usize = 2 * SLAB_BYTES;

/// Keys, and what is on its way in and out in encrypted form.
#[derive(Debug)]
pub(crate) struct Cipher {
    transport: TransportState,
    slabs: Slabs,
    /// Empty when no part of a message is there.
    incoming: Slab,
    filled: usize,
    outgoing: Vec<u8>,
    sent: usize,
}

impl Cipher {
    pub(crate) fn new(transport: TransportState, slabs: Slabs) -> Cipher {
        Cipher { transport, slabs, incoming: Slab::default(), filled: 0, outgoing: Vec::new(), sent: 0 }
    }

    /// An empty message: only who knows the keys can make it.
    pub(crate) fn seal_proof(&mut self) -> Result<Vec<u8>, snow::Error> {
        let mut message = vec![0; LENGTH_BYTES + TAG_BYTES];
        message[0] = TAG_BYTES as u8;
        self.transport.write_message(&[], &mut message[LENGTH_BYTES..])?;
        Ok(message)
    }

    /// Checks what [`seal_proof`](Self::seal_proof) made on the other side.
    pub(crate) fn open_proof(&mut self, message: &[u8]) -> Result<(), ProtocolError> {
        let (length, sealed) = message.split_first_chunk::<LENGTH_BYTES>().ok_or(ProtocolError::Forged)?;
        if usize::from(u16::from_le_bytes(*length)) != sealed.len() {
            return Err(ProtocolError::Forged);
        }
        self.transport.read_message(sealed, &mut []).map_err(|_| ProtocolError::Forged)?;
        Ok(())
    }

    /// Where received bytes go.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.incoming.len() < MESSAGE_BYTES {
            let mut larger = self.slabs.take(MESSAGE_BYTES);
            larger[..self.filled].copy_from_slice(&self.incoming[..self.filled]);
            self.slabs.give_back(std::mem::replace(&mut self.incoming, larger));
        }
        &mut self.incoming[self.filled..]
    }

    pub(crate) fn advance(&mut self, count: usize) {
        self.filled += count;
    }

    /// Decrypts one whole message at `at` into `input`; where the next one starts, or `None` when it has not arrived.
    pub(crate) fn open_next(&mut self, at: usize, input: &mut Input) -> Result<Option<usize>, ProtocolError> {
        let arrived = &self.incoming[at..self.filled];
        let Some((length, rest)) = arrived.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = usize::from(u16::from_le_bytes(*length));
        if length < TAG_BYTES {
            return Err(ProtocolError::Forged);
        }
        let Some(sealed) = rest.get(..length) else { return Ok(None) };
        let plain = input.space_for((length - TAG_BYTES).max(1));
        let count = self.transport.read_message(sealed, plain).map_err(|_| ProtocolError::Forged)?;
        input.advance(count);
        Ok(Some(at + LENGTH_BYTES + length))
    }

    /// The messages before `end` are decrypted.
    pub(crate) fn opened(&mut self, end: usize) {
        self.incoming.copy_within(end..self.filled, 0);
        self.filled -= end;
    }

    /// Whether a part of a message has arrived.
    pub(crate) fn has_part(&self) -> bool {
        self.filled > 0
    }

    /// Encrypts what `output` has staged, as much as goes in one call to the system.
    pub(crate) fn seal(&mut self, output: &mut Output) -> Result<(), ProtocolError> {
        loop {
            let run = output.run(PLAIN_BYTES);
            if run.is_empty() || self.outgoing.len() >= SEALED_BYTES {
                return Ok(());
            }
            let start = self.outgoing.len();
            let length = run.len() + TAG_BYTES;
            self.outgoing.resize(start + LENGTH_BYTES + length, 0);
            self.outgoing[start..start + LENGTH_BYTES].copy_from_slice(&(length as u16).to_le_bytes());
            let room = &mut self.outgoing[start + LENGTH_BYTES..];
            self.transport.write_message(run, room).map_err(|_| ProtocolError::Forged)?;
            let count = run.len();
            output.sent(count);
        }
    }

    /// Encrypted bytes that go next.
    pub(crate) fn transmit(&self) -> &[u8] {
        &self.outgoing[self.sent..]
    }

    pub(crate) fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.outgoing.len() {
            self.outgoing.clear();
            self.sent = 0;
        }
    }

    /// Nothing is to be done for now: gives memory back.
    pub(crate) fn settle(&mut self) {
        if self.filled == 0 {
            self.slabs.give_back(std::mem::take(&mut self.incoming));
        } else if self.filled * 4 < self.incoming.len() {
            let rest = Slab::from_slice(&self.incoming[..self.filled]);
            self.slabs.give_back(std::mem::replace(&mut self.incoming, rest));
        }
        if self.outgoing.is_empty() {
            self.outgoing = Vec::new();
        }
    }
}
