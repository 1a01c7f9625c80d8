//! The driver: a [`Connection`] on a socket or a pair of pipes.
//!
//! A process with many links waits for their descriptors with a [`Poller`](crate::Poller): when one is readable it calls
//! [`fill`](Link::fill) and takes events until there are none; after sending it calls [`flush`](Link::flush) once for
//! all frames, and waits for room to write while [`wants_write`](Link::wants_write). A process with one link calls
//! [`wait`](Link::wait), which does all that. Errors are events too: they come after the frames that came before them.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_ndr::typed::Read;
use banyan_ndr::{DecodeError, Format, FormatId, Record};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tracing::debug;

use crate::acknowledged::unacknowledged_for;
use crate::address::Address;
use crate::capabilities::Capabilities;
use crate::connection::{Connection, Event};
use crate::counters::Counters;
use crate::error::{LinkError, ProtocolError, SendError};
use crate::frame::{Frame, Kind};
use crate::opening::{Accepted, Opening, PeerId};
use crate::options::{Encryption, LinkOptions};
use crate::output::PIECES;
use crate::patience::Patience;
use crate::pool::{MapError, OwnPool, PeerPool, has_room_for_pools};
use crate::transport::{HANDED, Transport};

/// Bytes read in one [`fill`](Link::fill) before other links get their turn.
const FILL_BYTES: usize = 1 << 20;

/// A listener on a Unix socket whose queue is full is tried again after this time, then after twice that, …
const RETRY_FIRST: Duration = Duration::from_millis(1);
/// … up to this one.
const RETRY_LONGEST: Duration = Duration::from_millis(64);

/// One end of a link.
#[derive(Debug)]
pub struct Link {
    transport: Transport,
    connection: Connection,
    /// Set while the listener's queue is full.
    retry: Option<Retry>,
    /// Whether the system took less than it was given: not asked again before [`flush`](Self::flush).
    is_blocked: bool,
    /// The pool whose descriptor goes with the next bytes.
    passing: Option<OwnPool>,
    /// Other descriptors that do, and those that came.
    handing_over: Option<Handing>,
    expected: Expected,
    patience: Patience,
}

/// Descriptors that were [handed over](Link::hand_over) together.
pub type Handed = [OwnedFd; HANDED];

/// Descriptors that are to be handed over together, some of them to others, too.
pub type Handing = [Arc<OwnedFd>; HANDED];

/// Whether the peer may hand over descriptors.
#[derive(Debug)]
enum Expected {
    /// Whatever comes is closed by the system.
    Nothing,
    Handed,
    Came(Handed),
}

#[derive(Debug)]
struct Retry {
    address: Address,
    at: Instant,
    pause: Duration,
}

impl Link {
    /// An end of a socket pair that a process got from its parent or gave to its child. The descriptor is the proof:
    /// there is no handshake, and frames may be sent at once.
    pub fn inherited(socket: OwnedFd, options: &LinkOptions) -> Link {
        Link::new(Transport::Unix(socket), Connection::inherited(options, Instant::now()))
    }

    /// Two descriptors instead of one: the standard input and output of a process that runs a remote shell, or that a
    /// remote shell runs. As with [`inherited`](Self::inherited), the descriptors are the proof.
    pub fn over_pipes(read: OwnedFd, write: OwnedFd, options: &LinkOptions) -> io::Result<Link> {
        let transport = Transport::pipes(read, write)?;
        Ok(Link::new(transport, Connection::inherited(options, Instant::now())))
    }

    /// Starts to connect to a [`Listener`](crate::Listener), and does not wait for it. Frames may be queued at once.
    pub fn dial(address: &Address, opening: &Opening, options: &LinkOptions) -> io::Result<Link> {
        let now = Instant::now();
        let encrypt = encrypts(options, address);
        let connection = Connection::dialing(opening, encrypt, options, now).map_err(io::Error::other)?;
        debug!(%address, encrypt, "connects");
        let socket = Transport::socket(address)?;
        let started = Transport::connect(&socket, address)?;
        let mut link = Link::new(Transport::of(address, socket), connection);
        if !started {
            link.retry = Some(Retry { address: address.clone(), at: now + RETRY_FIRST, pause: RETRY_FIRST });
        }
        Ok(link)
    }

    /// As [`dial`](Self::dial), over a socket that is carried to a [`Listener`](crate::Listener) of another host by someone
    /// else: it is connected, does not block, and is treated as a TCP connection is, whatever kind it is of.
    pub fn open_over(socket: OwnedFd, opening: &Opening, options: &LinkOptions) -> io::Result<Link> {
        let encrypt = options.encryption != Encryption::Never;
        let connection = Connection::dialing(opening, encrypt, options, Instant::now()).map_err(io::Error::other)?;
        Ok(Link::new(Transport::Tcp(socket), connection))
    }

    /// The end that a listener has let in.
    pub(crate) fn accepted(transport: Transport, accepted: Accepted, options: &LinkOptions, now: Instant) -> Link {
        Link::new(transport, Connection::accepted(accepted, options, now))
    }

    fn new(transport: Transport, mut connection: Connection) -> Link {
        if matches!(&transport, Transport::Unix(_)) && has_room_for_pools() {
            connection.share_memory();
        }
        let (handing_over, expected, patience) = (None, Expected::Nothing, Patience::default());
        Link { transport, connection, retry: None, is_blocked: false, passing: None, handing_over, expected, patience }
    }

    /// Who the peer proved to be, when it came through a listener.
    pub fn peer_id(&self) -> Option<PeerId> {
        self.connection.peer_id()
    }

    /// What both sides can do; nothing before the peer has said hello.
    pub fn capabilities(&self) -> Capabilities {
        self.connection.capabilities()
    }

    /// The descriptors to read from and to write to. They are the same but for [`over_pipes`](Self::over_pipes).
    pub fn fds(&self) -> (BorrowedFd<'_>, BorrowedFd<'_>) {
        self.transport.fds()
    }

    /// Whether to wait for room to write, and [`flush`](Self::flush) then.
    pub fn wants_write(&self) -> bool {
        self.retry.is_none() && self.connection.wants_transmit()
    }

    /// Queues a frame. Data waits here for credit, in order; control frames overtake it. Frames go with the next
    /// [`flush`](Self::flush) or [`wait`](Self::wait), or when a batch is full. What is sent after
    /// [`close`](Self::close) or after the end is dropped. A payload that is longer than [`LinkOptions::max_payload`] ends the
    /// link: the peer would not take it, and the event says so ([`LinkError::TooLong`]).
    pub fn send(&mut self, frame: Frame) {
        if self.connection.wants_pool(&frame) {
            self.offer_pool();
        }
        self.connection.send(frame);
        // What is still in the cache is cheap to send, and the peer can begin.
        if !self.is_blocked && self.connection.has_batch() {
            self.flush(Instant::now());
        }
    }

    /// Hands descriptors over to the peer, with or before whatever is sent next. It gets them if it
    /// [expects](Self::expect_descriptors) some by then, and has room for them. False where there is no way to: the peer must
    /// be a process of this host and this user.
    pub fn hand_over(&mut self, descriptors: Handing) -> bool {
        let can = self.can_hand_over();
        self.handing_over = can.then_some(descriptors);
        can
    }

    /// Whether descriptors can be [handed over](Self::hand_over).
    pub fn can_hand_over(&self) -> bool {
        self.transport.passes_descriptors()
    }

    /// The peer may hand over descriptors, once.
    pub fn expect_descriptors(&mut self) {
        self.expected = Expected::Handed;
    }

    /// Descriptors that the peer has handed over, if they came: with or before what it sent after them. No more are expected.
    pub fn take_descriptors(&mut self) -> Option<Handed> {
        match std::mem::replace(&mut self.expected, Expected::Nothing) {
            Expected::Came(descriptors) => Some(descriptors),
            Expected::Nothing | Expected::Handed => None,
        }
    }

    /// Bytes of data that may still be queued before the sender should stop: the peer's credit, less what waits
    /// already. At 0 the sender stops; it grows when frames of the peer arrive. Who does not stop loses the link in the
    /// end ([`LinkError::Overfull`]).
    pub fn credit_left(&self) -> usize {
        self.connection.credit_left()
    }

    /// Sends a record, and before the first of its format the description.
    pub fn send_record<R: Record>(
        &mut self,
        kind: Kind,
        stream: u32,
        sequence: u32,
        record: &R,
    ) -> Result<(), SendError> {
        self.connection.send_record(kind, stream, sequence, record)
    }

    /// Tells the peer of a format, once, so that frames of that format can be [sent](Self::send).
    pub fn send_format(&mut self, format: &Format) -> Result<(), SendError> {
        self.connection.send_format(format)
    }

    /// Sends a frame on that came from another link, and before the first of its format the description. The payload is
    /// not copied.
    pub fn forward(&mut self, frame: &Frame, from: &Link) -> Result<(), SendError> {
        if let Some(id) = frame.format {
            let format = from.format(id).ok_or(SendError::UnknownFormat(id))?;
            self.connection.send_format(format)?;
        }
        self.send(frame.clone());
        Ok(())
    }

    /// Decodes the record in a frame that came over this link. The value may borrow from the frame.
    pub fn decode<'a, R: Record + Read<'a>>(&'a mut self, frame: &'a Frame) -> Result<R, DecodeError> {
        self.connection.decode(frame)
    }

    /// A format that the peer has described.
    pub fn format(&self, id: FormatId) -> Option<&Format> {
        self.connection.format(id)
    }

    /// Reads what has arrived, but no more than a fair share. Take events until there are none afterwards.
    pub fn fill(&mut self, now: Instant) {
        let mut total = 0;
        while self.retry.is_none() && total < FILL_BYTES {
            let wanted = self.connection.space().len();
            if wanted == 0 {
                break;
            }
            let received = self.receive(false);
            match received {
                Err(Errno::INTR) => {}
                _ => total += self.received(received, now),
            }
            // Less than there was space for: there is no more.
            if received.is_ok_and(|count| count < wanted) || received.is_err_and(|error| error != Errno::INTR) {
                break;
            }
        }
        self.connection.settle();
    }

    /// Waits for bytes as far as the descriptor was made to, and reads once; the time then. A signal or a
    /// [time limit](rustix::net::sockopt::set_socket_timeout) of the socket ends it, too. Take events until there are none
    /// afterwards.
    pub fn fill_patiently(&mut self) -> Instant {
        self.read_patiently().1
    }

    /// As [`fill_patiently`](Self::fill_patiently), with what the system said.
    fn read_patiently(&mut self) -> (Result<usize, Errno>, Instant) {
        let received = if self.connection.space().is_empty() { Err(Errno::AGAIN) } else { self.receive(true) };
        let now = Instant::now();
        self.received(received, now);
        self.connection.settle();
        (received, now)
    }

    /// Reads once, with `waits` as far as the descriptor was made to wait.
    fn receive(&mut self, waits: bool) -> Result<usize, Errno> {
        let expects_any = self.connection.expects_pool() || matches!(self.expected, Expected::Handed);
        let space = self.connection.space();
        if !expects_any {
            return if waits { self.transport.receive_patiently(space) } else { self.transport.receive(space) };
        }
        let (count, mut descriptors) = self.transport.receive_with_descriptors(space, waits)?;
        if let (Expected::Handed | Expected::Came(_), Some(pools)) =
            (&self.expected, descriptors.len().checked_sub(HANDED))
            && let Ok(handed) = Handed::try_from(descriptors.split_off(pools))
        {
            self.expected = Expected::Came(handed);
        }
        if self.connection.expects_pool() {
            descriptors.into_iter().for_each(|descriptor| self.map_pool(descriptor));
        }
        Ok(count)
    }

    /// Maps the pool that a peer has passed. Where the system refuses, the offer comes without one and nothing is lost.
    fn map_pool(&mut self, descriptor: OwnedFd) {
        match PeerPool::open(descriptor) {
            Ok(pool) => self.connection.pool_came(pool),
            Err(MapError::Unfit(why)) => self.connection.fail(ProtocolError::Pool(why).into()),
            Err(MapError::System(_)) => {}
        }
    }

    /// Offers the peer the pool of this process. Where there is none, everything goes over the socket.
    fn offer_pool(&mut self) {
        let pool = self.connection.slabs().pool().filter(|_| self.transport.passes_descriptors());
        self.connection.offer_pool(pool.map(|pool| pool.size()));
    }

    /// Passes the pool of this process to a peer that is ready for its descriptor.
    fn pass_pool(&mut self) {
        self.passing = self.connection.slabs().pool();
        self.connection.pass_pool();
    }

    /// Takes note of what a read gave; returns how many bytes that was.
    fn received(&mut self, received: Result<usize, Errno>, now: Instant) -> usize {
        match received {
            Ok(0) | Err(Errno::CONNRESET) => self.connection.end_of_input(),
            Ok(count) => {
                self.connection.received(count, now);
                return count;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => self.connection.fail(LinkError::system(self.doing("receiving"), error)),
        }
        0
    }

    /// Sends what may be sent, as far as the system takes it.
    pub fn flush(&mut self, now: Instant) {
        self.is_blocked = false;
        if self.connection.is_pool_wanted() {
            self.pass_pool();
        }
        while self.retry.is_none() {
            let mut pieces = [IoSlice::new(&[]); PIECES];
            let count = self.connection.poll_transmit(&mut pieces);
            if count == 0 {
                break;
            }
            let offered: usize = pieces[..count].iter().map(|piece| piece.len()).sum();
            match transmit(&self.transport, self.passing.as_ref(), self.handing_over.as_ref(), &pieces[..count]) {
                Ok(count) => {
                    (self.passing, self.handing_over) = (None, None);
                    self.connection.sent(count, now);
                    if count < offered {
                        // It is full: to ask again would be in vain.
                        self.is_blocked = true;
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.is_blocked = true;
                    break;
                }
                // Too many descriptors are under way, say: the peer finds none, and everything is sent.
                Err(error) if self.has_descriptors() && !matches!(error, Errno::PIPE | Errno::CONNRESET) => {
                    (self.passing, self.handing_over) = (None, None);
                }
                // The peer may have said goodbye before it went: that is still to be read.
                Err(Errno::PIPE | Errno::CONNRESET) => {
                    self.connection.end_of_output();
                    if !self.transport.ends_together() {
                        self.fill(now);
                        self.connection.end_of_input();
                    }
                    break;
                }
                Err(error) => {
                    self.connection.fail(LinkError::system(self.doing("sending"), error));
                    break;
                }
            }
        }
        self.connection.settle();
    }

    /// Whether descriptors go with the next bytes.
    fn has_descriptors(&self) -> bool {
        self.passing.is_some() || self.handing_over.is_some()
    }

    /// What happened, in order.
    pub fn poll(&mut self) -> Option<Event> {
        self.connection.poll_event()
    }

    /// The user is done with data frames that [cost](Frame::cost) so much: the peer may send as much again. Grants are
    /// collected and go with a later [`flush`](Self::flush).
    pub fn release(&mut self, cost: usize) {
        self.connection.release(cost);
    }

    /// From now on counts the peer as lost after this much silence, where the link has heartbeats: for a side that learns
    /// only over the link itself how patient to be. A peer that has not spoken yet may take its time until it does.
    pub fn set_silence(&mut self, silence: Duration) {
        self.connection.set_silence(silence);
    }

    /// For how long the other host has not acknowledged what was sent to it, if it was sent again in vain: over TCP the
    /// system knows when a cable is cut, also where no signs of life are given.
    pub fn unacknowledged_for(&self) -> Option<Duration> {
        unacknowledged_for(self.transport.fds().1)
    }

    /// When [`tick`](Self::tick) has something to do.
    pub fn timeout(&self) -> Option<Instant> {
        let retry = self.retry.as_ref().map(|retry| retry.at);
        retry.into_iter().chain(self.connection.poll_timeout()).min()
    }

    /// Time has passed: gives a sign of life, or finds that the peer is gone. What it has to say goes with the next
    /// [`flush`](Self::flush).
    pub fn tick(&mut self, now: Instant) {
        if let Some(retry) = &mut self.retry
            && now >= retry.at
            && let Transport::Unix(socket) | Transport::Tcp(socket) = &self.transport
        {
            match Transport::connect(socket, &retry.address) {
                Ok(true) => self.retry = None,
                Ok(false) => {
                    retry.pause = RETRY_LONGEST.min(2 * retry.pause);
                    retry.at = now + retry.pause;
                }
                Err(error) => self.connection.fail(LinkError::system("connecting", error)),
            }
        }
        self.connection.handle_timeout(now);
    }

    /// Sends what is queued and waits for the next event; `None` when the deadline passed, a signal came, or there is
    /// [`credit_left`](Self::credit_left) again where there was none. For a process with one link. Nothing is sent while there are
    /// events left, so that the answers to many frames go together; [`flush`](Self::flush) before computing for long.
    pub fn wait(&mut self, deadline: Option<Instant>) -> Option<Event> {
        if let Some(event) = self.poll() {
            return Some(event);
        }
        let start = Instant::now();
        let mut now = start;
        let yield_until = self.patience.yield_until(start);
        let had_credit = self.credit_left() > 0;
        loop {
            self.tick(now);
            self.flush(now);
            let yields = yield_until.is_some_and(|end| now < end);
            if yields || deadline.is_some() || self.timeout().is_some() || self.wants_write() {
                self.fill(now);
            } else {
                // Nothing but bytes can end this wait: reading is all there is to ask the system for.
                match self.read_patiently() {
                    (Err(Errno::INTR), _) => return None,
                    (_, then) => now = then,
                }
            }
            if let Some(event) = self.poll() {
                if now > start {
                    self.patience.waited(now - start);
                }
                return Some(event);
            }
            if deadline.is_some_and(|deadline| now >= deadline) || (!had_credit && self.credit_left() > 0) {
                self.patience.waited(now - start);
                return None;
            }
            if yields {
                std::thread::yield_now();
            } else if !self.sleep(now, deadline) {
                return None;
            }
            now = Instant::now();
        }
    }

    /// Says goodbye behind everything that is queued. The peer gets [`Event::Closed`]; so does this side when the peer
    /// has ended, too. Flush until [`is_finished`](Self::is_finished) before dropping the link.
    pub fn close(&mut self) {
        self.connection.close();
    }

    /// Whether the goodbye was sent and the peer has taken all long payloads before it, or is gone; or the link has ended. A
    /// link that is dropped before that may take them from the peer.
    pub fn is_finished(&self) -> bool {
        self.connection.is_finished()
    }

    /// What was done so far.
    pub fn counters(&self) -> Counters {
        self.connection.counters()
    }

    /// Sleeps until the descriptor is ready or time has come; false when a signal ended it.
    fn sleep(&mut self, now: Instant, deadline: Option<Instant>) -> bool {
        let until = deadline.into_iter().chain(self.timeout()).min();
        let timeout = until.map(|until| until.saturating_duration_since(now));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let wants_write = self.wants_write();
        let (read, write) = self.transport.fds();
        let write_flags = if wants_write { PollFlags::OUT } else { PollFlags::empty() };
        let result = if self.transport.ends_together() {
            poll(&mut [PollFd::from_borrowed_fd(read, PollFlags::IN | write_flags)], timeout.as_ref())
        } else {
            let fds =
                &mut [PollFd::from_borrowed_fd(read, PollFlags::IN), PollFd::from_borrowed_fd(write, write_flags)];
            poll(fds, timeout.as_ref())
        };
        match result {
            Ok(_) => true,
            Err(Errno::INTR) => false,
            Err(error) => {
                self.connection.fail(LinkError::system("waiting", error));
                true
            }
        }
    }

    /// Before the first byte came, what fails is the connection.
    fn doing(&self, otherwise: &'static str) -> &'static str {
        if self.connection.counters().bytes_received == 0 { "connecting" } else { otherwise }
    }
}

/// The descriptor to read from.
impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fds().0
    }
}

/// Gives bytes to the system, with the descriptors that go with them: a pool's first.
fn transmit(
    transport: &Transport,
    pool: Option<&OwnPool>,
    handing: Option<&Handing>,
    pieces: &[IoSlice<'_>],
) -> Result<usize, Errno> {
    if pool.is_none() && handing.is_none() {
        return transport.send(pieces);
    }
    let handed = handing.into_iter().flatten().map(|descriptor| descriptor.as_fd());
    let descriptors: Vec<BorrowedFd<'_>> = pool.into_iter().map(OwnPool::fd).chain(handed).collect();
    transport.send_with_descriptors(pieces, &descriptors)
}

/// Whether this side wants frames to and from an address encrypted.
pub(crate) fn encrypts(options: &LinkOptions, address: &Address) -> bool {
    match options.encryption {
        Encryption::Always => true,
        Encryption::Never => false,
        Encryption::BetweenHosts => matches!(address, Address::Tcp(_)),
    }
}
