//! The number of the protocol, and what to say where two numbers meet.
//!
//! One number covers links, sessions and networks: `docs/protocol.md` in the repository lists what belongs to it. What may
//! differ between two sides of one number is a [capability](crate::Capabilities).

use std::fmt;

/// The protocol that this release speaks.
pub const PROTOCOL_VERSION: u16 = 1;

/// The other side speaks another protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherProtocol {
    /// The number of the other side; 0 when it does not say.
    pub theirs: u16,
}

impl OtherProtocol {
    /// Fails unless the other side's number is [`PROTOCOL_VERSION`].
    pub fn check(theirs: u16) -> Result<(), OtherProtocol> {
        if theirs == PROTOCOL_VERSION { Ok(()) } else { Err(OtherProtocol { theirs }) }
    }

    /// What is wrong, given what the two sides are called.
    pub fn cause(&self, they: &str, we: &str) -> String {
        format!("{they} speaks protocol {} of Banyan, {we} protocol {PROTOCOL_VERSION}", self.theirs)
    }

    /// Which side to update, and how.
    pub fn remedy(&self, they: &str, we: &str) -> String {
        let (older, newer) = if self.theirs < PROTOCOL_VERSION { (they, PROTOCOL_VERSION) } else { (we, self.theirs) };
        format!("update {older}: build it with a release of Banyan that speaks protocol {newer}")
    }
}

impl fmt::Display for OtherProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (they, we) = ("the other side", "this program");
        write!(f, "{}; {}", self.cause(they, we), self.remedy(they, we))
    }
}

impl std::error::Error for OtherProtocol {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_side_is_to_be_updated() {
        assert_eq!(OtherProtocol::check(PROTOCOL_VERSION), Ok(()));
        assert_eq!(
            OtherProtocol { theirs: 2 }.to_string(),
            "the other side speaks protocol 2 of Banyan, this program protocol 1; update this program: build it with a \
             release of Banyan that speaks protocol 2"
        );
        assert_eq!(
            OtherProtocol { theirs: 0 }.remedy("its agent", "this program"),
            "update its agent: build it with a release of Banyan that speaks protocol 1"
        );
    }
}
