//! Two ends of a link in one thread: bytes go from one to the other as the test wants, and time is a number.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use banyan_link::{
    Connection, Event, Frame, Kind, LinkOptions, Opening, OpeningState, PeerId, Responder, Secret, SessionId,
};

#[path = "../support/transmit.rs"]
mod transmit;

pub(crate) use transmit::transmit;

pub(crate) const DATA: Kind = Kind::data(20);
pub(crate) const CONTROL: Kind = Kind::control(200);

/// Two ends, and what is on its way from the end of that number.
pub(crate) struct Pair {
    pub(crate) ends: [Connection; 2],
    pub(crate) wire: [VecDeque<u8>; 2],
    pub(crate) now: Instant,
}

impl Pair {
    pub(crate) fn new(options: &LinkOptions) -> Pair {
        let now = Instant::now();
        Pair::of([Connection::inherited(options, now), Connection::inherited(options, now)], now)
    }

    /// The first end dials the second.
    pub(crate) fn dialled(options: &LinkOptions, encrypt: bool) -> Pair {
        let now = Instant::now();
        let (opening, _) = opening();
        let mut initiator = Connection::dialing(&opening, encrypt, options, now).unwrap();
        let mut responder = Responder::new(false);
        let (accepted, rest) = loop {
            let bytes = transmit(&mut initiator, now);
            if let (OpeningState::Proved(accepted), rest) = hear(&mut responder, &bytes, options, &opening.secret) {
                break (accepted, rest.to_vec());
            }
            let answer = responder.transmit().to_vec();
            responder.sent(answer.len());
            feed(&mut initiator, &answer, now);
        };
        let mut pair = Pair::of([initiator, Connection::accepted(accepted, options, now)], now);
        pair.wire[0].extend(rest);
        pair
    }

    pub(crate) fn of(ends: [Connection; 2], now: Instant) -> Pair {
        Pair { ends, wire: Default::default(), now }
    }

    /// Puts everything on the wire that an end has to send.
    pub(crate) fn transmit(&mut self, from: usize) {
        self.wire[from].extend(transmit(&mut self.ends[from], self.now));
    }

    /// Takes at most so many bytes off the wire.
    pub(crate) fn deliver(&mut self, from: usize, most: usize) {
        let count = most.min(self.wire[from].len());
        let bytes: Vec<u8> = self.wire[from].drain(..count).collect();
        feed(&mut self.ends[1 - from], &bytes, self.now);
        self.ends[1 - from].settle();
    }

    /// Exchanges everything until nothing moves.
    pub(crate) fn settle(&mut self) {
        loop {
            (0..2).for_each(|end| self.transmit(end));
            if self.wire.iter().all(VecDeque::is_empty) {
                return;
            }
            (0..2).for_each(|end| self.deliver(end, usize::MAX));
        }
    }

    pub(crate) fn events(&mut self, end: usize) -> Vec<Event> {
        std::iter::from_fn(|| self.ends[end].poll_event()).collect()
    }

    /// The frames that came to an end; anything but the hello and frames is a failure.
    pub(crate) fn frames(&mut self, end: usize) -> Vec<Frame> {
        let frame = |event| match event {
            Event::Opened(_) => None,
            Event::Frame(frame) => Some(frame),
            other => panic!("{other:?}"),
        };
        self.events(end).into_iter().filter_map(frame).collect()
    }

    /// Time passes; both ends notice.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
        let now = self.now;
        self.ends.iter_mut().for_each(|end| end.handle_timeout(now));
    }
}

pub(crate) fn opening() -> (Opening, PeerId) {
    let peer = PeerId { session: SessionId([7; 16]), index: 3, incarnation: 1 };
    (Opening { peer, secret: Secret::from_bytes([9; 32]) }, peer)
}

/// Feeds bytes to an end as fast as it takes them; drops what an end that takes nothing more does not take.
pub(crate) fn feed(end: &mut Connection, mut bytes: &[u8], now: Instant) {
    while !bytes.is_empty() {
        let space = end.space();
        let count = space.len().min(bytes.len());
        if count == 0 {
            return;
        }
        space[..count].copy_from_slice(&bytes[..count]);
        end.received(count, now);
        bytes = &bytes[count..];
    }
}

/// Feeds bytes to a responder, and returns those that it leaves for the link; panics when it refuses.
pub(crate) fn hear<'b>(
    responder: &mut Responder,
    mut bytes: &'b [u8],
    options: &LinkOptions,
    secret: &Secret,
) -> (OpeningState, &'b [u8]) {
    loop {
        let space = responder.space();
        let count = space.len().min(bytes.len());
        space[..count].copy_from_slice(&bytes[..count]);
        bytes = &bytes[count..];
        let step = responder.received(count, &options.slabs, &mut |_| Some(secret.clone())).unwrap();
        if matches!(step, OpeningState::Proved(_)) || bytes.is_empty() {
            return (step, bytes);
        }
    }
}

pub(crate) fn payload(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}
