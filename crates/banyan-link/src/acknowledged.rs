//! Whether the other host still acknowledges what is sent to it, as the kernel knows.
//!
//! It does so without the process there, which may be computing or stopped: who hears no signs of life by agreement can
//! tell by this that a cable is cut. A receiver that takes nothing acknowledges, too.

#![expect(unsafe_code, reason = "no safe wrapper asks for this; see the one block")]

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The beginning of what the kernel tells of a TCP connection: the rest is newer, or not asked for.
const BYTES: usize = 60;

/// Where in it the consecutive retransmissions are counted, …
const RETRANSMISSIONS: usize = 2;

/// … where questions for room to send that were not answered, of which the last may be under way; sending that fails on
/// this side becomes such questions, too, …
const QUESTIONS: usize = 3;

/// … and where the milliseconds since the last acknowledgement are.
const SINCE_ACKNOWLEDGED: std::ops::Range<usize> = 56..60;

/// For how long nothing was acknowledged, if something was sent and had to be sent again. `None` if all is well, and for
/// what is no TCP connection.
pub(crate) fn unacknowledged_for(socket: BorrowedFd<'_>) -> Option<Duration> {
    let mut told = [0u8; BYTES];
    let mut length = BYTES as libc::socklen_t;
    // SAFETY: the descriptor is open as long as it is borrowed, and the kernel writes at most `length` bytes, which is how
    // many there are.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            told.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let is_in_vain = told[RETRANSMISSIONS] > 0 || told[QUESTIONS] > 1;
    if result != 0 || (length as usize) < BYTES || !is_in_vain {
        return None;
    }
    let milliseconds = told[SINCE_ACKNOWLEDGED].try_into().map_or(0, u32::from_ne_bytes);
    Some(Duration::from_millis(milliseconds.into()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_connection_that_is_acknowledged_is_well_though_nobody_reads() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.write_all(&[0; 1000]).unwrap();
        assert_eq!(unacknowledged_for(stream.as_fd()), None);
    }

    #[test]
    fn other_sockets_say_nothing() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(unacknowledged_for(one.as_fd()), None);
    }
}
