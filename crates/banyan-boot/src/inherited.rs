//! Descriptors that a process was given by the one that started it.

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

use banyan_link::{OtherProtocol, PROTOCOL_VERSION};
use rustix::fs::FileType;
use rustix::io::FdFlags;
use rustix::net::sockopt::socket_type;

/// How a socket is named to the process that inherits it as a descriptor of this number: `protocol:1,fd:3,socket:4711`. The
/// first number is that of the [protocol](PROTOCOL_VERSION), in every protocol. The last one is that of the socket itself, so
/// that the process can tell it from another one that has the descriptor's number by then.
pub(crate) fn socket_name(number: i32, socket: BorrowedFd<'_>) -> rustix::io::Result<String> {
    Ok(name_of(number, rustix::fs::fstat(socket)?.st_ino))
}

pub(crate) fn name_of(number: i32, socket: u64) -> String {
    format!("protocol:{PROTOCOL_VERSION},fd:{number},socket:{socket}")
}

/// Takes the inherited socket of this name. Processes that this one starts do not inherit it.
pub(crate) fn named_socket(name: &str) -> Result<OwnedFd, String> {
    let (number, socket) = parse_name(name)?;
    inherited(number, |given| match rustix::fs::fstat(given) {
        Ok(found) if found.st_ino == socket && FileType::from_raw_mode(found.st_mode).is_socket() => Ok(()),
        Ok(_) => Err(format!("descriptor {number} is something else by now; was it closed and used again?")),
        Err(error) => Err(format!("descriptor {number} is not open: {error}; was it closed?")),
    })
}

/// The numbers of descriptor and socket in the name of an inherited socket.
pub(crate) fn parse_name(name: &str) -> Result<(i32, u64), String> {
    let mut parts = name.split(',');
    let mut part = |key: &str| parts.next()?.strip_prefix(key)?.strip_prefix(':');
    let form = || "it should be protocol:NUMBER,fd:NUMBER,socket:NUMBER".to_owned();
    let theirs = part("protocol").and_then(|number| number.parse().ok()).ok_or_else(form)?;
    OtherProtocol::check(theirs).map_err(|other| {
        let (cause, remedy) = (other.cause("the agent", "this program"), other.remedy("the agent", "this program"));
        format!("{cause}; {remedy}")
    })?;
    let number = part("fd").and_then(|number| number.parse().ok());
    // What later releases say behind these two is theirs.
    number.zip(part("socket").and_then(|number| number.parse().ok())).ok_or_else(form)
}

/// Takes the inherited socket of this number. Processes that this one starts do not inherit it.
pub(crate) fn inherited_socket(number: i32) -> Result<OwnedFd, String> {
    inherited(number, |given| {
        socket_type(given)
            .map(drop)
            .map_err(|error| format!("descriptor {number} is not a socket: {error}; was it taken or closed?"))
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

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, AsRawFd, IntoRawFd};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_name_of_another_protocol_is_refused_however_it_goes_on() {
        let error = parse_name("protocol:2,path:/run/socket").unwrap_err();
        assert_eq!(
            error,
            "the agent speaks protocol 2 of Banyan, this program protocol 1; update this program: build it with a \
             release of Banyan that speaks protocol 2"
        );
        assert_eq!(parse_name("protocol:1,fd:3,socket:4711,later:5"), Ok((3, 4711)));
    }

    #[test]
    fn a_descriptor_that_has_become_something_else_is_not_taken() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        rustix::io::fcntl_setfd(&theirs, FdFlags::empty()).unwrap();
        let number = theirs.as_raw_fd();
        let name = socket_name(number, theirs.as_fd()).unwrap();
        let of_another = socket_name(number, ours.as_fd()).unwrap();
        let refused = named_socket(&of_another).unwrap_err();
        assert!(refused.contains("is something else by now"), "{refused}");
        for wrong in ["fd:3,socket:2", "protocol:1,fd:3", "protocol:1,fd:-1,socket:2", "protocol:x,fd:9,socket:2"] {
            assert!(named_socket(wrong).is_err(), "{wrong}");
        }
        // Whoever takes it owns it from then on, once.
        let number = theirs.into_raw_fd();
        let taken = named_socket(&name).unwrap();
        assert_eq!(taken.as_raw_fd(), number);
        assert!(named_socket(&name).is_err_and(|refused| refused.contains("joined already")));
    }
}
