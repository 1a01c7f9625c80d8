//! A bare connected socket between two processes of this machine: what every protocol here runs on, and is compared
//! with. One end is kept, the other becomes the standard input of a process.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};

/// How long the process at the other end may take for anything. Only a broken machine takes longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Strangers that may come to a port before the connection that was made to it.
const STRANGERS: usize = 16;

/// One end of a socket. Reading and writing wait, asleep.
pub(crate) struct Channel(File);

impl Channel {
    /// A pair of Unix sockets: the end to keep, and the other.
    pub(crate) fn unix() -> io::Result<(Channel, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Channel::kept(ours.into())?, theirs.into()))
    }

    /// A TCP connection over loopback: the end to keep, and the other.
    pub(crate) fn tcp() -> io::Result<(Channel, OwnedFd)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let ours = TcpStream::connect(listener.local_addr()?)?;
        ours.set_nodelay(true)?;
        let own = ours.local_addr()?;
        for _ in 0..STRANGERS {
            let (theirs, from) = listener.accept()?;
            if from == own {
                theirs.set_nodelay(true)?;
                return Ok((Channel::kept(ours.into())?, theirs.into()));
            }
        }
        Err(io::Error::other("others connect to every port that this program opens on loopback"))
    }

    fn kept(socket: OwnedFd) -> io::Result<Channel> {
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
        Ok(Channel(socket.into()))
    }

    /// The socket that is this process's standard input.
    pub(crate) fn inherited() -> io::Result<Channel> {
        Ok(Channel(io::stdin().as_fd().try_clone_to_owned()?.into()))
    }
}

impl Read for Channel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.write_vectored(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_sockets_carry_bytes_both_ways_and_end_together() {
        for (mut ours, theirs) in [Channel::unix().expect("a pair"), Channel::tcp().expect("a connection")] {
            let mut theirs = Channel(theirs.into());
            ours.write_all(b"there").expect("room");
            let mut there = [0; 5];
            theirs.read_exact(&mut there).expect("five bytes");
            theirs.write_all(b"back").expect("room");
            drop(theirs);
            let mut back = Vec::new();
            ours.read_to_end(&mut back).expect("the end");
            assert_eq!((&there, &back[..]), (b"there", &b"back"[..]));
        }
    }
}
