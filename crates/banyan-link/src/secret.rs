//! Secrets: what both ends of a link must know, and bytes that hold such a secret among others.
//!
//! A secret never shows itself: `Debug` says nothing of it, and its memory is cleared when it is dropped. It lies on the
//! heap, so moving it leaves no copy behind.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;

use bytes::Bytes;
use rustix::rand::{GetRandomFlags, getrandom};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// 32 bytes that nobody else knows.
#[derive(Clone)]
pub struct Secret(Box<[u8; Secret::BYTES]>);

impl Secret {
    /// Bytes of a secret.
    pub const BYTES: usize = 32;

    /// A new one, from the system's source of randomness.
    pub fn random() -> io::Result<Secret> {
        let mut secret = Secret(Box::new([0; Secret::BYTES]));
        let count = getrandom(&mut secret.0[..], GetRandomFlags::empty())?;
        // The system gives requests of up to 256 bytes in one piece.
        if count != Secret::BYTES {
            return Err(io::Error::other("the system gave too few random bytes"));
        }
        Ok(secret)
    }

    /// One that came from its owner, over an inherited descriptor or standard input.
    pub fn from_bytes(mut bytes: [u8; Secret::BYTES]) -> Secret {
        let secret = Secret(Box::new(bytes));
        bytes.zeroize();
        secret
    }

    /// One that a text has as hexadecimal digits; `None` if it is anything else.
    pub fn from_hex(digits: &str) -> Option<Secret> {
        if digits.len() != 2 * Secret::BYTES || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let mut secret = Secret(Box::new([0; Secret::BYTES]));
        for (byte, pair) in secret.0.iter_mut().zip(digits.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(secret)
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
        Secret::from_bytes(hasher.finalize().into())
    }
}

/// In a time that does not depend on where they differ.
impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        self.0.ct_eq(&*other.0).into()
    }
}

impl Eq for Secret {}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Bytes, or a text, that hold a secret: a ticket, an invitation, a note.
#[derive(Clone, Default)]
pub struct SecretBytes(Vec<u8>);

impl SecretBytes {
    /// No bytes yet, with room for so many.
    pub fn with_capacity(capacity: usize) -> SecretBytes {
        SecretBytes(Vec::with_capacity(capacity))
    }

    /// The bytes, for those who are to have them.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The same, to be filled.
    pub fn expose_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// The text; `None` where it is none.
    pub fn expose_text(&self) -> Option<&str> {
        str::from_utf8(&self.0).ok()
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds bytes. What was there before is cleared where it has to move.
    pub fn push(&mut self, bytes: &[u8]) {
        let length = self.0.len() + bytes.len();
        if length > self.0.capacity() {
            let mut larger = Vec::with_capacity(length.next_power_of_two());
            larger.extend_from_slice(&self.0);
            self.0.zeroize();
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
    }

    /// Adds a secret as hexadecimal digits.
    pub fn push_hex(&mut self, secret: &Secret) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for byte in secret.0.iter() {
            self.push(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }

    /// Forgets so many of the first bytes.
    pub fn drop_first(&mut self, count: usize) {
        let left = self.0.len().saturating_sub(count);
        let first = self.0.len() - left;
        self.0.copy_within(first.., 0);
        self.0[left..].zeroize();
        self.0.truncate(left);
    }
}

impl From<Vec<u8>> for SecretBytes {
    fn from(bytes: Vec<u8>) -> SecretBytes {
        SecretBytes(bytes)
    }
}

impl From<String> for SecretBytes {
    fn from(text: String) -> SecretBytes {
        SecretBytes(text.into_bytes())
    }
}

/// To write a text to it.
impl fmt::Write for SecretBytes {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

/// A payload that is cleared when the last who holds it lets it go.
impl From<SecretBytes> for Bytes {
    fn from(secret: SecretBytes) -> Bytes {
        Bytes::from_owner(secret)
    }
}

impl AsRef<[u8]> for SecretBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// For the environment of a process.
impl AsRef<OsStr> for SecretBytes {
    fn as_ref(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }
}

/// In a time that does not depend on where they differ.
impl PartialEq for SecretBytes {
    fn eq(&self, other: &SecretBytes) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SecretBytes {}

impl Drop for SecretBytes {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretBytes({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_itself() {
        assert_eq!(format!("{:?}", Secret::from_bytes([65; 32])), "Secret(..)");
        assert_eq!(format!("{:?}", SecretBytes::from("A".repeat(32))), "SecretBytes(32 bytes)");
    }

    #[test]
    fn a_secret_is_read_as_it_was_written() {
        let secret = Secret::random().unwrap();
        let mut text = SecretBytes::default();
        text.push_hex(&secret);
        assert_eq!(Secret::from_hex(text.expose_text().unwrap()), Some(secret));
        for wrong in ["", "00", &"0".repeat(63), &"+0".repeat(32), &"é0".repeat(32)] {
            assert_eq!(Secret::from_hex(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn of_what_is_dropped_nothing_is_left_in_memory() {
        let random = Secret::random().unwrap();
        // Searched for without being there: each byte is another one in the pattern.
        let pattern: Vec<u8> = random.expose().iter().map(|byte| byte ^ 0x55).collect();
        let mut grown = SecretBytes::default();
        for _ in 0..40 {
            grown.push(random.expose());
        }
        grown.drop_first(32);
        assert!(copies_in_memory(&pattern) >= 40);
        drop((random, grown));
        assert_eq!(copies_in_memory(&pattern), 0);
    }

    /// How often this process's memory has these bytes, each with another value than in the pattern.
    fn copies_in_memory(pattern: &[u8]) -> usize {
        use std::os::unix::fs::FileExt;
        let memory = std::fs::File::open("/proc/self/mem").unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut piece = vec![0; 1 << 16];
        let mut copies = 0;
        for line in maps.lines().filter(|line| line.contains(" rw")) {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [from, to] = [from, to].map(|at| u64::from_str_radix(at, 16).unwrap());
            let mut at = from;
            while at < to {
                let wanted = piece.len().min((to - at) as usize);
                let Ok(count) = memory.read_at(&mut piece[..wanted], at) else { break };
                let is_copy = |window: &&[u8]| window.iter().zip(pattern).all(|(byte, other)| byte ^ 0x55 == *other);
                copies += piece[..count].windows(pattern.len()).filter(is_copy).count();
                // What was read is not to be found again as a copy.
                piece.fill(0);
                at += if at + count as u64 == to {
                    count as u64
                } else {
                    count.saturating_sub(pattern.len()).max(1) as u64
                };
            }
        }
        copies
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
