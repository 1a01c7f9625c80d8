//! A member of the ceiling (`wake`): sleeps until the bell rings, copies what it is told, answers, sleeps again.

use std::io::{self, IoSliceMut, PipeWriter, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use banyan_link::shared::Spoke;
use banyan_link::{Frame, Interest, Poller};
use bytes::Bytes;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::order::{BROADCAST, HELLO, SCATTER};
use super::wake::WORD;

/// What the poller says when the starter is gone, and when it rang.
const STARTER: u64 = 0;
const BELL: u64 = 1;

/// Does what the process at the other end of a socket says, until that ends.
///
/// # Errors
/// When it is no starter of such members.
pub(super) fn sleep_until_woken(mut starter: UnixStream) -> io::Result<()> {
    let (number, [signals, place, bell, board, done]) = shares(&starter)?;
    let mut spoke = Spoke::new([signals, place, bell], Some(board), number)?;
    let mut done = PipeWriter::from(done);
    let poller = Poller::new()?;
    poller.register(&starter, STARTER, Interest::READ)?;
    poller.register_bell(spoke.bell(), BELL)?;
    starter.write_all(&[HELLO])?;
    let mut ready = Vec::new();
    loop {
        poller.sleep(None, &mut ready)?;
        while let Some(word) = spoke.receive().map_err(io::Error::other)? {
            let answer = match word.stream.to_le_bytes() {
                [BROADCAST, ..] => Bytes::new(),
                [SCATTER, ..] => word.payload,
                _ => return Ok(()),
            };
            spoke.send(&Frame::new(WORD, number, 0, answer));
        }
        if spoke.announce(false) {
            done.write_all(&[HELLO])?;
        }
        if ready.iter().any(|ready| ready.token == STARTER) {
            return Ok(());
        }
    }
}

/// The number of this member and what it shares with the starter: memory, the bell, and where the last one writes.
fn shares(starter: &UnixStream) -> io::Result<(u32, [OwnedFd; 5])> {
    let mut number = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(5))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let came = recvmsg(starter, &mut [IoSliceMut::new(&mut number)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let descriptors = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    });
    let descriptors: Vec<OwnedFd> = descriptors.collect();
    match <[OwnedFd; 5]>::try_from(descriptors) {
        Ok(descriptors) if came.bytes == number.len() => Ok((u32::from_le_bytes(number), descriptors)),
        _ => Err(io::Error::other("the starter gave no memory")),
    }
}
