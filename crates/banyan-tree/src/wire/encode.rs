//! From messages to frames.

use std::collections::HashMap;
use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_link::{Address, Arena, Frame, Kind};
use banyan_reduce::Bodies;
use bytes::Bytes;

use crate::ids::{NodeId, StreamId, WaveNumber};
use crate::message::{Ancestor, Attach, Chosen, Message, Opening, Packet, Scatter};
use crate::run::Run;
use crate::stream_options::Direction;

use super::book::{AddressBook, NODES};
use super::sets::MemberSets;
use super::{
    ACKNOWLEDGE, ADDRESSES, AGAIN, ANCESTRY, APART, ATTACH, BEGIN, BODIES, BODY_ALIGN, CERTAIN, CHOSEN, CLOSE, CONFIRM,
    COPIED_BODIES, COUNT, COUNTED, ENDED, EXAMINE, FAILED, FIELD_MISSING, FRESH, GAP, GONE, JOINS_HEARD, LISTED,
    MEMBERS, NEW, OPEN, OVER, OVERDUE, PARTIAL, PARTICIPATE, PLACED, RECEIVED, RECORD, REFUSE, RESEND, RUN, RUN_WAVES,
    SCATTER, SHORTEST_PAYLOAD, SIZES, SKIPPED, SUCCEEDED, TAGGED, TAKEN, UNCOMBINED, URGENT, VIOLATED,
    WANT_ACKNOWLEDGEMENT, WANT_RECEIPT, WELCOME, WITHDRAW, YIELDS, addresses, clock, opening, pieces, structure,
};

/// Bytes of the numbers before the bodies of a run, and before a record; a multiple of [`BODY_ALIGN`].
const HEAD_BYTES: usize = 16;

/// Makes the frames of what is sent on one link.
#[derive(Debug)]
pub(crate) struct Encoder {
    max_payload: usize,
    /// Waves of a run whose sizes fit into one frame together with bodies that are copied.
    max_waves: u32,
    /// What the peer knows by number.
    sets: MemberSets,
    /// Which addresses the peer was told.
    told: HashMap<NodeId, Arc<[Address]>>,
    arena: Arena,
}

impl Encoder {
    /// For a new link that takes payloads of up to `max_payload` bytes.
    ///
    /// # Panics
    /// If these are fewer than [`SHORTEST_PAYLOAD`].
    pub(crate) fn new(max_payload: usize) -> Encoder {
        assert!(
            max_payload >= SHORTEST_PAYLOAD,
            "payloads of {max_payload} bytes are too short for messages of the tree; {SHORTEST_PAYLOAD} are needed"
        );
        let sizes = max_payload - COPIED_BODIES - HEAD_BYTES - BODY_ALIGN;
        let max_waves = u32::try_from(sizes / size_of::<u32>()).map_or(RUN_WAVES, |waves| waves.min(RUN_WAVES));
        let (sets, told, arena) = (MemberSets::default(), HashMap::new(), Arena::new(Arena::FEW));
        Encoder { max_payload, max_waves, sets, told, arena }
    }

    /// Appends the frames of a message, and before them what the peer needs to understand it.
    pub(crate) fn encode(&mut self, message: &Message, book: &AddressBook, out: &mut Vec<Frame>) {
        match message {
            Message::Run(run) => self.run(run, out),
            Message::Packet { stream, sequence, packet } => self.packet(*stream, *sequence, packet, out),
            Message::Acknowledge { stream, until } => out.push(numbered(ACKNOWLEDGE, *stream, until.0)),
            Message::Received { stream, until } => out.push(numbered(RECEIVED, *stream, *until)),
            _ => self.encode_rare(message, book, out),
        }
    }

    /// What is not said for every wave: its variables would lie between those of what is, on a stack that is cold.
    #[cold]
    fn encode_rare(&mut self, message: &Message, book: &AddressBook, out: &mut Vec<Frame>) {
        self.tell_addresses(message, book, out);
        match message {
            Message::Run(_) | Message::Packet { .. } | Message::Acknowledge { .. } | Message::Received { .. } => {
                debug_assert!(false, "is encoded at once");
            }
            Message::Attach(attach) => self.attach(attach, out),
            Message::Welcome(ancestry) => self.push(frame(WELCOME, 0, 0), structure::ancestry(ancestry), out),
            Message::Refuse(candidates) => self.push(frame(REFUSE, 0, 0), structure::candidates(candidates), out),
            Message::Ancestry(ancestry) => self.push(frame(ANCESTRY, 0, 0), structure::ancestry(ancestry), out),
            Message::Succeeded(succession) => {
                let frame = frame(SUCCEEDED, succession.member.0, succession.life);
                self.push(frame, structure::free_waves(&succession.free), out);
            }
            Message::Placed { places, resumes, is_new } => {
                let payload = structure::places_and_resumes(places.len(), &[places], resumes);
                let flags = if *is_new { NEW } else { 0 };
                self.push(Frame { flags, ..frame(PLACED, 0, 0) }, payload, out);
            }
            Message::Gone(gone) => {
                let flags = if gone.is_certain { CERTAIN } else { 0 };
                let frame = Frame { flags, ..frame(GONE, gone.node.0, gone.epoch.0) };
                self.push(frame, structure::resumes(&gone.resumes), out);
            }
            Message::Ended { node, members } => {
                let set = self.set(members, out);
                out.push(frame(ENDED, node.0, set));
            }
            Message::Participate { stream, next } => out.push(numbered(PARTICIPATE, *stream, next.0)),
            Message::Withdraw(stream) => out.push(frame(WITHDRAW, stream.0, 0)),
            Message::Again(stream) => out.push(frame(AGAIN, stream.0, 0)),
            Message::WantAcknowledgement(stream) => out.push(frame(WANT_ACKNOWLEDGEMENT, stream.0, 0)),
            Message::WantReceipt(stream) => out.push(frame(WANT_RECEIPT, stream.0, 0)),
            Message::Begin { stream, next } => out.push(numbered(BEGIN, *stream, next.0)),
            Message::Listed(opening) => {
                let set = self.set(&opening.members, out);
                let mut payload = Vec::new();
                opening::push(&mut payload, &opening.options);
                self.push(frame(LISTED, opening.stream.0, set), payload, out);
            }
            Message::Resend { stream, from } => out.push(numbered(RESEND, *stream, *from)),
            Message::Skipped { stream, until } => out.push(numbered(SKIPPED, *stream, *until)),
            Message::Gap { stream, from, until } => {
                let payload = [from.to_le_bytes(), until.to_le_bytes()].concat();
                self.push(frame(GAP, stream.0, 0), payload, out);
            }
            Message::JoinsHeard(joins) => out.push(frame(JOINS_HEARD, 0, *joins)),
            Message::Count(question) => out.push(frame(COUNT, 0, *question)),
            Message::Counted { question, node, figures } => {
                let payload: Vec<u8> = figures.to_numbers().into_iter().flat_map(u64::to_le_bytes).collect();
                self.push(frame(COUNTED, node.0, *question), payload, out);
            }
            Message::ClockAsked { .. }
            | Message::ClockTold(_)
            | Message::CountClocks(_)
            | Message::ClockCounted { .. } => out.extend(clock::frame_of(message)),
            Message::Uncombined { node, stream, direction, wave, cause } => {
                let is_down = u8::from(*direction == Direction::Down);
                let payload = [&wave.0.to_le_bytes()[..], &[is_down], cause.as_bytes()].concat();
                self.push(frame(UNCOMBINED, stream.0, node.0), payload, out);
            }
            Message::Violated { node, child, cause } => {
                self.push(frame(VIOLATED, node.0, child.0), cause.as_bytes().to_vec(), out);
            }
            Message::FieldMissing { stream, field, members } => {
                let set = self.set(members, out);
                self.push(frame(FIELD_MISSING, stream.0, set), field.as_bytes().to_vec(), out);
            }
            Message::Overdue { stream, wave, members } => {
                let set = self.set(members, out);
                self.push(frame(OVERDUE, stream.0, set), wave.0.to_le_bytes().to_vec(), out);
            }
            Message::Examine { stream, wave } => out.push(numbered(EXAMINE, *stream, wave.0)),
            Message::Confirm { stream, until } => {
                self.push(frame(CONFIRM, stream.0, 0), structure::confirmations(until), out);
            }
            Message::Taken { stream, bytes } => out.push(numbered(TAKEN, *stream, *bytes)),
        }
    }

    fn attach(&self, attach: &Attach, out: &mut Vec<Frame>) {
        let Attach { place, is_urgent, is_new, below, resumes } = attach;
        let flags = if *is_urgent { URGENT } else { 0 } | if *is_new { NEW } else { 0 };
        let payload = structure::places_and_resumes(below.len(), &[&[*place], below], resumes);
        self.push(Frame { flags, ..frame(ATTACH, 0, 0) }, payload, out);
    }

    fn packet(&mut self, stream: StreamId, sequence: u64, packet: &Packet, out: &mut Vec<Frame>) {
        match packet {
            Packet::Record { tag, format, body, is_partial } => {
                let flags = if *is_partial { PARTIAL } else { 0 };
                let frame = Frame { flags, format: Some(*format), ..frame(RECORD, stream.0, *tag) };
                self.record(frame, sequence, 0, body, out);
            }
            _ => self.packet_rare(stream, sequence, packet, out),
        }
    }

    fn record(&mut self, frame: Frame, sequence: u64, set: u32, body: &Bytes, out: &mut Vec<Frame>) {
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&sequence.to_le_bytes());
        head[8..12].copy_from_slice(&set.to_le_bytes());
        self.push_with_bodies(frame, &head, body, out);
    }

    #[cold]
    fn packet_rare(&mut self, stream: StreamId, sequence: u64, packet: &Packet, out: &mut Vec<Frame>) {
        match packet {
            Packet::Record { .. } => debug_assert!(false, "is encoded at once"),
            Packet::Open(opening) => self.open(stream, sequence, opening, out),
            Packet::Close(closed) => {
                let payload = Bytes::copy_from_slice(&sequence.to_le_bytes());
                out.push(Frame { payload, ..frame(CLOSE, stream.0, closed.0) });
            }
            Packet::Over => out.push(numbered(OVER, stream, sequence)),
            Packet::Scatter(scatter) => self.scatter(stream, sequence, scatter, out),
            Packet::Failed { tag, cause } => {
                let payload = [&sequence.to_le_bytes()[..], cause.as_bytes()].concat();
                self.push(frame(FAILED, stream.0, *tag), payload, out);
            }
            Packet::Chosen(chosen) => self.chosen(stream, sequence, chosen, out),
        }
    }

    fn chosen(&mut self, stream: StreamId, sequence: u64, chosen: &Chosen, out: &mut Vec<Frame>) {
        let set = self.set(&chosen.members, out);
        match &chosen.content {
            Packet::Record { tag, format, body, is_partial } => {
                let flags = CHOSEN | if *is_partial { PARTIAL } else { 0 };
                let frame = Frame { flags, format: Some(*format), ..frame(RECORD, stream.0, *tag) };
                self.record(frame, sequence, set, body, out);
            }
            Packet::Failed { tag, cause } => {
                let payload = [&sequence.to_le_bytes()[..], &set.to_le_bytes(), cause.as_bytes()].concat();
                self.push(Frame { flags: CHOSEN, ..frame(FAILED, stream.0, *tag) }, payload, out);
            }
            _ => debug_assert!(false, "is for all members"),
        }
    }

    fn open(&mut self, stream: StreamId, sequence: u64, opening: &Opening, out: &mut Vec<Frame>) {
        let set = self.set(&opening.members, out);
        let mut payload = Vec::new();
        payload.extend_from_slice(&sequence.to_le_bytes());
        payload.extend_from_slice(&opening.stream.0.to_le_bytes());
        opening::push(&mut payload, &opening.options);
        self.push(frame(OPEN, stream.0, set), payload, out);
    }

    /// A run, or the runs that it makes when it is longer than a frame.
    fn run(&mut self, run: &Run, out: &mut Vec<Frame>) {
        let set = self.set(&run.members, out);
        if run.len() <= self.max_waves && run.bodies.len() <= self.max_waves && run.size() <= self.max_payload {
            return self.part_of_run(run, set, out);
        }
        let mut first = run.first;
        while let Some(rest) = run.within(first..run.end()) {
            first = first.after(self.waves_that_fit(&rest));
            rest.within(WaveNumber(0)..first).iter().for_each(|part| self.part_of_run(part, set, out));
        }
    }

    /// How many waves of a run fit into a frame; one that does not is cut into pieces.
    fn waves_that_fit(&self, run: &Run) -> u32 {
        let bodies = self.bodies_that_fit(run);
        match &run.yields {
            None => bodies.min(run.len()),
            // Up to the record that has the first body which does not fit.
            Some(yields) => {
                let fit = yields.sources().get(bodies as usize).copied().unwrap_or(run.len());
                fit.clamp(1, self.max_waves)
            }
        }
    }

    /// How many bodies of a run fit into a frame.
    fn bodies_that_fit(&self, run: &Run) -> u32 {
        let mut room = self.max_payload;
        let fit = run.bodies.iter().take(self.max_waves as usize).take_while(|body| {
            let rest = room.checked_sub(body.len());
            room = rest.unwrap_or(0);
            rest.is_some()
        });
        // Of `max_waves`, which is a `u32`.
        (fit.count() as u32).max(1)
    }

    fn part_of_run(&mut self, run: &Run, set: u32, out: &mut Vec<Frame>) {
        let bodies = &run.bodies;
        let flags = if run.is_fresh { FRESH } else { 0 } | if run.is_partial { PARTIAL } else { 0 };
        let format = (!bodies.are_absent()).then(|| bodies.format());
        let frame = Frame { flags, format, ..frame(RUN, run.stream.0, set) };
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&run.first.0.to_le_bytes());
        head[8..12].copy_from_slice(&bodies.len().to_le_bytes());
        head[12..].copy_from_slice(&size_of_each(bodies).to_le_bytes());
        if run.yields.is_none() && bodies.tag() == 0 {
            return self.push_bodies(frame, &head, bodies, out);
        }
        let (mut frame, mut head) = (frame, head.to_vec());
        if bodies.tag() != 0 {
            frame.flags |= TAGGED;
            head.extend_from_slice(&bodies.tag().to_le_bytes());
            head.resize(head.len().next_multiple_of(BODY_ALIGN), 0);
        }
        if let Some(yields) = &run.yields {
            frame.flags |= YIELDS;
            head.extend_from_slice(&yields.records().to_le_bytes());
            head.extend(yields.sources().iter().flat_map(|source| source.to_le_bytes()));
            head.resize(head.len().next_multiple_of(BODY_ALIGN), 0);
        }
        self.push_bodies(frame, &head, bodies, out);
    }

    fn scatter(&mut self, stream: StreamId, sequence: u64, scatter: &Scatter, out: &mut Vec<Frame>) {
        let set = self.set(&scatter.members, out);
        let bodies = &scatter.bodies;
        let mut head = [0; 2 * HEAD_BYTES];
        head[..8].copy_from_slice(&sequence.to_le_bytes());
        head[8..12].copy_from_slice(&bodies.len().to_le_bytes());
        head[12..16].copy_from_slice(&size_of_each(bodies).to_le_bytes());
        head[16..20].copy_from_slice(&scatter.tag.to_le_bytes());
        let flags = if scatter.is_partial { PARTIAL } else { 0 };
        let frame = Frame { flags, format: Some(bodies.format()), ..frame(SCATTER, stream.0, set) };
        self.push_bodies(frame, &head, bodies, out);
    }

    /// Numbers, then where each body ends if they are of several sizes, then the bodies.
    fn push_bodies(&mut self, frame: Frame, numbers: &[u8], bodies: &Bodies, out: &mut Vec<Frame>) {
        if bodies.uniform_size().is_some() {
            return self.push_with_bodies(frame, numbers, bodies.bytes(), out);
        }
        let length = (numbers.len() + size_of::<u32>() * bodies.len() as usize).next_multiple_of(BODY_ALIGN);
        let mut head = Vec::with_capacity(length);
        head.extend_from_slice(numbers);
        let mut end = 0u32;
        for body in bodies.iter() {
            end += body.len() as u32;
            head.extend_from_slice(&end.to_le_bytes());
        }
        head.resize(length, 0);
        self.push_with_bodies(Frame { flags: frame.flags | SIZES, ..frame }, &head, bodies.bytes(), out);
    }

    /// The number by which the peer knows a set, from now on if not before.
    fn set(&mut self, set: &Arc<RankSet>, out: &mut Vec<Frame>) -> u32 {
        if let Some(number) = self.sets.find(set) {
            return number;
        }
        let number = self.sets.next();
        let mut payload = Vec::new();
        set.encode(&mut payload);
        self.sets.add(Arc::clone(set), payload.len());
        self.push(frame(MEMBERS, 0, number), payload, out);
        number
    }

    /// Tells where those can be reached whom a message names, if the peer does not know.
    fn tell_addresses(&mut self, message: &Message, book: &AddressBook, out: &mut Vec<Frame>) {
        let mut payload = Vec::new();
        let mut tell = |node| self.tell(node, book, &mut payload);
        match message {
            Message::Attach(attach) => tell(attach.place.node),
            Message::Refuse(candidates) => candidates.iter().for_each(|candidate| tell(candidate.node)),
            Message::Welcome(ancestry) | Message::Ancestry(ancestry) => named_in(ancestry).for_each(tell),
            _ => return,
        }
        if !payload.is_empty() {
            self.push(frame(ADDRESSES, 0, 0), payload, out);
        }
    }

    fn tell(&mut self, node: NodeId, book: &AddressBook, payload: &mut Vec<u8>) {
        let Some(addresses) = book.get(node) else { return };
        if self.told.get(&node).is_some_and(|told| Arc::ptr_eq(told, addresses) || told == addresses) {
            return;
        }
        // The peer remembers no more than these; to tell it all again is rare and cheap.
        if self.told.len() >= NODES {
            self.told.clear();
        }
        self.told.insert(node, Arc::clone(addresses));
        addresses::push(payload, node, addresses);
    }

    fn push(&self, frame: Frame, payload: Vec<u8>, out: &mut Vec<Frame>) {
        pieces::cut(frame, payload.into(), self.max_payload, out);
    }

    /// Appends a frame with bodies behind its numbers, or else the bodies in frames of their own.
    fn push_with_bodies(&mut self, frame: Frame, head: &[u8], bodies: &Bytes, out: &mut Vec<Frame>) {
        if bodies.len() <= COPIED_BODIES {
            pieces::cut(frame, self.arena.join(&[head, bodies]), self.max_payload, out);
        } else {
            let head = self.arena.join(&[head]);
            pieces::cut(Frame { flags: frame.flags | APART, ..frame }, head, self.max_payload, out);
            pieces::cut(self::frame(BODIES, 0, 0), bodies.clone(), self.max_payload, out);
        }
    }
}

fn frame(kind: Kind, stream: u32, sequence: u32) -> Frame {
    Frame::new(kind, stream, sequence, Bytes::new())
}

/// A frame about a wave or packet. As long as its number has 32 bits there is no payload.
fn numbered(kind: Kind, stream: StreamId, number: u64) -> Frame {
    let (low, high) = (number as u32, (number >> 32) as u32);
    let payload = if high == 0 { Bytes::new() } else { Bytes::copy_from_slice(&high.to_le_bytes()) };
    Frame { payload, ..frame(kind, stream.0, low) }
}

fn named_in(ancestry: &[Ancestor]) -> impl Iterator<Item = NodeId> {
    ancestry.iter().flat_map(|ancestor| std::iter::once(&ancestor.itself).chain(&ancestor.children)).map(|at| at.node)
}

/// What the head says of the size of bodies. It is kept as a `u32`.
fn size_of_each(bodies: &Bodies) -> u32 {
    bodies.uniform_size().map_or(0, |size| size as u32)
}
