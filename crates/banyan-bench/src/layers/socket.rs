//! Bare sockets: bytes and nothing else. Both sides know how long messages are.
//!
//! As many messages as fit are written in one call: who sends each by a call of its own is slower, and no floor.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::order::{LayerOrder, LayerWork};
use super::path::{Cause, Path, check_bytes, message};
use super::{Role, start_peer};
use crate::channel::Channel;
use crate::peer::Peer;

/// Bytes that are written and read in one call, but for longer messages: as much as a socket hands over at once.
const PIECE: usize = 64 << 10;

/// A process at the other end of a bare socket.
pub(super) struct Socket {
    channel: Channel,
    received: Vec<u8>,
    _peer: Peer,
}

impl Socket {
    /// Starts the process, with a socket of either kind.
    pub(super) fn start((channel, theirs): (Channel, std::os::fd::OwnedFd)) -> io::Result<Socket> {
        Ok(Socket { channel, received: Vec::new(), _peer: start_peer(Role::Socket, None, theirs)? })
    }
}

impl Path for Socket {
    fn round_trips(&mut self, bytes: usize, count: u64) -> Result<Vec<f64>, Cause> {
        let sent = message(bytes);
        self.received.resize(bytes, 0);
        self.channel.write_all(&LayerOrder { work: LayerWork::Echo, bytes, count }.to_bytes())?;
        let round_trip = |_| {
            let begin = Instant::now();
            self.channel.write_all(&sent)?;
            self.channel.read_exact(&mut self.received)?;
            let took = begin.elapsed().as_secs_f64();
            check_bytes(&self.received, bytes);
            Ok(took)
        };
        (0..count).map(round_trip).collect()
    }

    fn messages(&mut self, bytes: usize, count: u64) -> Result<Duration, Cause> {
        let at_once = at_once(bytes);
        self.received.resize(bytes * at_once, 0);
        let begin = Instant::now();
        self.channel.write_all(&LayerOrder { work: LayerWork::Send, bytes, count }.to_bytes())?;
        let mut left = count;
        while left > 0 {
            let messages = left.min(at_once as u64);
            let received = &mut self.received[..bytes * messages as usize];
            self.channel.read_exact(received)?;
            received.chunks(bytes).for_each(|message| check_bytes(message, bytes));
            left -= messages;
        }
        Ok(begin.elapsed())
    }
}

/// Messages that are sent by one call.
fn at_once(bytes: usize) -> usize {
    (PIECE / bytes).max(1)
}

/// What the process at the other end does.
pub(super) fn serve() -> io::Result<()> {
    let mut channel = Channel::inherited()?;
    while let Some(LayerOrder { work, bytes, count }) = LayerOrder::read(&mut channel)? {
        match work {
            LayerWork::Echo => echo(&mut channel, bytes, count)?,
            LayerWork::Send => send(&mut channel, bytes, count)?,
        }
    }
    Ok(())
}

fn echo(channel: &mut Channel, bytes: usize, count: u64) -> io::Result<()> {
    let mut received = vec![0; bytes];
    (0..count).try_for_each(|_| {
        channel.read_exact(&mut received)?;
        channel.write_all(&received)
    })
}

fn send(channel: &mut Channel, bytes: usize, count: u64) -> io::Result<()> {
    let piece = message(bytes).repeat(at_once(bytes));
    let mut left = count;
    while left > 0 {
        let messages = left.min(at_once(bytes) as u64);
        channel.write_all(&piece[..bytes * messages as usize])?;
        left -= messages;
    }
    Ok(())
}
