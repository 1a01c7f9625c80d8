//! Descriptors that a process was given by the one that started it.

use std::os::fd::{FromRawFd, OwnedFd};

use rustix::net::SocketType;

/// Takes an inherited socket, once: it is not passed on to processes that this one starts.
pub(crate) fn inherited_socket(number: i32) -> Result<OwnedFd, String> {
    // SAFETY: the number came from the process that started this one, which said that the descriptor is for us to take;
    // nobody else in this process knows of it. It is checked to be an open socket before anything is done with it, and
    // given back untouched otherwise.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    Ok(socket)
}
