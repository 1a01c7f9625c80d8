//! How a record lies on the wire: the message header, and references within a body (`docs/wire.md`).

use crate::{ByteOrder, FormatId, PointerWidth};

/// References count from a point this many bytes before the body, so that 0 can mean null and even the root can be
/// referred to, and alignment is kept.
pub const ORIGIN: usize = 16;

/// Bodies start at a multiple of this in a message whose first byte does.
pub const BODY_ALIGN: usize = 16;

/// Bytes of a [`Header`].
pub const HEADER_BYTES: usize = 32;

const MAGIC: [u8; 4] = *b"bNDR";
const VERSION: u8 = 1;

/// What precedes a body where nothing else says what it is and how long: 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The format of the body.
    pub format: FormatId,
    /// Bytes of the body.
    pub body_len: u64,
}

/// Why bytes are no header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The first bytes are others.
    #[error("these bytes do not begin with a record header; is the sender a Banyan program?")]
    Magic,
    /// A later version wrote them.
    #[error("the record header has version {0}, this program reads version {VERSION}")]
    Version(u8),
}

impl Header {
    /// As bytes.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[8..16].copy_from_slice(&self.body_len.to_le_bytes());
        bytes[16..].copy_from_slice(&self.format.to_bytes());
        bytes
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Header, HeaderError> {
        let [m0, m1, m2, m3, version, _, _, _, len @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = *bytes;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(HeaderError::Magic);
        }
        if version != VERSION {
            return Err(HeaderError::Version(version));
        }
        let mut id = [0; 16];
        id.copy_from_slice(&bytes[16..]);
        Ok(Header { format: FormatId::from_bytes(id), body_len: u64::from_le_bytes(len) })
    }
}

/// Reads an unsigned integer of 1 to 16 bytes.
///
/// # Panics
/// When `bytes` is longer than 16.
pub fn read_uint(bytes: &[u8], order: ByteOrder) -> u128 {
    let mut wide = [0; 16];
    match order {
        ByteOrder::Little => {
            wide[..bytes.len()].copy_from_slice(bytes);
            u128::from_le_bytes(wide)
        }
        ByteOrder::Big => {
            wide[16 - bytes.len()..].copy_from_slice(bytes);
            u128::from_be_bytes(wide)
        }
    }
}

/// Reads a two's complement integer of 1 to 16 bytes.
///
/// # Panics
/// When `bytes` is empty or longer than 16.
pub fn read_int(bytes: &[u8], order: ByteOrder) -> i128 {
    let unused = 128 - 8 * bytes.len() as u32;
    (read_uint(bytes, order) << unused) as i128 >> unused
}

/// Writes the low bytes of an integer, as many as `out` has.
///
/// # Panics
/// When `out` is longer than 16.
pub fn write_uint(out: &mut [u8], value: u128, order: ByteOrder) {
    let len = out.len();
    match order {
        ByteOrder::Little => out.copy_from_slice(&value.to_le_bytes()[..len]),
        ByteOrder::Big => out.copy_from_slice(&value.to_be_bytes()[16 - len..]),
    }
}

/// The places in a body that references of one format lead to, checked.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    /// Byte order of the format.
    pub order: ByteOrder,
    /// Width of its references.
    pub pointer: PointerWidth,
}

impl Slots {
    /// Reads the reference at `at`: where it leads to in the body, or `None` for null. The place itself must lie in
    /// the body; the target is *not* checked against the body's end.
    pub fn reference(self, body: &[u8], at: usize) -> Result<Option<usize>, BadReference> {
        let width = self.pointer.bytes();
        let stored = read_uint(&body[at..at + width], self.order) as u64;
        if stored == 0 {
            return Ok(None);
        }
        let target = usize::try_from(stored).ok().and_then(|stored| stored.checked_sub(ORIGIN));
        target.filter(|target| *target <= body.len()).map(Some).ok_or(BadReference { at, stored })
    }

    /// Reads the span at `at`: target and number of items. An empty span leads nowhere.
    pub fn span(self, body: &[u8], at: usize) -> Result<(usize, usize), BadReference> {
        let width = self.pointer.bytes();
        let count = read_uint(&body[at + width..at + 2 * width], self.order) as u64;
        if count == 0 {
            return Ok((0, 0));
        }
        let target = self.reference(body, at)?.ok_or(BadReference { at, stored: 0 })?;
        let count = usize::try_from(count).map_err(|_| BadReference { at, stored: count })?;
        Ok((target, count))
    }

    /// Writes a reference to `target`.
    ///
    /// # Panics
    /// When the target is too far away for the width; a writer bounds its body by [`Slots::most`].
    pub fn set_reference(self, out: &mut [u8], target: Option<usize>) {
        let stored = target.map_or(0, |target| target + ORIGIN);
        assert!(stored as u64 <= self.most() as u64, "a body too long for its references");
        write_uint(&mut out[..self.pointer.bytes()], stored as u128, self.order);
    }

    /// Writes a span.
    ///
    /// # Panics
    /// As [`Slots::set_reference`].
    pub fn set_span(self, out: &mut [u8], target: usize, count: usize) {
        let width = self.pointer.bytes();
        self.set_reference(out, (count > 0).then_some(target));
        write_uint(&mut out[width..2 * width], count as u128, self.order);
    }

    /// The longest body that references of this width can span.
    pub fn most(self) -> usize {
        match self.pointer {
            PointerWidth::Four => u32::MAX as usize - ORIGIN,
            PointerWidth::Eight => usize::MAX / 2 - ORIGIN,
        }
    }
}

/// A reference that leads out of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadReference {
    /// Where in the body it stands.
    pub at: usize,
    /// What it holds.
    pub stored: u64,
}
