//! Numbers and texts at positions of foreign bytes, each checked against the end.

use banyan_ndr::ByteOrder;
use banyan_ndr::wire::read_uint;

/// Bytes whose numbers have one byte order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a> {
    pub(super) all: &'a [u8],
    pub(super) order: ByteOrder,
}

impl<'a> Bytes<'a> {
    pub(super) fn big(all: &'a [u8]) -> Bytes<'a> {
        Bytes { all, order: ByteOrder::Big }
    }

    pub(super) fn slice(self, at: usize, len: usize) -> Option<&'a [u8]> {
        self.all.get(at..at.checked_add(len)?)
    }

    pub(super) fn u8(self, at: usize) -> Option<u8> {
        self.all.get(at).copied()
    }

    pub(super) fn u16(self, at: usize) -> Option<u16> {
        self.slice(at, 2).map(|bytes| read_uint(bytes, self.order) as u16)
    }

    pub(super) fn u32(self, at: usize) -> Option<u32> {
        self.slice(at, 4).map(|bytes| read_uint(bytes, self.order) as u32)
    }

    pub(super) fn u64(self, at: usize) -> Option<u64> {
        self.slice(at, 8).map(|bytes| read_uint(bytes, self.order) as u64)
    }

    /// A [`Bytes::u32`] as a position or length.
    pub(super) fn size(self, at: usize) -> Option<usize> {
        self.u32(at).and_then(|size| usize::try_from(size).ok())
    }

    /// The bytes from `at` up to a NUL.
    pub(super) fn text(self, at: usize) -> Option<&'a [u8]> {
        let tail = self.all.get(at..)?;
        tail.iter().position(|byte| *byte == 0).map(|end| &tail[..end])
    }
}
