//! Index blocks: the headers of all blocks since the index before, and copies of their formats.
//!
//! The last 16 bytes of a finished file lead back to the last index, and each index to the one before, so that a file
//! of any length is opened by reading its indexes alone. An index is used only if the blocks it lists fill the file
//! without a gap; else the file is scanned, and the index is as good as not there.

use super::layout;
use super::layout::{BLOCK_HEADER, BlockHeader, FILE_HEADER, FileId, Kind, aligned, u32_at, u64_at};
use super::scan::Scanner;
use super::store::Store;
use banyan_ndr::Format;

const FOOTER: usize = 16;
const FOOTER_MAGIC: [u8; 8] = *b"bNDRtail";
const INDEX_HEADER: usize = 16;

/// The payload of an index block.
pub(super) fn encode<'a>(
    previous: Option<u64>,
    headers: &[BlockHeader],
    formats: impl IntoIterator<Item = (u64, &'a Format)>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(INDEX_HEADER + headers.len() * BLOCK_HEADER + FOOTER);
    out.extend_from_slice(&previous.unwrap_or(0).to_le_bytes());
    out.extend_from_slice(&(headers.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend(headers.iter().flat_map(BlockHeader::encode));
    let mut copies = 0_u32;
    for (at, format) in formats {
        out.extend_from_slice(&at.to_le_bytes());
        // A multiple of 16; with the 8 bytes before it, the next copy is still at a multiple of 8.
        out.extend_from_slice(&layout::encode_texts(&[format.encoded()]));
        copies += 1;
    }
    out[12..16].copy_from_slice(&copies.to_le_bytes());
    out.resize(aligned(out.len()).expect("memory is smaller than the address space"), 0);
    let block = (BLOCK_HEADER + out.len() + FOOTER) as u64;
    out.extend_from_slice(&block.to_le_bytes());
    out.extend_from_slice(&FOOTER_MAGIC);
    out
}

/// What an index block says.
#[derive(Debug)]
pub(super) struct BlockIndex<'a> {
    /// Where the index before stands.
    pub(super) previous: Option<u64>,
    /// The blocks between it and this one.
    pub(super) headers: Vec<BlockHeader>,
    /// Descriptions of formats, and where they stand.
    pub(super) formats: Vec<(u64, &'a [u8])>,
}

/// Reads the payload of an index block whose checksum is right.
pub(super) fn decode(payload: &[u8]) -> Option<BlockIndex<'_>> {
    let head = payload.get(..INDEX_HEADER)?;
    let count = usize::try_from(u32_at(head, 8)).ok()?;
    let headers_end = count.checked_mul(BLOCK_HEADER)?.checked_add(INDEX_HEADER)?;
    let headers = payload.get(INDEX_HEADER..headers_end)?.as_chunks::<BLOCK_HEADER>().0;
    let headers = headers.iter().map(|bytes| BlockHeader::parse(bytes, u64_at(bytes, 16))).collect::<Option<_>>()?;
    let mut rest = payload.get(headers_end..)?;
    let mut formats = Vec::new();
    for _ in 0..u32_at(head, 12) {
        let (at, behind) = rest.split_at_checked(8)?;
        let mut text = behind;
        let encoded = layout::take_text(&mut text)?;
        let taken = aligned(behind.len() - text.len())?;
        rest = behind.get(taken..)?;
        formats.push((u64_at(at, 0), encoded));
    }
    let previous = Some(u64_at(head, 0)).filter(|previous| *previous != 0);
    Some(BlockIndex { previous, headers, formats })
}

/// Reads the indexes of a finished file of `len` bytes: the headers of all its blocks, indexes included, in order.
/// `None` when there is no index, or none that accounts for every byte.
pub(super) fn load(store: &mut Store, file: FileId, len: u64) -> std::io::Result<Option<Vec<BlockHeader>>> {
    let Some(footer_at) = len.checked_sub(FOOTER as u64).filter(|at| *at >= FILE_HEADER as u64) else {
        return Ok(None);
    };
    let mut footer = [0; FOOTER];
    store.read_at(footer_at, &mut footer)?;
    let start = len.checked_sub(u64_at(&footer, 0));
    let (Some(start), true) = (start, footer[8..] == FOOTER_MAGIC) else { return Ok(None) };

    let mut blocks = Vec::new();
    let mut end = len;
    let mut next = Some(start);
    while let Some(at) = next {
        let Some((header, payload)) = read_index(store, at, end)? else { return Ok(None) };
        let Some(index) = decode(&payload) else { return Ok(None) };
        next = index.previous;
        end = at;
        blocks.push(header);
        blocks.extend(index.headers.into_iter().rev());
    }
    blocks.reverse();
    Ok(accounts_for_all(&blocks, file, len).then_some(blocks))
}

/// The index block at `at`, which must end at or before `end`: a chain of indexes leads strictly backwards.
fn read_index(store: &mut Store, at: u64, end: u64) -> std::io::Result<Option<(BlockHeader, Vec<u8>)>> {
    if at.checked_add(BLOCK_HEADER as u64).is_none_or(|payload| payload > end) {
        return Ok(None);
    }
    let mut bytes = [0; BLOCK_HEADER];
    store.read_at(at, &mut bytes)?;
    let header = BlockHeader::parse(&bytes, at).filter(|header| header.kind == Kind::Index && header.end() <= end);
    let Some(header) = header else { return Ok(None) };
    let payload = store.read(header.payload_at(), header.payload)?;
    Ok((crc32c::crc32c(&payload) == header.payload_crc).then_some((header, payload)))
}

fn accounts_for_all(blocks: &[BlockHeader], file: FileId, len: u64) -> bool {
    let mut scanner = Scanner::new(Some(file));
    for header in blocks {
        if !scanner.continues_with(header) {
            return false;
        }
        scanner.accept(header);
    }
    scanner.at == len && scanner.damage.is_empty()
}
