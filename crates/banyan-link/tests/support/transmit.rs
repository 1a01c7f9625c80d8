//! What an end of a link has to say, for tests that carry bytes from end to end themselves.

use std::io::IoSlice;
use std::time::Instant;

use super::Connection;

/// Everything that an end has to say by now.
pub(crate) fn transmit(end: &mut Connection, now: Instant) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let mut pieces = [IoSlice::new(&[]); 8];
        let count = end.poll_transmit(&mut pieces);
        pieces[..count].iter().for_each(|piece| all.extend_from_slice(piece));
        let length = pieces[..count].iter().map(|piece| piece.len()).sum();
        if length == 0 {
            return all;
        }
        end.sent(length, now);
    }
}
