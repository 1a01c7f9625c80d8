//! The socket between a worker and its keeper, which both have from the fork on.
//!
//! By it the worker says where it works, and leaves what its keeper needs in case it is killed: a word for the guard, and
//! its members with the pipes that they write to. The keeper takes it as it comes: descriptors on their way count against
//! the user's limit. Whatever it cannot take whole it does not guard ([`Handover::is_whole`]).
//!
//! By it the keeper asks its worker to end. Its end is the end of the other side.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use banyan_link::SecretBytes;
use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg, socketpair,
};
use rustix::process::Pid;

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
const HOST: u8 = 4;
/// From the keeper.
const END: u8 = 5;
const LOG: u8 = 6;

/// The worker's side. Ready to read when the keeper asks the worker to end, or is gone.
#[derive(Debug)]
pub struct KeeperSocket {
    socket: OwnedFd,
}

/// What a worker has heard of its keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    Nothing,
    /// The worker is to end.
    End,
    /// The keeper is gone.
    Gone,
}

impl KeeperSocket {
    /// What the keeper has said. Once it is gone it stays so.
    pub(crate) fn hear(&self) -> Heard {
        let mut kind = [0];
        match rustix::io::retry_on_intr(|| recv(&self.socket, &mut kind, RecvFlags::DONTWAIT)) {
            Ok((_, 1)) if kind == [END] => Heard::End,
            Ok((_, 1)) | Err(Errno::AGAIN) => Heard::Nothing,
            Ok(_) | Err(_) => Heard::Gone,
        }
    }

    /// What the worker's host is called. From now on the worker hears when it is asked to end.
    ///
    /// # Errors
    /// If the keeper does not take it.
    pub(crate) fn name_host(&self, host: &str) -> io::Result<()> {
        let host = host.as_bytes();
        self.send(HOST, &host[..host.len().min(WORD_BYTES)], &[])
    }

    /// What the guard is told; the last word counts.
    ///
    /// # Errors
    /// If the keeper does not take it, or it is longer than 128 KiB.
    pub(crate) fn leave_guard_note(&self, word: &[u8]) -> io::Result<()> {
        if word.len() > WORD_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a word for the guard is too long"));
        }
        self.send(WORD, word, &[])
    }

    /// The work is done: nothing is to be guarded.
    ///
    /// # Errors
    /// If the keeper does not take it.
    pub(crate) fn revoke_guard_note(&self) -> io::Result<()> {
        self.send(REVOKE, &[], &[])
    }

    /// A member runs as this process, and writes to these pipes: up to two.
    ///
    /// # Errors
    /// If the keeper does not take them.
    pub(crate) fn leave_member(&self, member: u32, process: Pid, pipes: &[BorrowedFd<'_>]) -> io::Result<()> {
        let process = process.as_raw_nonzero().get();
        self.send(LEAVE, &[member.to_le_bytes(), process.to_le_bytes()].concat(), pipes)
    }

    /// The member has ended.
    ///
    /// # Errors
    /// If the keeper does not take it.
    pub(crate) fn withdraw_member(&self, member: u32) -> io::Result<()> {
        self.send(WITHDRAW, &member.to_le_bytes(), &[])
    }

    /// The keeper is to log so much, on this process's standard error.
    ///
    /// # Errors
    /// If the keeper does not take it.
    pub(crate) fn begin_log(&self, filter: &str) -> io::Result<()> {
        self.send(LOG, filter.as_bytes(), &[io::stderr().as_fd()])
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

impl AsFd for KeeperSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The keeper's side.
#[derive(Debug)]
pub(super) struct Handover {
    socket: OwnedFd,
    buffer: SecretBytes,
    pub(super) word: Option<SecretBytes>,
    pub(super) host: Option<String>,
    /// What to log, and where, until that was taken.
    pub(super) log: Option<(String, OwnedFd)>,
    pub(super) members: BTreeMap<u32, LeftMember>,
    is_whole: bool,
}

/// A member that is left.
#[derive(Debug)]
pub(super) struct LeftMember {
    pub(super) process: Pid,
    pub(super) pipes: Vec<OwnedFd>,
}

/// Both sides.
pub(super) fn will() -> io::Result<(KeeperSocket, Handover)> {
    let (workers, keepers) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&workers, Timeout::Send, Some(KEEPER_PATIENCE))?;
    let (buffer, members) = (vec![0; 1 + WORD_BYTES].into(), BTreeMap::new());
    let handover = Handover { socket: keepers, buffer, word: None, host: None, log: None, members, is_whole: true };
    Ok((KeeperSocket { socket: workers }, handover))
}

impl Handover {
    /// Asks the worker to end; false if it does not listen.
    pub(super) fn ask_to_end(&self) -> bool {
        self.host.is_some() && send(&self.socket, &[END], SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok()
    }

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
            recvmsg(&self.socket, &mut [IoSliceMut::new(self.buffer.expose_mut())], &mut rights, flags)
        })?;
        let mut pipes = Vec::new();
        for message in rights.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                pipes.extend(descriptors);
            }
        }
        // Too many descriptors for this process, for example.
        self.is_whole &= !received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
        let Some((kind, rest)) = self.buffer.expose()[..received.bytes].split_first() else { return Ok(false) };
        let (first, second) = rest.split_at(rest.len().min(size_of::<u32>()));
        let member = first.try_into().map(u32::from_le_bytes);
        let process = second.try_into().ok().and_then(|process| Pid::from_raw(i32::from_le_bytes(process)));
        match (*kind, member, process) {
            (WORD, ..) => self.word = Some(rest.to_vec().into()),
            (REVOKE, ..) => self.word = None,
            (HOST, ..) => self.host = Some(String::from_utf8_lossy(rest).into_owned()),
            (LOG, ..) => self.log = pipes.pop().map(|stderr| (String::from_utf8_lossy(rest).into_owned(), stderr)),
            (LEAVE, Ok(member), Some(process)) => _ = self.members.insert(member, LeftMember { process, pipes }),
            (WITHDRAW, Ok(member), None) => _ = self.members.remove(&member),
            _ => self.is_whole = false,
        }
        Ok(true)
    }

    /// Whether everything that was left has come.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }
}

impl AsFd for Handover {
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
        let (will, mut handover) = will().unwrap();
        let (first, second) = (output_pipe().unwrap(), output_pipe().unwrap());
        let process = rustix::process::getpid();
        will.leave_guard_note(b"early").unwrap();
        will.leave_member(7, process, &[first.0.as_fd(), second.0.as_fd()]).unwrap();
        will.leave_member(8, process, &[first.0.as_fd()]).unwrap();
        will.leave_guard_note(&[3; WORD_BYTES]).unwrap();
        will.withdraw_member(7).unwrap();
        assert!(handover.take() && handover.is_whole());
        assert_eq!(handover.word, Some(vec![3; WORD_BYTES].into()));
        drop((first.0, second.0));
        // Somebody still reads the one, nobody the other.
        assert_eq!(rustix::io::write(&first.1, b"heard").unwrap(), 5);
        assert_eq!(rustix::io::write(&second.1, b"not heard"), Err(Errno::PIPE));
        drop(will);
        assert!(!handover.take() && handover.is_whole());
        let left: Vec<(u32, Pid)> = handover.members.iter().map(|(rank, member)| (*rank, member.process)).collect();
        assert_eq!(left, [(8, process)]);
    }

    #[test]
    fn a_worker_is_asked_to_end_once_it_listens_and_hears_of_its_keepers_end() {
        let (will, mut handover) = will().unwrap();
        assert!(!handover.ask_to_end());
        will.name_host("n1").unwrap();
        assert!(handover.take() && handover.host.as_deref() == Some("n1"));
        assert_eq!(will.hear(), Heard::Nothing);
        assert!(handover.ask_to_end());
        assert_eq!([will.hear(), will.hear()], [Heard::End, Heard::Nothing]);
        drop(handover);
        assert_eq!([will.hear(), will.hear()], [Heard::Gone; 2]);
    }

    #[test]
    fn a_keeper_that_takes_nothing_does_not_hold_its_worker_up_for_ever() {
        let (will, _handover) = will().unwrap();
        assert!((0..100).any(|_| will.leave_guard_note(&[0; WORD_BYTES]).is_err()));
        assert!(will.leave_guard_note(&[0; WORD_BYTES + 1]).is_err());
    }
}
