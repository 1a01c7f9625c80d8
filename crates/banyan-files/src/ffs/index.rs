//! Index blocks: where the formats and records lie that follow them in an indexed file, and their attributes.

use super::ForeignId;
use super::attribute::{self, Attribute};
use super::layout::Bytes;

/// An index block. The blocks of a file form a chain.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Index {
    /// Where the next index block lies, or the file ends.
    pub next: u64,
    /// Number of the first record it lists.
    pub first: u32,
    /// Number of the last record it lists.
    pub last: u32,
    /// What it lists, in the order of the file.
    pub elements: Vec<IndexElement>,
}

/// What an index says of one block.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IndexElement {
    /// Whether the block is a record.
    pub kind: Indexed,
    /// Where the block begins in the file.
    pub offset: u64,
    /// The description, or the description of the record.
    pub format: ForeignId,
    /// What was said of the record.
    pub attributes: Vec<Attribute>,
}

/// The kinds of blocks that an index lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Indexed {
    /// A format description.
    Format,
    /// A record.
    Record,
}

const CUT: &str = "it ends too early";

impl Index {
    /// Reads what follows the first four bytes of an index block.
    pub(super) fn read(bytes: &[u8]) -> Result<Index, &'static str> {
        let bytes = Bytes::big(bytes);
        let next = bytes.u32(0).ok_or(CUT)?.into();
        let (first, last) = bytes.u32(4).zip(bytes.u32(8)).ok_or(CUT)?;
        let mut elements = Vec::new();
        let mut at = 12;
        loop {
            let head = bytes.u32(at).ok_or(CUT)?;
            let len = (head >> 8) as usize;
            let element = match head & 0xff {
                0 => read_element(bytes, at, Indexed::Format, at + 12, len),
                1 => read_record(bytes, at, len),
                0xff => return Ok(Index { next, first, last, elements }),
                _ => return Err("an element of no known kind"),
            };
            elements.push(element?);
            // Writers round up the lengths of records only.
            at += 12 + if head & 0xff == 1 { len.next_multiple_of(4) } else { len };
        }
    }
}

fn read_element(
    bytes: Bytes<'_>,
    at: usize,
    kind: Indexed,
    id_at: usize,
    id_len: usize,
) -> Result<IndexElement, &'static str> {
    let offset = bytes.u64(at + 4).ok_or(CUT)?;
    let format = ForeignId::new(bytes.slice(id_at, id_len).ok_or(CUT)?);
    Ok(IndexElement { kind, offset, format, attributes: Vec::new() })
}

fn read_record(bytes: Bytes<'_>, at: usize, len: usize) -> Result<IndexElement, &'static str> {
    let id_len = bytes.size(at + 12).ok_or(CUT)?;
    let attributes = id_len.checked_add(4).and_then(|used| len.checked_sub(used)).ok_or(CUT)?;
    let mut element = read_element(bytes, at, Indexed::Record, at + 16, id_len)?;
    element.attributes = attribute::read_list(bytes.slice(at + 16 + id_len, attributes).ok_or(CUT)?)?;
    Ok(element)
}
