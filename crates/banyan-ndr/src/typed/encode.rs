//! Encoding: by reference where it can be, into a buffer that is used again, or into a fixed one.
//!
//! Each way comes with a header before the body, for records that nothing else frames, and without, for links and
//! files that have headers of their own.

use super::message::Message;
use super::write::{Scratch, Segment, Writer};
use super::{Record, memory};
use crate::EncodeError;
use crate::wire::{HEADER_BYTES, Header};

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
    let Pieces { owned, segments, body_len } = pieces(record, scratch)?;
    Ok(Message { header: header::<T>(body_len), owned, segments, body_len })
}

/// The body of a record, in pieces.
#[derive(Debug, Clone)]
pub struct EncodedBody<'r> {
    message: Message<'r>,
}

impl<'r> EncodedBody<'r> {
    /// Bytes in all.
    #[expect(clippy::len_without_is_empty, reason = "a body is never empty")]
    pub fn len(&self) -> usize {
        self.message.body_len
    }

    /// The pieces, in order.
    pub fn slices(&self) -> impl Iterator<Item = &'r [u8]> + '_ {
        self.message.body_slices()
    }
}

/// [`encode`] without a header.
#[inline]
pub fn encode_body<'r, T: Record>(record: &'r T, scratch: &'r mut Scratch) -> Result<EncodedBody<'r>, EncodeError> {
    let Pieces { owned, segments, body_len } = pieces(record, scratch)?;
    Ok(EncodedBody { message: Message { header: [0; HEADER_BYTES], owned, segments, body_len } })
}

/// What a message is made of, but for the header.
struct Pieces<'r> {
    owned: &'r [u8],
    segments: Vec<Segment<'r>>,
    body_len: usize,
}

#[inline]
fn pieces<'r, T: Record>(record: &'r T, scratch: &'r mut Scratch) -> Result<Pieces<'r>, EncodeError> {
    if T::PLAIN {
        return Ok(Pieces { owned: memory::bytes_of(record), segments: Vec::new(), body_len: T::SIZE });
    }
    scratch.owned.clear();
    let written = Writer::run(record, std::mem::take(&mut scratch.owned), scratch.threshold);
    scratch.owned = written.owned;
    match written.error {
        None => Ok(Pieces { owned: &scratch.owned, segments: written.segments, body_len: written.body_len }),
        Some(error) => Err(*error),
    }
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
    let written = Writer::run(record, std::mem::take(out), usize::MAX);
    *out = written.owned;
    if let Some(error) = written.error {
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
    copy_pieces(std::iter::once(&message.header[..]).chain(message.body_slices()), HEADER_BYTES + message.body_len, out)
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
