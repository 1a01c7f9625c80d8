//! What a worker leaves to its keeper in case it dies: a word for the guard, and the pipes that its members write to. A worker
//! that has done its work revokes the word, so that nothing is guarded.
//!
//! It goes over a socket that both have from the fork on. The keeper takes it as it comes: descriptors on their way count
//! against the user's limit. Whatever it cannot take whole it does not guard ([`Estate::is_whole`]).

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// How long a keeper may take to take something: it has nothing else to do.
const KEEPER_PATIENCE: Duration = Duration::from_secs(1);

/// Bytes of the longest word.
const WORD_BYTES: usize = 128 << 10;

/// Pipes that a member writes to at most.
const PIPES: usize = 2;

/// What a message is, by its first byte.
const WORD: u8 = 0;
const LEAVE: u8 = 1;
const WITHDRAW: u8 = 2;
const REVOKE: u8 = 3;

/// The worker's side.
#[derive(Debug)]
pub(crate) struct Will {
    socket: OwnedFd,
}

impl Will {
    /// What the guard is told; the last word counts.
    ///
    /// # Errors
    /// If the keeper does not take it, or it is longer than 128 KiB.
    pub(crate) fn leave_word(&self, word: &[u8]) -> io::Result<()> {
        if word.len() > WORD_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a word for the guard is too long"));
        }
        self.send(WORD, word, &[])
    }

    /// The work is done: nothing is to be guarded.
    ///
    /// # Errors
    /// If the keeper does not take it.
    pub(crate) fn revoke_word(&self) -> io::Result<()> {
        self.send(REVOKE, &[], &[])
    }

    /// The pipes that a member writes to: up to two.
    ///
    /// # Errors
    /// If the keeper does not take them.
    pub(crate) fn leave_pipes(&self, member: u32, pipes: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send(LEAVE, &member.to_le_bytes(), pipes)
    }

    /// The member has ended.
    ///
    /// # Errors
    /// If the keeper does not take it.
    pub(crate) fn withdraw_pipes(&self, member: u32) -> io::Result<()> {
        self.send(WITHDRAW, &member.to_le_bytes(), &[])
    }

    fn send(&self, kind: u8, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(PIPES))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !rights.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a member writes to more pipes than there are"));
        }
        let kind = [kind];
        let message = [IoSlice::new(&kind), IoSlice::new(bytes)];
        rustix::io::retry_on_intr(|| sendmsg(&self.socket, &message, &mut rights, SendFlags::NOSIGNAL))?;
        Ok(())
    }
}

/// The keeper's side.
#[derive(Debug)]
pub(super) struct Estate {
    socket: OwnedFd,
    buffer: Vec<u8>,
    pub(super) word: Option<Vec<u8>>,
    pipes: BTreeMap<u32, Vec<OwnedFd>>,
    is_whole: bool,
}

/// Both sides.
pub(super) fn will() -> io::Result<(Will, Estate)> {
    let (workers, keepers) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&workers, Timeout::Send, Some(KEEPER_PATIENCE))?;
    let (buffer, word, pipes) = (vec![0; 1 + WORD_BYTES], None, BTreeMap::new());
    Ok((Will { socket: workers }, Estate { socket: keepers, buffer, word, pipes, is_whole: true }))
}

impl Estate {
    /// Takes what has come; false when nothing will come any more.
    pub(super) fn take(&mut self) -> bool {
        loop {
            match self.take_one() {
                Ok(true) => {}
                Ok(false) => return false,
                Err(Errno::AGAIN) => return true,
                Err(_) => {
                    self.is_whole = false;
                    return false;
                }
            }
        }
    }

    fn take_one(&mut self) -> rustix::io::Result<bool> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(PIPES))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let received = rustix::io::retry_on_intr(|| {
            recvmsg(&self.socket, &mut [IoSliceMut::new(&mut self.buffer)], &mut rights, flags)
        })?;
        let mut pipes = Vec::new();
        for message in rights.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                pipes.extend(descriptors);
            }
        }
        // Too many descriptors for this process, for example.
        self.is_whole &= !received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
        let Some((kind, rest)) = self.buffer[..received.bytes].split_first() else { return Ok(false) };
        match (*kind, <[u8; 4]>::try_from(rest).map(u32::from_le_bytes)) {
            (WORD, _) => self.word = Some(rest.to_vec()),
            (REVOKE, _) => self.word = None,
            (LEAVE, Ok(member)) => _ = self.pipes.insert(member, pipes),
            (WITHDRAW, Ok(member)) => _ = self.pipes.remove(&member),
            _ => self.is_whole = false,
        }
        Ok(true)
    }

    /// Whether everything that was left has come.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(super) fn into_pipes(self) -> Vec<OwnedFd> {
        self.pipes.into_values().flatten().collect()
    }
}

impl AsFd for Estate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::output_pipe;

    #[test]
    fn what_is_left_comes_and_what_is_withdrawn_is_closed() {
        let (will, mut estate) = will().unwrap();
        let (first, second) = (output_pipe().unwrap(), output_pipe().unwrap());
        will.leave_word(b"early").unwrap();
        will.leave_pipes(7, &[first.0.as_fd(), second.0.as_fd()]).unwrap();
        will.leave_pipes(8, &[first.0.as_fd()]).unwrap();
        will.leave_word(&[3; WORD_BYTES]).unwrap();
        will.withdraw_pipes(7).unwrap();
        assert!(estate.take() && estate.is_whole());
        assert_eq!(estate.word.as_deref(), Some(&[3; WORD_BYTES][..]));
        drop((first.0, second.0));
        // Somebody still reads the one, nobody the other.
        assert_eq!(rustix::io::write(&first.1, b"heard").unwrap(), 5);
        assert_eq!(rustix::io::write(&second.1, b"not heard"), Err(Errno::PIPE));
        drop(will);
        assert!(!estate.take() && estate.is_whole());
        assert_eq!(estate.into_pipes().len(), 1);
    }

    #[test]
    fn a_keeper_that_takes_nothing_does_not_hold_its_worker_up_for_ever() {
        let (will, _estate) = will().unwrap();
        assert!((0..100).any(|_| will.leave_word(&[0; WORD_BYTES]).is_err()));
        assert!(will.leave_word(&[0; WORD_BYTES + 1]).is_err());
    }
}
