//! Secrets: what both ends of a link must know.
//!
//! A secret never shows itself: it has no text form, and its memory is cleared when it is dropped.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// 32 bytes that nobody else knows.
#[derive(Clone)]
pub struct Secret([u8; Secret::BYTES]);

impl Secret {
    /// Bytes of a secret.
    pub const BYTES: usize = 32;

    /// A new one, from the system's source of randomness.
    pub fn random() -> io::Result<Secret> {
        let mut secret = Secret([0; Secret::BYTES]);
        let count = getrandom(&mut secret.0, GetRandomFlags::empty())?;
        // The system gives requests of up to 256 bytes in one piece.
        if count != Secret::BYTES {
            return Err(io::Error::other("the system gave too few random bytes"));
        }
        Ok(secret)
    }

    /// One that came from its owner, over an inherited descriptor or standard input.
    pub const fn from_bytes(bytes: [u8; Secret::BYTES]) -> Secret {
        Secret(bytes)
    }

    /// The bytes, to hand them to a process that this one starts. They must never stand in arguments, in an environment
    /// that others can read or in a log.
    pub const fn expose(&self) -> &[u8; Secret::BYTES] {
        &self.0
    }

    /// The secret for one purpose and one peer. From it nobody can compute this one, nor that for another purpose or
    /// peer.
    pub fn derive(&self, context: &str, index: u32) -> Secret {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&(context.len() as u64).to_le_bytes());
        hasher.update(context.as_bytes());
        hasher.update(&index.to_le_bytes());
        Secret(*hasher.finalize().as_bytes())
    }
}

/// In a time that does not depend on where they differ.
impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Secret {}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_itself() {
        assert_eq!(format!("{:?}", Secret::from_bytes([65; 32])), "Secret(..)");
    }

    #[test]
    fn every_purpose_and_peer_has_its_own() {
        let secret = Secret::from_bytes([1; 32]);
        assert_eq!(secret.derive("agent", 3), secret.derive("agent", 3));
        assert_ne!(secret.derive("agent", 3), secret.derive("agent", 4));
        assert_ne!(secret.derive("agent", 3), secret.derive("member", 3));
        assert_ne!(secret.derive("agent", 3), Secret::from_bytes([2; 32]).derive("agent", 3));
    }

    #[test]
    fn no_two_random_ones_are_alike() {
        assert_ne!(Secret::random().unwrap(), Secret::random().unwrap());
    }
}
