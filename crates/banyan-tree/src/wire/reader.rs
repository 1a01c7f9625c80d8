//! Reads numbers from a payload that came from outside.

use super::error::WireError;
use super::{BODY_ALIGN, LARGEST_NUMBER};

/// What is left of a payload.
pub(super) struct Reader<'a> {
    message: &'static str,
    payload: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads a message of this name from its beginning.
    pub(super) fn new(message: &'static str, payload: &'a [u8]) -> Reader<'a> {
        Reader { message, payload, at: 0 }
    }

    pub(super) fn message(&self) -> &'static str {
        self.message
    }

    /// Where the next byte is.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.payload.len() - self.at
    }

    /// The next bytes, so many.
    pub(super) fn bytes(&mut self, part: &'static str, count: usize) -> Result<&'a [u8], WireError> {
        let (message, at) = (self.message, self.at);
        let bytes = at.checked_add(count).and_then(|end| self.payload.get(at..end));
        let bytes = bytes.ok_or(WireError::Cut { message, part, at })?;
        self.at += count;
        Ok(bytes)
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        let rest = &self.payload[self.at..];
        self.at = self.payload.len();
        rest
    }

    pub(super) fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], WireError> {
        let (message, at) = (self.message, self.at);
        let bytes = self.payload[at..].first_chunk().ok_or(WireError::Cut { message, part, at })?;
        self.at += N;
        Ok(*bytes)
    }

    pub(super) fn u8(&mut self, part: &'static str) -> Result<u8, WireError> {
        self.array(part).map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self, part: &'static str) -> Result<u16, WireError> {
        self.array(part).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, part: &'static str) -> Result<u32, WireError> {
        self.array(part).map(u32::from_le_bytes)
    }

    /// The number of a wave or packet.
    pub(super) fn number(&mut self, part: &'static str) -> Result<u64, WireError> {
        let number = self.array(part).map(u64::from_le_bytes)?;
        if number > LARGEST_NUMBER { Err(self.value(part, number)) } else { Ok(number) }
    }

    /// Skips what fills the payload up to where bodies may begin.
    pub(super) fn padding(&mut self) -> Result<(), WireError> {
        let at = self.at;
        let padding = self.bytes("padding", at.next_multiple_of(BODY_ALIGN) - at)?;
        if padding.iter().all(|byte| *byte == 0) { Ok(()) } else { Err(self.malformed("padding", at)) }
    }

    /// Checks that nothing is left.
    pub(super) fn end(&self) -> Result<(), WireError> {
        match self.left() {
            0 => Ok(()),
            bytes => Err(WireError::Rest { message: self.message, bytes }),
        }
    }

    /// The error for something that has a value it cannot have.
    pub(super) fn value(&self, part: &'static str, value: impl Into<u64>) -> WireError {
        WireError::Value { message: self.message, part, value: value.into() }
    }

    /// The error for something that is not what it should be.
    pub(super) fn malformed(&self, part: &'static str, at: usize) -> WireError {
        WireError::Malformed { message: self.message, part, at }
    }
}
