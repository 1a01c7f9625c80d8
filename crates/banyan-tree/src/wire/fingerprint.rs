//! What tells programs apart that would not understand each other, although they say that they are of one version: a number
//! that follows from the source of everything here.
//!
//! It is in the note that every node gets before it has a link, so that a program of another build is refused at once, with
//! the reason, and not by the first message that it cannot read. It says nothing of what links are made of, which have a
//! version of their own.

/// Of this program.
pub(crate) const FINGERPRINT: u64 = fingerprint(&[
    include_bytes!("addresses.rs"),
    include_bytes!("decode.rs"),
    include_bytes!("encode.rs"),
    include_bytes!("layout.rs"),
    include_bytes!("mod.rs"),
    include_bytes!("opening.rs"),
    include_bytes!("pieces.rs"),
    include_bytes!("reader.rs"),
    include_bytes!("sets.rs"),
    include_bytes!("structure.rs"),
]);

/// FNV-1a: nobody is to be kept from making two that are equal.
const fn fingerprint(files: &[&[u8]]) -> u64 {
    let (mut hash, mut file) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while file < files.len() {
        let mut at = 0;
        while at < files[file].len() {
            hash = (hash ^ files[file][at] as u64).wrapping_mul(0x100_0000_01b3);
            at += 1;
        }
        file += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_more_is_another_fingerprint() {
        let ours = fingerprint(&[b"one", b"two"]);
        assert_ne!(ours, fingerprint(&[b"one", b"two "]));
        assert_eq!(ours, fingerprint(&[b"one", b"two"]));
        assert_ne!(FINGERPRINT, fingerprint(&[]));
    }
}
