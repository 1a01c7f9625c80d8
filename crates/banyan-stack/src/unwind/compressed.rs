//! Sections that are compressed: in the way of the standard (`SHF_COMPRESSED`), or in that of older compilers
//! (`.zdebug_…`).
//!
//! Only zlib is read, which nearly all compilers and systems use. How long a section would be comes from the file, so it
//! is believed only as far as the compressed bytes can account for it.

use std::fmt;
use std::sync::Arc;

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use object::elf;
use object::read::elf::{CompressionHeader, SectionHeader};
use object::{Endianness, ReadRef};

/// How much longer a section may be than its compressed bytes. The tables of compilers shrink to a third.
const MAX_RATIO: u64 = 64;

/// What old compilers begin a compressed section with; its length follows, the highest byte first.
const OLD_MARK: &[u8] = b"ZLIB";

/// Why a section cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unpackable {
    Zstandard,
    Unknown,
    Damaged,
}

impl fmt::Display for Unpackable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Unpackable::Zstandard => "are compressed with zstd",
            Unpackable::Unknown => "are compressed in an unknown way",
            Unpackable::Damaged => "are compressed and damaged, or larger than they may be",
        })
    }
}

/// The bytes of a section as the compiler wrote them; `None` if it is not compressed.
pub(super) fn unpacked<'d, R: ReadRef<'d>>(
    data: R,
    endian: Endianness,
    section: &elf::SectionHeader64<Endianness>,
    max: u64,
) -> Option<Result<Arc<[u8]>, Unpackable>> {
    match section.compression(endian, data) {
        Ok(None) => None,
        Ok(Some((header, offset, length))) => Some(match header.ch_type(endian) {
            elf::ELFCOMPRESS_ZLIB if length <= max => {
                let bytes = data.read_bytes_at(offset, length).map_err(|()| Unpackable::Damaged);
                bytes.and_then(|bytes| inflated(bytes, header.ch_size(endian), max))
            }
            elf::ELFCOMPRESS_ZLIB => Err(Unpackable::Damaged),
            elf::ELFCOMPRESS_ZSTD => Err(Unpackable::Zstandard),
            _ => Err(Unpackable::Unknown),
        }),
        Err(_) => Some(Err(Unpackable::Damaged)),
    }
}

/// The same of a section of an old compiler.
pub(super) fn unpacked_old(bytes: &[u8], max: u64) -> Result<Arc<[u8]>, Unpackable> {
    let (length, bytes) =
        bytes.strip_prefix(OLD_MARK).and_then(|rest| rest.split_first_chunk::<8>()).ok_or(Unpackable::Unknown)?;
    inflated(bytes, u64::from_be_bytes(*length), max)
}

fn inflated(bytes: &[u8], length: u64, max: u64) -> Result<Arc<[u8]>, Unpackable> {
    if length > max.min(MAX_RATIO.saturating_mul(bytes.len() as u64)) {
        return Err(Unpackable::Damaged);
    }
    let content = decompress_to_vec_zlib_with_limit(bytes, length as usize).map_err(|_| Unpackable::Damaged)?;
    if content.len() as u64 == length { Ok(content.into()) } else { Err(Unpackable::Damaged) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_compressed_comes_back_unless_its_length_is_a_lie() {
        let content: Vec<u8> = (0..2000u32).flat_map(|number| (number % 300).to_le_bytes()).collect();
        let small = miniz_oxide::deflate::compress_to_vec_zlib(&content, 6);
        let section = |length: u64| [OLD_MARK, &length.to_be_bytes(), &small].concat();
        let length = content.len() as u64;
        assert_eq!(unpacked_old(&section(length), 1 << 20).as_deref(), Ok(&content[..]));
        for lie in [0, length - 1, length + 1, 1 << 19, u64::MAX] {
            assert_eq!(unpacked_old(&section(lie), 1 << 20), Err(Unpackable::Damaged), "{lie}");
        }
        assert_eq!(unpacked_old(&section(length), length - 1), Err(Unpackable::Damaged));
        assert_eq!(unpacked_old(b"ZLIB", 1 << 20), Err(Unpackable::Unknown));
    }
}
