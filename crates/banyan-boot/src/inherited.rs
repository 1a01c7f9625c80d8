//! Descriptors that a process was given by the one that started it.

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::FdFlags;
use rustix::net::sockopt::socket_type;

/// Takes an inherited socket. Processes that this one starts do not inherit it.
pub(crate) fn inherited_socket(number: i32) -> Result<OwnedFd, String> {
    inherited(number, |given| {
        socket_type(given)
            .map(drop)
            .map_err(|error| format!("descriptor {number} is no socket: {error}; was it taken or closed?"))
    })
}

fn inherited(number: i32, check: impl FnOnce(BorrowedFd<'_>) -> Result<(), String>) -> Result<OwnedFd, String> {
    if number < 3 {
        return Err(format!("{number} is a standard stream"));
    }
    // SAFETY: only looked at while this function runs; whether it is open is what the look finds out.
    let given = unsafe { BorrowedFd::borrow_raw(number) };
    check(given)?;
    if rustix::io::fcntl_getfd(given).is_ok_and(|flags| flags.contains(FdFlags::CLOEXEC)) {
        return Err(format!("descriptor {number} is this process's own; has it joined already?"));
    }
    rustix::io::fcntl_setfd(given, FdFlags::CLOEXEC).map_err(|error| format!("descriptor {number}: {error}"))?;
    // SAFETY: it is an open descriptor that survived `execve`, as those do that a parent gives its child, and no code of this
    // process has made it: everything that is made here is closed on `execve`. The flag set above keeps a second call
    // from taking it again.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
