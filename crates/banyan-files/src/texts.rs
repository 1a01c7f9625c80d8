//! Payloads that are a few byte strings: formats, comments, attributes.

use super::layout::{aligned, u64_at};

/// Each string as its length (`u64`), its bytes, and zeros to a multiple of 8; the whole to a multiple of 16.
pub(super) fn encode(texts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for text in texts {
        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        out.extend_from_slice(text);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    out.resize(aligned(out.len()).expect("memory is smaller than the address space"), 0);
    out
}

/// Takes a string from the front.
pub(super) fn take<'a>(payload: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (head, rest) = payload.split_at_checked(8)?;
    let len = usize::try_from(u64_at(head, 0)).ok()?;
    let text = rest.get(..len)?;
    *payload = rest.get(len.checked_next_multiple_of(8)?..)?;
    Some(text)
}

/// The `N` strings of a payload; nothing but zeros may follow.
pub(super) fn decode<const N: usize>(mut payload: &[u8]) -> Option<[&[u8]; N]> {
    let mut texts = [&[][..]; N];
    for text in &mut texts {
        *text = take(&mut payload)?;
    }
    payload.iter().all(|byte| *byte == 0).then_some(texts)
}
