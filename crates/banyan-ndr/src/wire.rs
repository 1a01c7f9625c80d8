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
    /// Bytes that must be zero are not.
    #[error("the record header has other bytes than zeros where zeros must be")]
    Reserved,
}

impl Header {
    /// As bytes.
    #[inline]
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
        let [m0, m1, m2, m3, version, r0, r1, r2, len @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = *bytes;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(HeaderError::Magic);
        }
        if version != VERSION {
            return Err(HeaderError::Version(version));
        }
        if [r0, r1, r2] != [0; 3] {
            return Err(HeaderError::Reserved);
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
#[inline]
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
#[inline]
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
    /// the body. The target lies in the body or at its very end; what lies there is for the caller to check.
    pub fn reference(self, body: &[u8], at: usize) -> Result<Option<usize>, BadReference> {
        let stored = self.word(body, at);
        if stored == 0 {
            return Ok(None);
        }
        let target = usize::try_from(stored).ok().and_then(|stored| stored.checked_sub(ORIGIN));
        target.filter(|target| *target <= body.len()).map(Some).ok_or(BadReference { at, stored })
    }

    /// Reads the span at `at`: target and number of items. An empty span leads nowhere. The number is *not* checked
    /// against the body's end: the size of an item is not known here.
    pub fn span(self, body: &[u8], at: usize) -> Result<(usize, usize), BadReference> {
        let count = self.word(body, at + self.pointer.bytes());
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
        assert!(target.is_none_or(|target| target <= self.most()), "a body too long for its references");
        let stored = target.map_or(0, |target| target + ORIGIN);
        self.set_word(out, stored as u64);
    }

    /// Writes a span.
    ///
    /// # Panics
    /// As [`Slots::set_reference`].
    pub fn set_span(self, out: &mut [u8], target: usize, count: usize) {
        self.set_reference(out, (count > 0).then_some(target));
        self.set_word(&mut out[self.pointer.bytes()..], count as u64);
    }

    /// An integer as wide as a reference.
    #[inline]
    fn word(self, body: &[u8], at: usize) -> u64 {
        // Of known widths, because references are many and a loop over bytes is slow.
        match self.pointer {
            PointerWidth::Four => read_uint(&body[at..at + 4], self.order) as u64,
            PointerWidth::Eight => read_uint(&body[at..at + 8], self.order) as u64,
        }
    }

    /// Writes the low bytes of an integer, as many as a reference has.
    #[inline]
    fn set_word(self, out: &mut [u8], value: u64) {
        match self.pointer {
            PointerWidth::Four => write_uint(&mut out[..4], value.into(), self.order),
            PointerWidth::Eight => write_uint(&mut out[..8], value.into(), self.order),
        }
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
#[non_exhaustive]
pub struct BadReference {
    /// Where in the body it stands.
    pub at: usize,
    /// What it holds.
    pub stored: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];
    const WIDTHS: [PointerWidth; 2] = [PointerWidth::Four, PointerWidth::Eight];

    fn all_slots() -> impl Iterator<Item = Slots> {
        ORDERS.into_iter().flat_map(|order| WIDTHS.into_iter().map(move |pointer| Slots { order, pointer }))
    }

    #[test]
    fn a_header_is_laid_out_as_documented_on_every_machine() {
        let header = Header { format: FormatId::from_bytes(*b"0123456789abcdef"), body_len: 0x0102_0304_0506_0708 };
        let bytes = header.to_bytes();
        assert_eq!(&bytes, b"bNDR\x01\0\0\0\x08\x07\x06\x05\x04\x03\x02\x010123456789abcdef");
        assert_eq!(Header::from_bytes(&bytes), Ok(header));
    }

    #[test]
    fn a_header_with_any_other_first_eight_bytes_is_refused() {
        let valid = Header { format: FormatId::from_bytes([7; 16]), body_len: 9 }.to_bytes();
        for at in 0..8 {
            let mut bytes = valid;
            bytes[at] ^= 0x40;
            let wanted = match at {
                0..4 => HeaderError::Magic,
                4 => HeaderError::Version(0x41),
                _ => HeaderError::Reserved,
            };
            assert_eq!(Header::from_bytes(&bytes), Err(wanted), "byte {at}");
        }
    }

    #[test]
    fn references_lead_into_the_body_or_to_its_end_and_nowhere_else() {
        for slots in all_slots() {
            let mut body = [0; 40];
            assert_eq!(slots.reference(&body, 8), Ok(None));
            for target in [0, 1, 24, 40] {
                slots.set_reference(&mut body[8..], Some(target));
                assert_eq!(slots.reference(&body, 8), Ok(Some(target)));
            }
            for stored in [1, 15, 57, u64::from(u32::MAX)] {
                write_uint(&mut body[8..8 + slots.pointer.bytes()], stored.into(), slots.order);
                assert_eq!(slots.reference(&body, 8), Err(BadReference { at: 8, stored }));
            }
            slots.set_reference(&mut body[8..], None);
            assert_eq!(slots.reference(&body, 8), Ok(None));
        }
    }

    #[test]
    fn references_wider_than_this_machine_are_refused() {
        let slots = Slots { order: ByteOrder::Big, pointer: PointerWidth::Eight };
        for stored in [u64::MAX, 1 << 63, (1 << 32) + 16] {
            assert_eq!(slots.reference(&stored.to_be_bytes(), 0), Err(BadReference { at: 0, stored }));
        }
    }

    #[test]
    fn spans_have_a_target_unless_they_are_empty() {
        for slots in all_slots() {
            let mut body = [0; 40];
            assert_eq!(slots.span(&body, 4), Ok((0, 0)));
            slots.set_span(&mut body[4..], 24, 3);
            assert_eq!(slots.span(&body, 4), Ok((24, 3)));
            slots.set_reference(&mut body[4..], None);
            assert_eq!(slots.span(&body, 4), Err(BadReference { at: 4, stored: 0 }));
            slots.set_span(&mut body[4..], 24, 0);
            assert!(body.iter().all(|byte| *byte == 0), "an empty span is two zeros");
        }
    }

    #[test]
    fn the_longest_body_can_be_referred_to_at_its_end() {
        for slots in all_slots() {
            let mut out = [0; 8];
            slots.set_reference(&mut out, Some(slots.most()));
            let stored = read_uint(&out[..slots.pointer.bytes()], slots.order);
            assert_eq!(stored, (slots.most() + ORIGIN) as u128);
        }
    }

    #[test]
    #[should_panic(expected = "a body too long for its references")]
    fn nothing_behind_the_longest_body_can_be_referred_to() {
        let slots = Slots { order: ByteOrder::Little, pointer: PointerWidth::Four };
        slots.set_reference(&mut [0; 4], Some(slots.most() + 1));
    }

    proptest! {
        #[test]
        fn integers_are_read_as_they_were_written(value: i128, width in 1usize..=16) {
            let unused = 128 - 8 * width as u32;
            for order in ORDERS {
                let mut bytes = [0xee; 16];
                write_uint(&mut bytes[..width], value as u128, order);
                prop_assert_eq!(read_int(&bytes[..width], order), value << unused >> unused);
                prop_assert_eq!(read_uint(&bytes[..width], order), (value as u128) << unused >> unused);
                bytes[..width].reverse();
                let other = if order == ByteOrder::Big { ByteOrder::Little } else { ByteOrder::Big };
                prop_assert_eq!(read_uint(&bytes[..width], other), (value as u128) << unused >> unused);
            }
        }
    }
}
