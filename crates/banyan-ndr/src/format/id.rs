//! The identity of a format.

use std::fmt;
use std::hash::{Hash, Hasher};

/// 128 bits of the BLAKE3 hash of a format's canonical encoding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormatId([u8; 16]);

impl FormatId {
    /// The id of a canonical encoding.
    pub(super) fn of(encoded: &[u8]) -> FormatId {
        let hash = blake3::hash(encoded);
        let mut id = [0; 16];
        id.copy_from_slice(&hash.as_bytes()[..16]);
        FormatId(id)
    }

    /// An id as it stands in a header.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 16]) -> FormatId {
        FormatId(bytes)
    }

    /// The bytes to put into a header.
    #[inline]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

/// As one number: of bytes a hasher would want to know how many there are, and take them one by one.
impl Hash for FormatId {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        u128::from_ne_bytes(self.0).hash(state);
    }
}

impl fmt::Display for FormatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for FormatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
