//! Encoding: by reference where it can be, into a buffer that is used again, or into a fixed one.
//!
//! Each way comes with a header before the body, for records that nothing else frames, and without, for links and
//! files that have headers of their own. What is not copied, large plain slices, lies where the sender has it.

use std::io::{self, IoSlice, Write};

use super::write::{Scratch, write};
use super::{Record, memory};
use crate::wire::{HEADER_BYTES, Header};
use crate::{Buffer, EncodeError, vectored};

/// Encodes a record to be sent. A plain record is not touched: the message refers to its memory.
///
/// ```
/// use banyan_ndr::{Record, typed};
///
/// #[derive(Record)]
/// struct Sample { at: u64, load: [f64; 4] }
///
/// let sample = Sample { at: 17, load: [0.5; 4] };
/// let mut scratch = typed::Scratch::new();
/// let message = typed::encode(&sample, &mut scratch)?;
/// message.write_to(&mut std::io::sink())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn encode<'r, T: Record>(record: &'r T, scratch: &'r mut Scratch) -> Result<Message<'r>, EncodeError> {
    let body = encode_body(record, scratch)?;
    Ok(Message { header: header::<T>(body.len()), body })
}

/// [`encode`] without a header.
#[inline]
pub fn encode_body<'r, T: Record>(record: &'r T, scratch: &'r mut Scratch) -> Result<EncodedBody<'r>, EncodeError> {
    if T::PLAIN {
        return Ok(EncodedBody::new(memory::bytes_of(record), None));
    }
    match write_alone(record, scratch) {
        Ok(passed) => Ok(EncodedBody::new(&scratch.owned, passed)),
        Err(error) => Err(*error),
    }
}

/// Writes a record and nothing else into the scratch. Never inlined: what calls it then is, and the message is made
/// where its user wants it instead of being moved there, which costs more than to make it.
#[inline(never)]
fn write_alone<'r, T: Record>(
    record: &'r T,
    scratch: &mut Scratch,
) -> Result<Option<Box<Passed<'r>>>, Box<EncodeError>> {
    scratch.owned.clear();
    write(record, &mut scratch.owned, scratch.threshold)
}

/// Appends header and body to a buffer. After an error the buffer is as before.
pub fn encode_into<T: Record>(record: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    if let Err(error) = encode_body_into(record, out) {
        out.truncate(start);
        return Err(error);
    }
    let body_len = out.len() - start - HEADER_BYTES;
    out[start..start + HEADER_BYTES].copy_from_slice(&header::<T>(body_len));
    Ok(())
}

/// [`encode_into`] without a header.
pub fn encode_body_into<T: Record>(record: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if T::PLAIN {
        out.extend_from_slice(memory::bytes_of(record));
        return Ok(());
    }
    let start = out.len();
    if let Err(error) = write(record, out, usize::MAX) {
        out.truncate(start);
        return Err(*error);
    }
    Ok(())
}

/// Writes header and body to the start of a fixed buffer; returns how many bytes they take. What is too large leaves
/// the buffer as it was.
pub fn encode_to_slice<T: Record>(record: &T, out: &mut [u8]) -> Result<usize, EncodeError> {
    let mut scratch = Scratch::new();
    let message = encode(record, &mut scratch)?;
    copy_pieces(
        std::iter::once(&message.header[..]).chain(message.body_slices()),
        HEADER_BYTES + message.body_len(),
        out,
    )
}

/// [`encode_to_slice`] without a header.
pub fn encode_body_to_slice<T: Record>(record: &T, out: &mut [u8]) -> Result<usize, EncodeError> {
    let mut scratch = Scratch::new();
    let body = encode_body(record, &mut scratch)?;
    copy_pieces(body.slices(), body.len(), out)
}

fn copy_pieces<'p>(
    pieces: impl Iterator<Item = &'p [u8]>,
    needed: usize,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    if needed > out.len() {
        return Err(EncodeError::TooSmall { needed, available: out.len() });
    }
    let mut at = 0;
    for piece in pieces {
        out[at..at + piece.len()].copy_from_slice(piece);
        at += piece.len();
    }
    Ok(at)
}

#[inline]
fn header<T: Record>(body_len: usize) -> [u8; HEADER_BYTES] {
    Header { format: T::format().id(), body_len: body_len as u64 }.to_bytes()
}

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

/// Bytes the writer was given by reference, and how many of its own bytes come before them.
#[derive(Debug, Clone, Copy)]
pub(super) struct LentBytes<'r> {
    pub(super) owned_before: usize,
    pub(super) bytes: &'r [u8],
}

/// All that a body has by reference: one segment at least. The first is apart, because most that have any have one.
#[derive(Debug, Clone)]
pub(super) struct Passed<'r> {
    first: LentBytes<'r>,
    more: Vec<LentBytes<'r>>,
    /// Bytes in all of them.
    pub(super) len: usize,
}

impl<'r> Passed<'r> {
    /// Those before and one more. By value, because a writer that is given a reference to does not lie in registers.
    #[inline(never)]
    pub(super) fn with(before: Option<Box<Passed<'r>>>, segment: LentBytes<'r>) -> Box<Passed<'r>> {
        match before {
            Some(mut passed) => {
                passed.more.push(segment);
                passed.len += segment.bytes.len();
                passed
            }
            None => Box::new(Passed { first: segment, more: Vec::new(), len: segment.bytes.len() }),
        }
    }

    /// All, in order.
    pub(super) fn segments(&self) -> impl Iterator<Item = LentBytes<'r>> + Clone {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }
}
