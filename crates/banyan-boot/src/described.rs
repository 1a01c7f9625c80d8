//! Records as bytes that describe themselves: the length of the format, the format, the message.
//!
//! Collectives carry bytes whose way through the tree nobody knows beforehand, so each record takes its format along.

use banyan_ndr::typed::Read;
use banyan_ndr::{Buffer, DecodeError, Decoder, EncodeError, Record, Scratch, encode as encode_record};
use bytes::Bytes;

/// Why bytes are not the record that was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescribedError {
    /// The record cannot be sent.
    #[error("the record cannot be encoded: {0}")]
    Encode(#[from] EncodeError),
    /// What came is no such record.
    #[error("what came is not the record that was expected: {0}")]
    Decode(#[from] DecodeError),
    /// What came does not even begin like a record.
    #[error("what came is not a record: {0} bytes without a format")]
    NoFormat(usize),
}

/// A record with its format before it.
pub(crate) fn encode<R: Record>(record: &R) -> Result<Bytes, DescribedError> {
    let format = R::format().encoded();
    let mut scratch = Scratch::new();
    let message = encode_record(record, &mut scratch)?;
    let mut bytes = Vec::with_capacity(4 + format.len() + message.header().len() + message.body_len());
    bytes.extend_from_slice(&(format.len() as u32).to_le_bytes());
    bytes.extend_from_slice(format);
    bytes.extend_from_slice(message.header());
    message.body_slices().for_each(|piece| bytes.extend_from_slice(piece));
    Ok(bytes.into())
}

/// The record in such bytes, whatever machine and program they come from.
pub(crate) fn decode<R>(bytes: &[u8]) -> Result<R, DescribedError>
where
    R: Record + for<'a> Read<'a>,
{
    let none = || DescribedError::NoFormat(bytes.len());
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(none)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (format, message) = rest.split_at_checked(length).ok_or_else(none)?;
    let mut decoder = Decoder::new();
    decoder.learn_encoded(format)?;
    // The message lies anywhere among others; records are read from aligned memory.
    Ok(decoder.decode_message(&Buffer::from_slice(message))?)
}
