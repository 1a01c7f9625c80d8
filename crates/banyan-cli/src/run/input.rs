//! Standard input on its way to the members.

use std::io::Read;

use super::Shared;

/// Bytes read at once.
const CHUNK: usize = 1 << 16;

/// Forwards standard input until it ends. Nobody waits for the thread: it may sit in a read from a terminal for ever.
pub(super) fn forward(shared: Shared) {
    std::thread::spawn(move || {
        let mut chunk = vec![0; CHUNK];
        let mut input = std::io::stdin().lock();
        loop {
            // Input that cannot be read has ended.
            let count = input.read(&mut chunk).unwrap_or(0);
            match &*shared.read() {
                Some(session) if count > 0 => session.write_input(&chunk[..count]),
                Some(session) => return session.close_input(),
                None => return,
            }
        }
    });
}
