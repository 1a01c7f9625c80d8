//! An encoded record, in pieces: what is handed to the system for sending.

use std::io::{self, IoSlice, Write};

use super::passed::Passed;
use crate::wire::HEADER_BYTES;
use crate::{Buffer, vectored};

/// Pieces passed to the system in one call; it takes no more than about a thousand.
const PIECES: usize = 64;

/// The body of a record, in pieces.
#[derive(Debug, Clone)]
pub struct EncodedBody<'r> {
    /// A plain record's own memory; of others what the writer has copied, what it passes by reference left out.
    owned: &'r [u8],
    passed: Option<Box<Passed<'r>>>,
    len: usize,
}

impl<'r> EncodedBody<'r> {
    #[inline]
    pub(super) fn new(owned: &'r [u8], passed: Option<Box<Passed<'r>>>) -> Self {
        let len = owned.len() + passed.as_ref().map_or(0, |passed| passed.len);
        EncodedBody { owned, passed, len }
    }

    /// Bytes in all.
    #[expect(clippy::len_without_is_empty, reason = "a body is never empty")]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The pieces, in order.
    pub fn slices(&self) -> impl Iterator<Item = &'r [u8]> + '_ {
        let segments = self.passed.iter().flat_map(|passed| passed.segments());
        let starts = std::iter::once(0).chain(segments.clone().map(|segment| segment.owned_before));
        let ends = segments.clone().map(|segment| segment.owned_before).chain([self.owned.len()]);
        let between = segments.map(|segment| segment.bytes).chain([&[][..]]);
        let owned = self.owned;
        starts
            .zip(ends)
            .zip(between)
            .flat_map(move |((start, end), bytes)| [&owned[start..end], bytes])
            .filter(|piece| !piece.is_empty())
    }
}

/// A record ready to be sent: a header, and a body that lies partly in the caller's own memory.
#[derive(Debug, Clone)]
pub struct Message<'r> {
    pub(super) header: [u8; HEADER_BYTES],
    pub(super) body: EncodedBody<'r>,
}

impl<'r> Message<'r> {
    /// The header: how long the body is, and of which format.
    pub fn header(&self) -> &[u8; HEADER_BYTES] {
        &self.header
    }

    /// Bytes of the body.
    #[inline]
    pub fn body_len(&self) -> usize {
        self.body.len()
    }

    /// The pieces of the body, in order.
    pub fn body_slices(&self) -> impl Iterator<Item = &'r [u8]> + '_ {
        self.body.slices()
    }

    /// Header and body as pieces for a vectored write.
    pub fn io_slices(&self) -> impl Iterator<Item = IoSlice<'_>> {
        std::iter::once(IoSlice::new(&self.header)).chain(self.body_slices().map(IoSlice::new))
    }

    /// Writes header and body, in as few calls as the writer allows.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut pieces = self.io_slices();
        loop {
            let mut batch: [IoSlice<'_>; PIECES] = [IoSlice::new(&[]); PIECES];
            let mut count = 0;
            for (room, piece) in batch.iter_mut().zip(pieces.by_ref()) {
                *room = piece;
                count += 1;
            }
            if count == 0 {
                return Ok(());
            }
            vectored::write_all(out, &mut batch[..count])?;
        }
    }

    /// Header and body in one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.body_len());
        bytes.extend_from_slice(&self.header);
        self.body_slices().for_each(|piece| bytes.extend_from_slice(piece));
        bytes
    }

    /// Header and body in one aligned piece.
    pub fn to_buffer(&self) -> Buffer {
        let mut buffer = Buffer::from_slice(&self.header);
        self.body_slices().for_each(|piece| buffer.extend_from_slice(piece));
        buffer
    }

    /// The body alone in one aligned piece.
    pub fn body_to_buffer(&self) -> Buffer {
        let mut buffer = Buffer::new();
        self.body_slices().for_each(|piece| buffer.extend_from_slice(piece));
        buffer
    }
}
