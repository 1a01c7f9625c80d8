//! Capabilities: what one side of a link can do and another side of the same protocol may not.

use std::ops::{BitAnd, BitOr};

/// A set of capabilities. Each side of a link announces its own in its hello. What both have may be used
/// ([`Link::capabilities`](crate::Link::capabilities)); bits that one side does not know are ignored.
///
/// The lowest eight are the link's own. The others belong to whoever uses the link, which are other users on session links
/// than on tree links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities(u32);

/// Capabilities of the link itself.
const OWN: u32 = 8;

impl Capabilities {
    /// No capability.
    pub const NONE: Capabilities = Capabilities(0);

    /// This side maps [pools](crate::pool), and may offer its own.
    pub(crate) const POOLS: Capabilities = Capabilities(1);

    /// A capability of the user of a link, by its number: from 0 to 23.
    ///
    /// # Panics
    /// When there is no such number.
    pub const fn of_user(number: u32) -> Capabilities {
        assert!(number < u32::BITS - OWN, "users of links have 24 capabilities");
        Capabilities(1 << (OWN + number))
    }

    /// Whether all of these are in the set.
    pub const fn contains(self, others: Capabilities) -> bool {
        self.0 & others.0 == others.0
    }

    /// As they travel.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// As they came.
    pub(crate) const fn from_bits(bits: u32) -> Capabilities {
        Capabilities(bits)
    }
}

/// Those of both sets.
impl BitAnd for Capabilities {
    type Output = Capabilities;

    fn bitand(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 & other.0)
    }
}

/// Those of either set.
impl BitOr for Capabilities {
    type Output = Capabilities;

    fn bitor(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_of_users_are_none_of_the_links_own() {
        let of_users = (0..24).map(Capabilities::of_user).fold(Capabilities::NONE, BitOr::bitor);
        assert_eq!(of_users & Capabilities(0xff), Capabilities::NONE);
        assert_eq!(of_users | Capabilities(0xff), Capabilities(u32::MAX));
        assert!(of_users.contains(Capabilities::of_user(23)) && !Capabilities::NONE.contains(Capabilities::POOLS));
    }
}
