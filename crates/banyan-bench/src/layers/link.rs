//! Links between two processes, over Unix sockets and TCP, plain and encrypted. The process at the other end dials and
//! proves that it knows a secret, which it was told over its standard input.
//!
//! Both ends wait as the nodes of a tree do: asleep, by reading.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use banyan_link::{
    Address, Encryption, Event, Frame, Kind, Link, LinkError, LinkOptions, Listener, Opening, PeerId, Secret, SessionId,
};
use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::net::sockopt::{Timeout, set_socket_timeout};

use super::order::{LayerOrder, LayerWork};
use super::path::{Cause, Path, check_bytes, message};
use super::{Role, start_peer};
use crate::channel::{Channel, PATIENCE};
use crate::peer::Peer;

/// An order.
const ORDER: Kind = Kind::control(128);
/// A message.
const MESSAGE: Kind = Kind::data(16);

/// Who dials.
const PEER: PeerId = PeerId { session: SessionId([0; 16]), index: 0, incarnation: 0 };

/// The word for links that are encrypted, in the arguments of the process at the other end.
const ENCRYPTED: &str = "encrypted";

/// The time between two looks whether the process at the other end is still there, until it has dialled.
const LOOK: Duration = Duration::from_millis(50);

/// A process at the other end of a link.
pub(super) struct Linked {
    end: End,
    _peer: Peer,
}

impl Linked {
    /// Starts the process, and waits until it has proved who it is.
    pub(super) fn start(address: &Address, encryption: Encryption) -> Result<Linked, Cause> {
        let mut listener = Listener::bind(address, &options(encryption))?;
        let secret = Secret::random()?;
        let (mut stdin, theirs) = Channel::unix()?;
        stdin.write_all(secret.expose())?;
        let word = if encryption == Encryption::Always { ENCRYPTED } else { "plain" };
        let mut peer = start_peer(Role::Link, Some((&listener.address().to_string(), word)), theirs)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let find = &mut |peer: &PeerId| (*peer == PEER).then(|| secret.clone());
            if let Some(link) = listener.accept_ready(Instant::now(), find).pop() {
                return Ok(Linked { end: End::new(link, Some(PATIENCE))?, _peer: peer });
            }
            if Instant::now() >= deadline {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            if let Some(status) = peer.ended()? {
                return Err(Cause::Ended(status));
            }
            wait(&mut [PollFd::new(&listener, PollFlags::IN)], LOOK)?;
        }
    }
}

impl Path for Linked {
    fn round_trips(&mut self, bytes: usize, count: u64) -> Result<Vec<f64>, Cause> {
        let sent = Bytes::from(message(bytes));
        self.end.order(LayerOrder { work: LayerWork::Echo, bytes, count });
        let round_trip = |_| {
            let begin = Instant::now();
            self.end.link.send(Frame::new(MESSAGE, 0, 0, sent.clone()));
            let frame = self.end.frame()?;
            let took = begin.elapsed().as_secs_f64();
            check_bytes(&frame.payload, bytes);
            Ok(took)
        };
        (0..count).map(round_trip).collect()
    }

    fn messages(&mut self, bytes: usize, count: u64) -> Result<Duration, Cause> {
        let begin = Instant::now();
        self.end.order(LayerOrder { work: LayerWork::Send, bytes, count });
        for _ in 0..count {
            check_bytes(&self.end.frame()?.payload, bytes);
        }
        Ok(begin.elapsed())
    }
}

/// One end of a link, whose descriptor waits.
struct End {
    link: Link,
    /// How long the other end may say nothing; for ever, if it is the one that gives orders.
    patience: Option<Duration>,
}

impl End {
    fn new(link: Link, patience: Option<Duration>) -> io::Result<End> {
        let (socket, _) = link.fds();
        fcntl_setfl(socket, fcntl_getfl(socket)? & !OFlags::NONBLOCK)?;
        set_socket_timeout(socket, Timeout::Recv, patience)?;
        Ok(End { link, patience })
    }

    fn order(&mut self, order: LayerOrder) {
        self.link.send(Frame::new(ORDER, 0, 0, order.to_bytes().to_vec()));
    }

    /// The next frame; what was sent goes first.
    fn frame(&mut self) -> Result<Frame, LinkError> {
        let mut since = None;
        loop {
            match self.link.poll() {
                Some(Event::Frame(frame)) => {
                    // Orders cost no credit.
                    if frame.kind == MESSAGE {
                        self.link.release(frame.cost());
                    }
                    return Ok(frame);
                }
                Some(event) => still_open(event)?,
                None => {
                    let waited = since.get_or_insert_with(Instant::now).elapsed();
                    if self.patience.is_some_and(|patience| waited >= patience) {
                        return Err(LinkError::Silent(waited));
                    }
                    self.turn();
                }
            }
        }
    }

    /// Sends what there is to send, and waits for something to read or, if not all could be sent, for room.
    fn turn(&mut self) {
        self.link.flush(Instant::now());
        if self.link.wants_write() {
            let (socket, _) = self.link.fds();
            // What went wrong is seen by whoever reads or writes next.
            let _ = wait(&mut [PollFd::from_borrowed_fd(socket, PollFlags::IN | PollFlags::OUT)], PATIENCE);
            self.link.fill(Instant::now());
        } else {
            self.link.fill_patiently();
        }
    }
}

/// An error, if the event is the end of the link.
fn still_open(event: Event) -> Result<(), LinkError> {
    match event {
        Event::Closed => Err(LinkError::Ended { in_frame: false }),
        Event::Lost(error) => Err(error),
        Event::Opened(_) | Event::Frame(_) => Ok(()),
    }
}

fn wait(sockets: &mut [PollFd<'_>], limit: Duration) -> io::Result<()> {
    let timeout = Timespec::try_from(limit).map_err(io::Error::other)?;
    poll(sockets, Some(&timeout)).map(|_| ()).map_err(io::Error::from)
}

fn options(encryption: Encryption) -> LinkOptions {
    LinkOptions::inherited().encryption(encryption)
}

/// What the process at the other end does, with the address to dial and whether to encrypt.
pub(super) fn serve(arguments: &[String]) -> io::Result<()> {
    let [address, word] = arguments else { return Err(io::ErrorKind::InvalidInput.into()) };
    let encryption = if word == ENCRYPTED { Encryption::Always } else { Encryption::Never };
    let mut secret = [0; Secret::BYTES];
    Channel::inherited()?.read_exact(&mut secret)?;
    let opening = Opening { peer: PEER, secret: Secret::from_bytes(secret) };
    let address = address.parse().map_err(io::Error::other)?;
    let mut link = Link::dial(&address, &opening, &options(encryption))?;
    // It dials without waiting; when it is open, it can wait.
    loop {
        match link.wait(None) {
            Some(Event::Opened(_)) => break,
            event => event.map_or(Ok(()), still_open).map_err(io::Error::other)?,
        }
    }
    match take_part(End::new(link, None)?) {
        Err(Cause::Link(LinkError::Ended { .. })) => Ok(()),
        ended => ended.map_err(io::Error::other),
    }
}

/// Carries orders out until the link ends.
fn take_part(mut end: End) -> Result<(), Cause> {
    loop {
        let frame = end.frame()?;
        if frame.kind == MESSAGE {
            end.link.send(frame);
            continue;
        }
        let LayerOrder { work, bytes, count } = LayerOrder::from_bytes(&frame.payload)?;
        if work == LayerWork::Send {
            send(&mut end, &Bytes::from(message(bytes)), count)?;
        }
    }
}

fn send(end: &mut End, message: &Bytes, count: u64) -> Result<(), LinkError> {
    for _ in 0..count {
        while end.link.credit_left() == 0 {
            match end.link.poll() {
                Some(event) => still_open(event)?,
                None => end.turn(),
            }
        }
        end.link.send(Frame::new(MESSAGE, 0, 0, message.clone()));
    }
    Ok(())
}
