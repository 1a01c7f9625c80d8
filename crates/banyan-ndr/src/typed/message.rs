//! An encoded record, in pieces: what is handed to the system for sending.

use std::io::{self, IoSlice, Write};

use super::write::Segment;
use crate::wire::HEADER_BYTES;
use crate::{Buffer, vectored};

/// Pieces passed to the system in one call; it takes no more than about a thousand.
const PIECES: usize = 64;

/// A record ready to be sent: a header, and a body that lies partly in the caller's own memory.
#[derive(Debug, Clone)]
pub struct Message<'r> {
    pub(super) header: [u8; HEADER_BYTES],
    /// A plain record's own memory; of others what the writer has copied, the segments in between left out.
    pub(super) owned: &'r [u8],
    pub(super) segments: Vec<Segment<'r>>,
    pub(super) body_len: usize,
}

impl<'r> Message<'r> {
    /// The header: how long the body is, and of which format.
    pub fn header(&self) -> &[u8; HEADER_BYTES] {
        &self.header
    }

    /// Bytes of the body.
    pub fn body_len(&self) -> usize {
        self.body_len
    }

    /// The pieces of the body, in order.
    pub fn body_slices(&self) -> impl Iterator<Item = &'r [u8]> + '_ {
        let starts = std::iter::once(0).chain(self.segments.iter().map(|segment| segment.owned_before));
        let ends = self.segments.iter().map(|segment| segment.owned_before).chain([self.owned.len()]);
        let between = self.segments.iter().map(|segment| segment.bytes).chain([&[][..]]);
        let owned = self.owned;
        starts
            .zip(ends)
            .zip(between)
            .flat_map(move |((start, end), bytes)| [&owned[start..end], bytes])
            .filter(|piece| !piece.is_empty())
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
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.body_len);
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
