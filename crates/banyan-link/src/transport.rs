//! What carries a link's bytes. Nothing above knows which it is.

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, chmod};
use rustix::io::{Errno, ioctl_fionbio, read, writev};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect,
    recv, sendmsg, socket_with, sockopt,
};

use crate::address::Address;

/// A pair of byte streams, one in each direction. Calls never block, but for one that says so.
#[derive(Debug)]
pub(crate) enum Transport {
    /// A Unix or TCP socket.
    Socket(OwnedFd),
    /// Two descriptors, such as the standard input and output of a remote shell.
    Pipes { read: OwnedFd, write: OwnedFd },
}

impl Transport {
    /// Two descriptors that must not block from now on.
    pub(crate) fn pipes(read: OwnedFd, write: OwnedFd) -> Result<Transport, Errno> {
        ioctl_fionbio(&read, true)?;
        ioctl_fionbio(&write, true)?;
        Ok(Transport::Pipes { read, write })
    }

    /// A socket for an address, not yet connected.
    pub(crate) fn socket(address: &Address) -> Result<OwnedFd, Errno> {
        let family = match address {
            Address::Unix(_) | Address::Abstract(_) => AddressFamily::UNIX,
            Address::Tcp(address) if address.is_ipv4() => AddressFamily::INET,
            Address::Tcp(_) => AddressFamily::INET6,
        };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
        if let Address::Tcp(_) = address {
            sockopt::set_tcp_nodelay(&socket, true)?;
        }
        Ok(socket)
    }

    /// A socket bound to an address, not yet listening.
    pub(crate) fn bound(address: &Address) -> Result<OwnedFd, Errno> {
        let socket = Transport::socket(address)?;
        match address {
            Address::Unix(path) => {
                bind(&socket, &SocketAddrUnix::new(path)?)?;
                // Nobody can connect before it listens.
                chmod(path, Mode::RUSR | Mode::WUSR)?;
            }
            Address::Abstract(name) => bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?,
            Address::Tcp(address) => {
                sockopt::set_socket_reuseaddr(&socket, true)?;
                if address.is_ipv6() && address.ip().is_unspecified() {
                    sockopt::set_ipv6_v6only(&socket, false)?;
                }
                bind(&socket, address)?;
            }
        }
        Ok(socket)
    }

    /// Starts to connect. False when the listener's queue is full (Unix sockets only) and it has to be tried again.
    pub(crate) fn connect(socket: &OwnedFd, address: &Address) -> Result<bool, Errno> {
        let result = match address {
            Address::Unix(path) => connect(socket, &SocketAddrUnix::new(path)?),
            Address::Abstract(name) => connect(socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?),
            Address::Tcp(address) => connect(socket, address),
        };
        match result {
            Ok(()) | Err(Errno::INPROGRESS | Errno::ISCONN) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR | Errno::ALREADY) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn receive(&self, space: &mut [u8]) -> Result<usize, Errno> {
        match self {
            Transport::Socket(socket) => recv(socket, space, RecvFlags::DONTWAIT).map(|(count, _)| count),
            Transport::Pipes { read: from, .. } => read(from, space),
        }
    }

    /// Waits for bytes where the descriptor was made to wait; where it was not, as [`receive`](Self::receive).
    pub(crate) fn receive_patiently(&self, space: &mut [u8]) -> Result<usize, Errno> {
        match self {
            Transport::Socket(socket) => recv(socket, space, RecvFlags::empty()).map(|(count, _)| count),
            Transport::Pipes { .. } => self.receive(space),
        }
    }

    pub(crate) fn send(&self, pieces: &[IoSlice<'_>]) -> Result<usize, Errno> {
        match self {
            Transport::Socket(socket) => {
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                sendmsg(socket, pieces, &mut SendAncillaryBuffer::default(), flags)
            }
            Transport::Pipes { write, .. } => writev(write, pieces),
        }
    }

    /// The descriptor to read from and the one to write to; often the same.
    pub(crate) fn fds(&self) -> (BorrowedFd<'_>, BorrowedFd<'_>) {
        match self {
            Transport::Socket(socket) => (socket.as_fd(), socket.as_fd()),
            Transport::Pipes { read, write } => (read.as_fd(), write.as_fd()),
        }
    }

    /// Whether the end of one direction shows as the end of the other, too.
    pub(crate) fn ends_together(&self) -> bool {
        matches!(self, Transport::Socket(_))
    }
}
