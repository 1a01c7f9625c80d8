//! What carries a link's bytes. Nothing above knows which it is.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::fs::{Mode, chmod};
use rustix::io::{Errno, ioctl_fionbio, read, writev};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect, recv, recvmsg, sendmsg, socket_with, sockopt,
};
use rustix::process::geteuid;

use crate::address::Address;

/// How many descriptors are handed over together; one alone is a pool's.
pub(crate) const HANDED: usize = 4;

/// Descriptors that can go along with bytes, over a socket to a process of this host: those that are handed over, and a pool.
pub(crate) const DESCRIPTORS: usize = HANDED + 1;

/// How sockets are written to.
const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// A pair of byte streams, one in each direction. Calls never block, but for one that says so.
#[derive(Debug)]
pub(crate) enum Transport {
    /// A socket to a process of this host, which descriptors can be passed over.
    Unix(OwnedFd),
    /// A socket to any host.
    Tcp(OwnedFd),
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

    /// A socket that belongs to an address.
    pub(crate) fn of(address: &Address, socket: OwnedFd) -> Transport {
        match address {
            Address::Unix(_) | Address::Abstract(_) => Transport::Unix(socket),
            Address::Tcp(_) => Transport::Tcp(socket),
        }
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
            Transport::Unix(socket) | Transport::Tcp(socket) => {
                recv(socket, space, RecvFlags::DONTWAIT).map(|(count, _)| count)
            }
            Transport::Pipes { read: from, .. } => read(from, space),
        }
    }

    /// Waits for bytes where the descriptor was made to wait; where it was not, as [`receive`](Self::receive).
    pub(crate) fn receive_patiently(&self, space: &mut [u8]) -> Result<usize, Errno> {
        match self {
            Transport::Unix(socket) | Transport::Tcp(socket) => {
                recv(socket, space, RecvFlags::empty()).map(|(count, _)| count)
            }
            Transport::Pipes { .. } => self.receive(space),
        }
    }

    /// As [`receive`](Self::receive) or, with `waits`, [`receive_patiently`](Self::receive_patiently), with the descriptors
    /// that came along.
    pub(crate) fn receive_with_descriptors(
        &self,
        space: &mut [u8],
        waits: bool,
    ) -> Result<(usize, Vec<OwnedFd>), Errno> {
        let Transport::Unix(socket) = self else {
            let received = if waits { self.receive_patiently(space) } else { self.receive(space) };
            return received.map(|count| (count, Vec::new()));
        };
        let flags = if waits { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut along = RecvAncillaryBuffer::new(&mut room);
        let received = recvmsg(socket, &mut [IoSliceMut::new(space)], &mut along, flags | RecvFlags::CMSG_CLOEXEC)?;
        let descriptors = along.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        Ok((received.bytes, descriptors.flatten().collect()))
    }

    /// Sends bytes.
    pub(crate) fn send(&self, pieces: &[IoSlice<'_>]) -> Result<usize, Errno> {
        match self {
            Transport::Unix(socket) | Transport::Tcp(socket) => {
                sendmsg(socket, pieces, &mut SendAncillaryBuffer::default(), SEND)
            }
            Transport::Pipes { write, .. } => writev(write, pieces),
        }
    }

    /// Sends bytes and, over sockets of this host, at most [`DESCRIPTORS`] along with the first of them.
    pub(crate) fn send_with_descriptors(
        &self,
        pieces: &[IoSlice<'_>],
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<usize, Errno> {
        let Transport::Unix(socket) = self else { return self.send(pieces) };
        let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut along = SendAncillaryBuffer::new(&mut room);
        let fits = along.push(SendAncillaryMessage::ScmRights(descriptors));
        debug_assert!(fits, "there is room for {DESCRIPTORS}");
        sendmsg(socket, pieces, &mut along, SEND)
    }

    /// The descriptor to read from and the one to write to; often the same.
    pub(crate) fn fds(&self) -> (BorrowedFd<'_>, BorrowedFd<'_>) {
        match self {
            Transport::Unix(socket) | Transport::Tcp(socket) => (socket.as_fd(), socket.as_fd()),
            Transport::Pipes { read, write } => (read.as_fd(), write.as_fd()),
        }
    }

    /// Whether the end of one direction shows as the end of the other, too.
    pub(crate) fn ends_together(&self) -> bool {
        !matches!(self, Transport::Pipes { .. })
    }

    /// Whether descriptors can be passed, to a process that runs for the same user as this one.
    pub(crate) fn passes_descriptors(&self) -> bool {
        let Transport::Unix(socket) = self else { return false };
        sockopt::socket_peercred(socket).is_ok_and(|peer| peer.uid == geteuid())
    }
}
