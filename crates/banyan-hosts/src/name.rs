//! What a host name may hold.
//!
//! A name is HOST or USER@HOST in ASCII letters, digits and `-_.:@%`, at most [`MAX_NAME_BYTES`] long. Both parts begin
//! with a letter, a digit, `_` or `:`: never with `-`, which other programs take for an option, nor with `.`, which
//! names directories. Colons and `%` are for IPv6 addresses with their zone (`fe80::1%eth0`). Nothing of this means
//! anything to a shell. Whether such a host exists is not asked here; upper and lower case differ.

use super::error::Problem;
use super::limits::MAX_NAME_BYTES;

/// Asked for every byte of every name, and so answered by one look.
const NAME_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] =
            (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'-' | b'_' | b'.' | b':' | b'@' | b'%');
        byte += 1;
    }
    table
};

/// True for what may stand in a name.
pub(super) fn is_name_byte(byte: u8) -> bool {
    NAME_BYTES[usize::from(byte)]
}

fn begins_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':'
}

/// Checks one whole name. An error comes with the offset of what is wrong.
pub(super) fn check(name: &str) -> Result<(), (usize, Problem)> {
    if name.len() > MAX_NAME_BYTES {
        return Err((0, Problem::NameTooLong(name.len())));
    }
    if let Some((at, character)) = name.char_indices().find(|(_, c)| !u8::try_from(*c).is_ok_and(is_name_byte)) {
        return Err((at, Problem::Character(character)));
    }
    check_form(name)
}

/// Checks how a name of valid characters is made up, whatever its length.
pub(super) fn check_form(name: &str) -> Result<(), (usize, Problem)> {
    let Some(at_sign) = name.find('@') else {
        return check_beginning(name, 0);
    };
    let host = at_sign + 1;
    if let Some(second) = name[host..].find('@') {
        return Err((host + second, Problem::SecondAt));
    }
    check_beginning(&name[..at_sign], 0)?;
    check_beginning(&name[host..], host)
}

fn check_beginning(part: &str, offset: usize) -> Result<(), (usize, Problem)> {
    match part.bytes().next() {
        None => Err((offset, Problem::Empty)),
        Some(byte) if begins_a_name(byte) => Ok(()),
        Some(byte) => Err((offset, Problem::Beginning(byte.into()))),
    }
}
