//! A connection whose peer has not proved itself: a socket and as much memory as the opening takes.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::opening::{Accepted, OpeningState, PeerId, Refusal, Responder};
use crate::secret::Secret;
use crate::slab::Slabs;

/// Bytes of a refused peer that are read and thrown away, so that closing does not take back what it was told.
const THROWN_AWAY: usize = 1024;

#[derive(Debug)]
pub(crate) struct Unproved {
    pub(crate) socket: OwnedFd,
    pub(crate) responder: Responder,
    pub(crate) since: Instant,
}

impl Unproved {
    pub(crate) fn new(socket: OwnedFd, encrypt: bool, now: Instant) -> Unproved {
        Unproved { socket, responder: Responder::new(encrypt), since: now }
    }

    /// Hears what the peer has to say, and answers. `None` when it has to say more.
    pub(crate) fn advance(
        &mut self,
        slabs: &Slabs,
        find: &mut dyn FnMut(&PeerId) -> Option<Secret>,
    ) -> Result<Option<Accepted>, Refusal> {
        loop {
            let count = match recv(&self.socket, self.responder.space(), RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return Err(self.gone()),
                Ok((_, count)) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(None),
                Err(_) => return Err(self.gone()),
            };
            let step = self.responder.received(count, slabs, find);
            let answered = self.answer();
            match step {
                Ok(OpeningState::Proved(accepted)) => return Ok(Some(accepted)),
                Ok(OpeningState::More) if answered => {}
                // A new socket takes an answer of a few bytes, or there is nobody to take it.
                Ok(OpeningState::More) => return Err(self.gone()),
                Err(refusal) => {
                    let _ = recv(&self.socket, &mut [0; THROWN_AWAY], RecvFlags::DONTWAIT);
                    return Err(refusal);
                }
            }
        }
    }

    /// Sends the answer, if there is one; false when it does not go.
    fn answer(&mut self) -> bool {
        let answer = self.responder.transmit();
        if answer.is_empty() {
            return true;
        }
        match send(&self.socket, answer, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(count) if count == answer.len() => {
                self.responder.sent(count);
                true
            }
            _ => false,
        }
    }

    /// What it means that the peer goes before it has proved itself.
    fn gone(&self) -> Refusal {
        if self.responder.has_shown_secret() { Refusal::Left } else { Refusal::Garbage }
    }
}
