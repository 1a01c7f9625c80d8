//! The identity of a format.

use std::fmt;
use std::hash::{Hash, Hasher};

/// 128 bits of the BLAKE3 hash of a format's canonical encoding.
// Two numbers and no array: they travel in registers, and are compared there. In the order of the bytes, so that ids
// are ordered as their bytes are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormatId {
    first: u64,
    second: u64,
}

impl FormatId {
    /// The id of a canonical encoding.
    pub(super) fn of(encoded: &[u8]) -> FormatId {
        let hash = blake3::hash(encoded);
        let mut id = [0; 16];
        id.copy_from_slice(&hash.as_bytes()[..16]);
        FormatId::from_bytes(id)
    }

    /// An id as it stands in a header.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 16]) -> FormatId {
        let number = u128::from_be_bytes(bytes);
        FormatId { first: (number >> 64) as u64, second: number as u64 }
    }

    /// The bytes to put into a header.
    #[inline]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.number().to_be_bytes()
    }

    #[inline]
    const fn number(self) -> u128 {
        (self.first as u128) << 64 | self.second as u128
    }
}

/// As one number: hashers take that in one go.
impl Hash for FormatId {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number().hash(state);
    }
}

impl fmt::Display for FormatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.number())
    }
}

impl fmt::Debug for FormatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
