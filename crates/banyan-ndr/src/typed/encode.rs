//! Encoding: by reference where it can be, into a buffer that is used again, or into a fixed one.
//!
//! Each way comes with a header before the body, for records that nothing else frames, and without, for links and
//! files that have headers of their own.

use super::message::{EncodedBody, Message};
use super::passed::Passed;
use super::write::{Scratch, write};
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
