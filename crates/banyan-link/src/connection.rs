//! The protocol of one link, without sockets and clocks.
//!
//! The driver asks where to receive ([`space`](Connection::space)) and says how much came
//! ([`received`](Connection::received)), asks what to send ([`poll_transmit`](Connection::poll_transmit)) and says how
//! much went ([`sent`](Connection::sent)), keeps the time ([`poll_timeout`](Connection::poll_timeout),
//! [`handle_timeout`](Connection::handle_timeout)) and takes what happened ([`poll_event`](Connection::poll_event)).
//! Memory is bounded by the options whatever the peer sends.

use std::io::IoSlice;
use std::time::{Duration, Instant};

use banyan_ndr::typed::{Read, Scratch, encode_body};
use banyan_ndr::{DecodeError, Format, FormatId, Record};
use bytes::Bytes;
use tracing::debug;

use crate::capabilities::Capabilities;
use crate::cipher::Cipher;
use crate::counters::Counters;
use crate::credit::{ReceiveCredit, SendCredit};
use crate::error::{LinkError, OpeningError, ProtocolError, SendError};
use crate::formats::{Formats, LONGEST_DESCRIPTION};
use crate::frame::{FRAME_ALIGN, Frame, HEADER_BYTES, Header, KIND_AT, Kind, frame_cost};
use crate::input::{Input, Taken};
use crate::link_frame::{FORMAT, FORMAT_PIECE, HELLO, Hello, LinkFrame, is_description};
use crate::liveness::{Due, Liveness};
use crate::opening::{Accepted, Initiator, Opened, Opening, PeerId};
use crate::options::LinkOptions;
use crate::output::{Output, is_for_pool};
use crate::pool::{Overwritten, PeerPool, PoolSpan, Sharing};
use crate::protocol::OtherProtocol;
use crate::slab::Slabs;

/// Bytes of received frames that may wait to be taken; while there are more, nothing is read.
const UNTAKEN_BYTES: usize = 1 << 20;

/// Windows of data that may be queued. A caller that minds [`room`](Connection::room) stays below one.
const QUEUED_WINDOWS: usize = 8;

/// Bytes of control frames that may be queued: a peer that leaves so many unread is as good as gone.
const QUEUED_CONTROL: usize = 16 << 20;

/// What happened on a link, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The peer said hello.
    Opened(PeerInfo),
    /// A frame came.
    Frame(Frame),
    /// The peer said goodbye, or ended after this side did. Nothing follows.
    Closed,
    /// The link is gone. Nothing follows.
    Lost(LinkError),
}

/// What is known of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerInfo {
    /// Who it proved to be: known to those who accepted its connection.
    pub id: Option<PeerId>,
    /// How often it has been started anew, by its own words.
    pub incarnation: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionState {
    Running,
    /// This side has said that it wants to end; the goodbye goes behind all data.
    Closing {
        goodbye_staged: bool,
    },
    Ended,
}

/// One end of a link.
#[derive(Debug)]
pub struct Connection {
    options: LinkOptions,
    state: ConnectionState,
    opening: Option<(Box<Initiator>, Instant)>,
    /// Goes before everything else, as it is.
    prelude: Vec<u8>,
    cipher: Option<Box<Cipher>>,
    input: Input,
    output: Output,
    send_credit: SendCredit,
    receive_credit: ReceiveCredit,
    liveness: Liveness,
    formats: Formats,
    id: Option<PeerId>,
    hello: Option<Hello>,
    /// Pools of memory, where the driver can pass them on.
    sharing: Option<Sharing>,
    opened: Option<PeerInfo>,
    end: Option<Event>,
    counters: Counters,
}

impl Connection {
    /// An end whose peer needs no proof: the other end of an inherited socket or of a pair of pipes.
    ///
    /// # Panics
    /// When the options contradict each other: the window must hold two frames of the longest payload.
    pub fn inherited(options: &LinkOptions, now: Instant) -> Connection {
        options.check();
        let slabs = &options.slabs;
        let mut output = Output::new(slabs.clone());
        output.push_link_frame(&LinkFrame::Hello(Hello::of(options)).encode());
        Connection {
            state: ConnectionState::Running,
            opening: None,
            prelude: Vec::new(),
            cipher: None,
            input: Input::new(slabs.clone()),
            output,
            send_credit: SendCredit::new(),
            receive_credit: ReceiveCredit::new(options.window),
            liveness: Liveness::new(options.heartbeat, now),
            formats: Formats::new(options.formats),
            id: None,
            hello: None,
            sharing: None,
            opened: None,
            end: None,
            counters: Counters::default(),
            options: options.clone(),
        }
    }

    /// The end that dials; with `encrypt` it wants frames encrypted. Frames may be queued at once; they go when the
    /// listener has proved itself.
    pub fn dialing(
        opening: &Opening,
        encrypt: bool,
        options: &LinkOptions,
        now: Instant,
    ) -> Result<Connection, OpeningError> {
        let initiator = Box::new(Initiator::new(opening, encrypt)?);
        let options = LinkOptions { incarnation: opening.peer.incarnation, ..options.clone() };
        let deadline = now + options.opening_time;
        Ok(Connection { opening: Some((initiator, deadline)), ..Connection::inherited(&options, now) })
    }

    /// The end that listened, when a [`Responder`](crate::Responder) has found that the peer is who it says.
    pub fn accepted(accepted: Accepted, options: &LinkOptions, now: Instant) -> Connection {
        let Accepted { peer, cipher } = accepted;
        Connection { id: Some(peer), cipher, ..Connection::inherited(options, now) }
    }

    /// Who the peer proved to be, when this end accepted its connection.
    pub fn peer_id(&self) -> Option<PeerId> {
        self.id
    }

    /// What both ends can do; nothing before the peer has said hello.
    pub fn capabilities(&self) -> Capabilities {
        self.hello.map_or(Capabilities::NONE, |hello| hello.capabilities & self.options.capabilities)
    }

    /// Says in its hello that this end maps pools: its driver passes descriptors. To be called before anything was sent.
    pub(crate) fn share_memory(&mut self) {
        self.sharing = Some(Sharing::default());
        self.options.capabilities = self.options.capabilities | Capabilities::POOLS;
        self.output.clear();
        self.output.push_link_frame(&LinkFrame::Hello(Hello::of(&self.options)).encode());
    }

    /// Where its memory comes from.
    pub(crate) fn slabs(&self) -> &Slabs {
        &self.options.slabs
    }

    /// Whether both ends map pools. Encrypted frames are not to lie anywhere in the clear.
    fn is_sharing_agreed(&self) -> bool {
        self.sharing.is_some() && self.cipher.is_none() && self.capabilities().contains(Capabilities::POOLS)
    }

    /// Whether a descriptor of the peer's pool may come with the next bytes.
    pub(crate) fn expects_pool(&self) -> bool {
        self.sharing.as_ref().is_some_and(Sharing::expects_pool)
    }

    /// The peer's pool came with bytes that are [received](Self::received) next.
    pub(crate) fn pool_came(&mut self, pool: PeerPool) {
        if let Some(Err(error)) = self.sharing.as_mut().map(|sharing| sharing.came(pool)) {
            self.fail(error.into());
        }
    }

    /// Whether this side's pool should be offered before this frame is sent: it will lie there, or the next like it.
    pub(crate) fn wants_pool(&self, frame: &Frame) -> bool {
        let can_offer = || self.sharing.as_ref().is_some_and(Sharing::can_offer) && self.is_sharing_agreed();
        is_for_pool(frame.kind, &frame.payload) && self.state == ConnectionState::Running && can_offer()
    }

    /// Offers this side's pool of so many bytes. `None`: there is none, and never will be.
    pub(crate) fn offer_pool(&mut self, bytes: Option<u64>) {
        if let Some(sharing) = &mut self.sharing {
            sharing.offer(bytes.is_some());
        }
        if let Some(bytes) = bytes {
            self.output.push_link_frame(&LinkFrame::Pool { bytes }.encode());
        }
    }

    /// Whether the peer is ready for the descriptor of this side's pool.
    pub(crate) fn is_pool_wanted(&self) -> bool {
        self.sharing.as_ref().is_some_and(Sharing::is_wanted)
    }

    /// The descriptor of this side's pool goes with the next bytes that are sent.
    pub(crate) fn pass_pool(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            sharing.pass();
            self.output.push_link_frame(&LinkFrame::Passed.encode());
        }
    }

    /// Where received bytes go. Empty when nothing more should be read for now: frames must be taken first, or the link
    /// has ended.
    pub fn space(&mut self) -> &mut [u8] {
        if self.state == ConnectionState::Ended || self.input.block_bytes() >= UNTAKEN_BYTES {
            return &mut [];
        }
        match (&mut self.opening, &mut self.cipher) {
            (Some((initiator, _)), _) => initiator.space(),
            (None, Some(cipher)) => cipher.space(),
            (None, None) => self.input.space(),
        }
    }

    /// So many bytes were put into [`space`](Self::space).
    pub fn received(&mut self, count: usize, now: Instant) {
        self.counters.reads += 1;
        self.counters.bytes_received += count as u64;
        self.liveness.heard(now);
        let result = match (&mut self.opening, &mut self.cipher) {
            (Some((initiator, _)), _) => match initiator.received(count, &self.options.slabs) {
                Ok(None) => Ok(()),
                Ok(Some(opened)) => {
                    self.opened(opened);
                    Ok(())
                }
                Err(error) => Err(LinkError::Opening(error)),
            },
            (None, Some(cipher)) => {
                cipher.advance(count);
                self.open_messages().map_err(LinkError::Protocol)
            }
            (None, None) => {
                self.input.advance(count);
                self.take_frames().map_err(LinkError::Protocol)
            }
        };
        if let Err(error) = result {
            self.fail(error);
        }
    }

    /// The peer will send nothing more.
    pub fn end_of_input(&mut self) {
        let in_frame = !self.input.bytes().is_empty() || self.cipher.as_ref().is_some_and(|cipher| cipher.has_part());
        match self.state {
            // Nobody is there to take anything.
            ConnectionState::Ended => self.output.held.let_go(),
            ConnectionState::Closing { .. } => {
                self.finish(Event::Closed);
                self.output.held.let_go();
            }
            ConnectionState::Running if self.opening.is_some() => self.fail(OpeningError::Refused.into()),
            ConnectionState::Running => self.fail(LinkError::Ended { in_frame }),
        }
    }

    /// The link is lost for a reason that only the driver knows.
    pub fn fail(&mut self, error: LinkError) {
        self.finish(Event::Lost(error));
        self.output.held.let_go();
    }

    /// Nothing that is sent arrives any more; what the peer said before may still be read.
    pub fn end_of_output(&mut self) {
        self.output.clear();
    }

    /// What happened, in order. Take events until there are none before receiving more.
    pub fn poll_event(&mut self) -> Option<Event> {
        if let Some(peer) = self.opened.take() {
            return Some(Event::Opened(peer));
        }
        match self.input.next_frame() {
            Some(Taken::Whole(frame)) => Some(Event::Frame(frame)),
            Some(Taken::Apart(header, place)) => Some(self.take_apart(header, place)),
            None => self.end.take(),
        }
    }

    /// The bytes that go next, in pieces; returns how many.
    pub fn poll_transmit<'a>(&'a mut self, pieces: &mut [IoSlice<'a>]) -> usize {
        self.prepare();
        if let Some((initiator, _)) = &self.opening {
            one_piece(initiator.transmit(), pieces)
        } else if !self.prelude.is_empty() {
            one_piece(&self.prelude, pieces)
        } else if let Some(cipher) = &self.cipher {
            one_piece(cipher.transmit(), pieces)
        } else {
            self.output.pieces(pieces)
        }
    }

    /// So many of them went.
    pub fn sent(&mut self, count: usize, now: Instant) {
        self.counters.writes += 1;
        self.counters.bytes_sent += count as u64;
        self.liveness.sent(now);
        if let Some((initiator, _)) = &mut self.opening {
            initiator.sent(count);
        } else if !self.prelude.is_empty() {
            self.prelude.drain(..count);
        } else if let Some(cipher) = &mut self.cipher {
            cipher.sent(count);
        } else {
            self.output.sent(count);
        }
    }

    /// Whether there is something to send that does not wait for the peer.
    pub fn wants_transmit(&self) -> bool {
        if let Some((initiator, _)) = &self.opening {
            return !initiator.transmit().is_empty();
        }
        let goodbye = self.state == (ConnectionState::Closing { goodbye_staged: false }) && !self.output.has_queued();
        let sealed = self.cipher.as_ref().is_some_and(|cipher| !cipher.transmit().is_empty());
        let about_pools = self.is_report_due() || (self.state != ConnectionState::Ended && self.is_pool_wanted());
        goodbye || sealed || about_pools || !self.prelude.is_empty() || self.output.can_go(&self.send_credit)
    }

    /// Whether so much is ready to be sent that more frames would only wait.
    pub fn has_batch(&self) -> bool {
        self.opening.is_none() && self.output.has_batch()
    }

    /// Counts the peer as lost after another time of silence than until now.
    pub fn set_silence(&mut self, silence: Duration) {
        self.liveness.set_silence(silence);
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match (&self.opening, self.state) {
            (_, ConnectionState::Ended) => None,
            (Some((_, deadline)), _) => Some(*deadline),
            (None, _) => self.liveness.next(),
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.state == ConnectionState::Ended {
            return;
        }
        if let Some((_, deadline)) = &self.opening {
            if now >= *deadline {
                self.fail(OpeningError::TooSlow(self.options.opening_time).into());
            }
            return;
        }
        match self.liveness.due(now) {
            Due::Nothing => {}
            Due::Lost(silent) => self.fail(LinkError::Silent(silent)),
            Due::Beat => {
                // What waits to be sent is a sign of life as good.
                if self.output.is_empty() {
                    let incarnation = self.options.incarnation;
                    self.output.push_link_frame(&LinkFrame::Heartbeat { incarnation }.encode());
                }
                self.liveness.sent(now);
            }
        }
    }

    /// Queues a frame. Data waits here for credit, in order. What is sent after [`close`](Self::close) or after the end
    /// is dropped. A payload that is longer than [`LinkOptions::max_payload`] ends the link ([`LinkError::TooLong`]).
    pub fn send(&mut self, frame: Frame) {
        if self.state != ConnectionState::Running {
            return;
        }
        let (length, limit) = (frame.payload.len(), self.options.max_payload);
        if length > limit {
            return self.fail(LinkError::TooLong { length, limit });
        }
        self.counters.frames_sent += 1;
        self.output.push(frame, &mut self.send_credit);
        self.check_queues();
    }

    /// Bytes of data that may be queued before the sender should stop.
    pub fn credit_left(&self) -> usize {
        let credit = usize::try_from(self.send_credit.left()).unwrap_or(usize::MAX);
        credit.saturating_sub(self.output.data_bytes())
    }

    /// Tells the peer of a format, once.
    pub fn send_format(&mut self, format: &Format) -> Result<(), SendError> {
        if self.formats.is_taught(format.id()) {
            return Ok(());
        }
        let (length, limit) = (format.encoded().len(), LONGEST_DESCRIPTION);
        if length > limit {
            return Err(SendError::LongDescription { length, limit });
        }
        if !self.formats.teach(format.id(), length) {
            return Err(SendError::TooManyFormats(self.options.formats));
        }
        if self.state == ConnectionState::Running {
            self.push_description(format);
        }
        Ok(())
    }

    /// Sends a record, and before the first of its kind the description.
    pub fn send_record<R: Record>(
        &mut self,
        kind: Kind,
        stream: u32,
        sequence: u32,
        record: &R,
    ) -> Result<(), SendError> {
        let mut scratch = Scratch::new();
        let body = encode_body(record, &mut scratch)?;
        let (length, limit) = (body.len(), self.options.max_payload);
        if length > limit {
            return Err(SendError::TooLong { length, limit });
        }
        self.send_format(R::format())?;
        let mut payload = Vec::with_capacity(length);
        body.slices().for_each(|piece| payload.extend_from_slice(piece));
        self.send(Frame { format: Some(R::format().id()), ..Frame::new(kind, stream, sequence, payload) });
        Ok(())
    }

    /// Decodes the record in a frame that came from this peer.
    pub fn decode<'a, R: Record + Read<'a>>(&'a mut self, frame: &'a Frame) -> Result<R, DecodeError> {
        let id = frame.format.ok_or(DecodeError::UnknownFormat(FormatId::from_bytes([0; 16])))?;
        self.formats.decode(id, &frame.payload)
    }

    /// A format that the peer has described.
    pub fn format(&self, id: FormatId) -> Option<&Format> {
        self.formats.format(id)
    }

    /// The user is done with data frames that [cost](Frame::cost) so much: the peer may send as much again.
    pub fn release(&mut self, cost: usize) {
        self.receive_credit.release(cost);
        if self.state != ConnectionState::Ended
            && let Some(total) = self.receive_credit.grant()
        {
            self.push_credit(total);
        }
    }

    /// Says goodbye behind everything that is queued.
    pub fn close(&mut self) {
        if self.state == ConnectionState::Running {
            self.state = ConnectionState::Closing { goodbye_staged: false };
        }
    }

    /// Whether this side has said goodbye, all of it was sent, and the peer has taken what is kept for it in the pool; or the
    /// link has ended.
    pub fn is_finished(&self) -> bool {
        let sealed = self.cipher.as_ref().is_some_and(|cipher| !cipher.transmit().is_empty());
        match self.state {
            ConnectionState::Running => false,
            ConnectionState::Closing { goodbye_staged } => {
                goodbye_staged && self.output.is_empty() && !sealed && !self.output.is_owed()
            }
            ConnectionState::Ended => true,
        }
    }

    /// What was done so far.
    pub fn counters(&self) -> Counters {
        Counters { credit_stalls: self.output.stalls, pool_bytes_sent: self.output.pool_bytes, ..self.counters }
    }

    /// Nothing is to be received or sent for now: gives memory back.
    pub fn settle(&mut self) {
        self.input.settle();
        self.output.settle();
        if let Some(cipher) = &mut self.cipher {
            cipher.settle();
        }
        if self.prelude.is_empty() {
            self.prelude = Vec::new();
        }
    }

    /// Queues a description, in pieces if it is longer than a payload. Nothing else of this queue comes between them.
    fn push_description(&mut self, format: &Format) {
        let mut rest = Bytes::copy_from_slice(format.encoded());
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(self.options.max_payload));
            let kind = if rest.is_empty() { FORMAT } else { FORMAT_PIECE };
            let frame = Frame { format: Some(format.id()), ..Frame::new(kind, 0, 0, piece) };
            self.output.push(frame, &mut self.send_credit);
        }
    }

    fn opened(&mut self, opened: Opened) {
        self.opening = None;
        self.cipher = opened.cipher;
        self.prelude = opened.proof;
    }

    /// Decrypts the messages that have arrived, and takes the frames in them.
    fn open_messages(&mut self) -> Result<(), ProtocolError> {
        let mut at = 0;
        while let Some(cipher) = &mut self.cipher
            && let Some(next) = cipher.open_next(at, &mut self.input)?
        {
            at = next;
            self.take_frames()?;
        }
        if let Some(cipher) = &mut self.cipher {
            cipher.opened(at);
        }
        Ok(())
    }

    /// Takes all whole frames that have arrived. What is wrong does not undo what came before it.
    fn take_frames(&mut self) -> Result<(), ProtocolError> {
        let (mut at, mut for_users) = (0, 0);
        let result = loop {
            match self.take_frame(at) {
                Ok(None) => break Ok(()),
                Ok(Some((size, is_link))) => {
                    at += size;
                    for_users += u64::from(!is_link);
                    // Nothing counts after a goodbye.
                    if self.state == ConnectionState::Ended {
                        break Ok(());
                    }
                }
                Err(error) => break Err(error),
            }
        };
        self.counters.frames_received += for_users;
        match for_users {
            0 => self.input.discard(at),
            _ => self.input.make_block(at),
        }
        result
    }

    /// Checks the frame at `at`; how many bytes it takes and whether it is the link's own, or `None` when it has not arrived.
    fn take_frame(&mut self, at: usize) -> Result<Option<(usize, bool)>, ProtocolError> {
        let arrived = &self.input.bytes()[at..];
        let Some(header) = arrived.first_chunk::<HEADER_BYTES>() else {
            self.input.want(0);
            return Ok(None);
        };
        if self.hello.is_none() && header[KIND_AT] == HELLO.number() {
            // All that is known of the hello of another protocol is where its number stands.
            let Some(number) = arrived[HEADER_BYTES..].first_chunk() else {
                self.input.want(0);
                return Ok(None);
            };
            OtherProtocol::check(u16::from_le_bytes(*number))?;
        }
        let header = Header::decode(header)?;
        let limit = self.options.max_payload as u32;
        if header.length > limit {
            return Err(ProtocolError::TooLong { length: header.length, limit });
        }
        if (header.kind == HELLO) != self.hello.is_none() {
            return Err(ProtocolError::Hello(header.kind.number()));
        }
        if header.is_apart && !header.kind.is_data() {
            return Err(ProtocolError::Reserved { kind: header.kind.number() });
        }
        let size = frame_cost(header.following());
        let Some(frame) = arrived.get(..size) else {
            self.input.want(size);
            return Ok(None);
        };
        let (payload, padding) = frame[HEADER_BYTES..].split_at(header.following());
        debug_assert!(padding.len() < FRAME_ALIGN);
        if padding.iter().any(|byte| *byte != 0) {
            return Err(ProtocolError::Reserved { kind: header.kind.number() });
        }
        if is_description(header.kind) {
            self.formats.take(&header, payload, self.options.max_payload)?;
        } else if header.kind.is_link() {
            let frame = LinkFrame::decode(&header, payload)?;
            self.handle(frame)?;
        } else {
            let place = payload.first_chunk().filter(|_| header.is_apart).map(|place| PoolSpan::decode(*place));
            self.check_frame(&header, place)?;
        }
        Ok(Some((size, header.kind.is_link())))
    }

    /// Checks a frame of a user, whose payload may lie elsewhere.
    fn check_frame(&mut self, header: &Header, place: Option<PoolSpan>) -> Result<(), ProtocolError> {
        if header.kind.is_data() {
            self.receive_credit.receive(frame_cost(header.length as usize))?;
        }
        if let Some(place) = place {
            self.agreed_sharing()?.arrived(place, header.length)?;
        }
        match header.format {
            Some(id) if !self.formats.knows(id) => Err(ProtocolError::UnknownFormat(id)),
            _ => Ok(()),
        }
    }

    fn handle(&mut self, frame: LinkFrame) -> Result<(), ProtocolError> {
        match frame {
            LinkFrame::Hello(hello) => {
                hello.check(&self.options)?;
                self.send_credit.grant(hello.window)?;
                self.liveness.peer_beats_every(hello.heartbeat);
                self.hello = Some(hello);
                if self.is_sharing_agreed() {
                    self.options.slabs.share_with_peers();
                }
                let encrypted = self.cipher.is_some();
                debug!(peer = self.id.map(|id| id.index), encrypted, "a link is open");
                self.opened = Some(PeerInfo { id: self.id, incarnation: hello.incarnation });
                Ok(())
            }
            LinkFrame::Credit { total, taken } => {
                self.output.held.taken(taken)?;
                self.send_credit.grant(total)
            }
            LinkFrame::Heartbeat { incarnation: now } => {
                self.counters.heartbeats += 1;
                match self.hello {
                    Some(Hello { incarnation: before, .. }) if before != now => {
                        Err(ProtocolError::Incarnation { before, now })
                    }
                    _ => Ok(()),
                }
            }
            LinkFrame::Close => {
                self.finish(Event::Closed);
                Ok(())
            }
            LinkFrame::Pool { bytes } => {
                self.agreed_sharing()?.offered(bytes)?;
                self.output.push_link_frame(&LinkFrame::Wanted.encode());
                Ok(())
            }
            LinkFrame::Wanted => self.agreed_sharing()?.wanted(),
            LinkFrame::Passed => {
                if self.agreed_sharing()?.passed()? {
                    self.output.push_link_frame(&LinkFrame::Mapped.encode());
                }
                Ok(())
            }
            LinkFrame::Mapped => {
                self.agreed_sharing()?.mapped()?;
                // A peer may grant as much credit as it likes; what it leaves untaken is this side's memory.
                self.output.pool_window = self.options.window;
                Ok(())
            }
        }
    }

    /// What is known of pools, where both ends have agreed to have some.
    fn agreed_sharing(&mut self) -> Result<&mut Sharing, ProtocolError> {
        let is_agreed = self.is_sharing_agreed();
        self.sharing.as_mut().filter(|_| is_agreed).ok_or(ProtocolError::Pool("this link shares no memory"))
    }

    /// Takes a frame whose payload lies in the peer's pool.
    fn take_apart(&mut self, header: Header, place: PoolSpan) -> Event {
        let length = header.length as usize;
        let mut slab = self.options.slabs.take(length);
        let taken = self.sharing.as_mut().map_or(Err(Overwritten), |sharing| sharing.take(place, &mut slab[..length]));
        match taken {
            Ok(()) => {
                self.counters.pool_bytes_received += length as u64;
                Event::Frame(header.with_payload(self.options.slabs.share(slab).slice(..length)))
            }
            Err(Overwritten) => {
                self.options.slabs.give_back(slab);
                // What came behind it would not follow what came before.
                self.input.forget();
                let error = LinkError::Protocol(ProtocolError::Overwritten);
                self.fail(error.clone());
                self.end = None;
                Event::Lost(error)
            }
        }
    }

    /// Whether the peer should be told what was taken from its pool.
    fn is_report_due(&self) -> bool {
        self.state != ConnectionState::Ended && self.sharing.as_ref().is_some_and(Sharing::is_report_due)
    }

    fn push_credit(&mut self, total: u64) {
        let taken = self.sharing.as_mut().map_or(0, Sharing::report);
        self.output.push_link_frame(&LinkFrame::Credit { total, taken }.encode());
    }

    /// Makes bytes of the frames that may go.
    fn prepare(&mut self) {
        if self.opening.is_some() {
            return;
        }
        if self.is_report_due() {
            let total = self.receive_credit.grant_now();
            self.push_credit(total);
        }
        self.output.stage(&mut self.send_credit);
        if self.state == (ConnectionState::Closing { goodbye_staged: false }) && !self.output.has_queued() {
            self.output.push_link_frame(&LinkFrame::Close.encode());
            self.state = ConnectionState::Closing { goodbye_staged: true };
        }
        if let Some(cipher) = &mut self.cipher
            && let Err(error) = cipher.seal(&mut self.output)
        {
            self.fail(error.into());
        }
    }

    fn check_queues(&mut self) {
        let queues = [
            (self.output.data_bytes(), QUEUED_WINDOWS * self.options.window),
            (self.output.control_bytes(), QUEUED_CONTROL),
        ];
        for (queued, bound) in queues {
            if queued > bound {
                self.fail(LinkError::Overfull { queued, bound });
            }
        }
    }

    fn finish(&mut self, event: Event) {
        if self.state != ConnectionState::Ended {
            let peer = self.id.map(|id| id.index);
            match &event {
                Event::Lost(error) => debug!(peer, %error, "a link is lost"),
                _ => debug!(peer, "a link is closed"),
            }
            self.state = ConnectionState::Ended;
            self.end = Some(event);
            self.opening = None;
            self.output.clear();
        }
    }
}

fn one_piece<'a>(bytes: &'a [u8], pieces: &mut [IoSlice<'a>]) -> usize {
    if bytes.is_empty() || pieces.is_empty() {
        return 0;
    }
    pieces[0] = IoSlice::new(bytes);
    1
}
