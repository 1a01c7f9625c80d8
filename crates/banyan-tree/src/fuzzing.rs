//! A node among strangers, for fuzz targets: bytes become frames on its links, as hostile as a peer can make them.
//!
//! The node has a parent, a child that is an agent and one that is a member, all of whom speak as the bytes say. Whatever
//! they say, it goes on: nothing here panics, and what the node sends can be encoded.

use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_link::{Frame, Kind};
use banyan_ndr::FormatId;
use banyan_reduce::Bodies;
use bytes::Bytes;

use crate::clocks::NodeClock;
use crate::first_of::FirstOf;
use crate::ids::{Epoch, Level, LinkId, NodeId, StreamId, Time};
use crate::message::{Ancestor, Ancestry, Attach, Candidate, Chosen, Message, NodeInfo, Opening, Packet};
use crate::node::{Action, LinkFigures, Node, NodeOptions};
use crate::run::Run;
use crate::stream_options::StreamOptions;
use crate::wire::{AddressBook, Decoder, Encoder, SHORTEST_PAYLOAD};

/// Bytes of the longest message: inputs are shorter.
const LONGEST: usize = 1 << 16;

/// Bytes before the payload of a frame in the input: peer, kind, flags, stream, sequence, whether there is a format, and
/// the payload's length in two bytes.
const HEAD: usize = 8;

/// The node under test.
const OWN: NodeId = NodeId(5);

/// What a peer is to the node, with what was said between them.
struct Peer {
    link: LinkId,
    decoder: Decoder,
    encoder: Encoder,
}

struct Scene {
    node: Node,
    book: AddressBook,
    peers: Vec<Peer>,
    now: Time,
}

/// Lets peers of an agent say what the bytes say.
pub fn agent_among_strangers(bytes: &[u8]) {
    let transformations = Arc::new(FirstOf);
    let node = Node::below(OWN, None, Level(1), ancestry(), NodeOptions::default(), transformations);
    Scene::new(node).play(bytes);
}

/// Lets the children of a front-end say what the bytes say.
pub fn front_end_among_strangers(bytes: &[u8]) {
    let node = Node::front_end(NodeOptions::default(), Arc::new(FirstOf));
    Scene::new(node).play(bytes);
}

/// Lets the parent of a member say what the bytes say.
pub fn member_among_strangers(bytes: &[u8]) {
    let node = Node::below(OWN, Some(1), Level(9), ancestry(), NodeOptions::default(), Arc::new(FirstOf));
    Scene::new(node).play(bytes);
}

/// Input that peers speak as they should: for seeds.
pub fn polite_words() -> Vec<Vec<u8>> {
    let members: Arc<RankSet> = Arc::new((0..4).collect());
    let options = StreamOptions::reduce("sum(value)").down("first", "");
    let opening = Opening { stream: StreamId(1), members: Arc::clone(&members), options };
    let format = FormatId::from_bytes([1; 16]);
    let open = packet(StreamId::CONTROL, 0, Packet::Open(Arc::new(opening)));
    let record = Packet::Record { tag: 7, format, body: Bytes::from_static(&[1; 8]), is_partial: false };
    let bodies = Bodies::one(format, Bytes::from_static(&[2; 8]));
    let run = |rank: u32, first: u64| {
        let (stream, members) = (StreamId(1), Arc::new(RankSet::from_iter([rank])));
        let first = crate::ids::WaveNumber(first);
        Message::Run(Run {
            stream,
            first,
            members,
            is_fresh: true,
            is_partial: false,
            yields: None,
            bodies: bodies.clone(),
        })
    };
    let some = Arc::new(RankSet::from_iter([1, 3]));
    let chosen = Chosen { members: some, content: record.clone() };
    let down = [
        open,
        packet(StreamId(1), 0, record),
        Message::JoinsHeard(1),
        Message::Gap { stream: StreamId(1), from: 1, until: 4 },
        packet(StreamId(1), 4, Packet::Chosen(Arc::new(chosen))),
        Message::Count(3),
        Message::Again(StreamId(1)),
        Message::WantReceipt(StreamId(1)),
    ];
    let next = crate::ids::WaveNumber(0);
    let up = [
        Message::Participate { stream: StreamId(1), next },
        run(1, 0),
        run(1, 1),
        Message::WantAcknowledgement(StreamId(1)),
    ];
    vec![
        written(&[(0, &down)]),
        written(&[(0, &down), (2, &up)]),
        written(&[(0, &down[..1]), (2, &up), (0, &down[1..])]),
    ]
}

fn packet(stream: StreamId, sequence: u64, packet: Packet) -> Message {
    Message::Packet { stream, sequence, packet }
}

/// Messages of peers as input.
fn written(said: &[(u8, &[Message])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (peer, messages) in said {
        let mut encoder = Encoder::new(SHORTEST_PAYLOAD);
        let mut frames = Vec::new();
        messages.iter().for_each(|message| encoder.encode(message, &AddressBook::new(), &mut frames));
        for Frame { kind, flags, stream, sequence, format, payload } in frames {
            let numbers = [*peer, kind.number(), flags, stream as u8, sequence as u8, u8::from(format.is_some())];
            bytes.extend_from_slice(&numbers);
            bytes.extend_from_slice(&(payload.len() as u16).to_le_bytes());
            bytes.extend_from_slice(&payload);
        }
    }
    bytes
}

impl Scene {
    fn new(node: Node) -> Scene {
        let mut scene = Scene { node, book: AddressBook::new(), peers: Vec::new(), now: Time(0) };
        scene.node.wake(scene.now);
        while let Some(action) = scene.node.action() {
            if let Action::Dial { link, .. } = action {
                scene.add_peer(link);
                scene.node.linked(link, scene.now);
                scene.node.message(link, Message::Welcome(ancestry()), scene.now);
            }
        }
        for (node, level, rank) in [(NodeId(6), Level(2), None), (NodeId(7), Level(9), Some(1))] {
            let link = scene.node.accepted();
            scene.add_peer(link);
            let place = NodeInfo { node, parent: scene.node.id(), epoch: Epoch(1), level, rank };
            let attach = Attach { place, is_urgent: false, is_new: true, below: Vec::new(), resumes: Vec::new() };
            scene.node.message(link, Message::Attach(attach), scene.now);
        }
        // A stream of which the peers may speak.
        let _ = scene.node.open(Arc::new((0..4).collect()), StreamOptions::default());
        scene.act();
        scene
    }

    fn add_peer(&mut self, link: LinkId) {
        let (decoder, encoder) = (Decoder::new(LONGEST), Encoder::new(SHORTEST_PAYLOAD));
        self.peers.push(Peer { link, decoder, encoder });
    }

    fn play(mut self, mut bytes: &[u8]) {
        while let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() {
            let [peer, kind, flags, stream, sequence, format, low, high] = *head;
            let length = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
            let (payload, rest) = rest.split_at(length);
            bytes = rest;
            if kind == 0 {
                self.pass_time(sequence);
                continue;
            }
            // Links give nodes no others.
            let kind = if (16..128).contains(&kind) { kind } else { 32 + kind % 40 };
            let format = (format & 1 == 1).then(|| FormatId::from_bytes([1; 16]));
            let frame = Frame::new(Kind::data(kind), stream.into(), sequence.into(), Bytes::copy_from_slice(payload));
            self.hear(usize::from(peer), &Frame { flags, format, ..frame });
        }
    }

    /// The node's program and its clock go on.
    fn pass_time(&mut self, milliseconds: u8) {
        self.now = Time(self.now.0 + u64::from(milliseconds) * 1_000_000);
        self.node.wake(self.now);
        let streams: Vec<StreamId> = self.node.streams().map(|opening| opening.stream).collect();
        for stream in streams {
            let _ =
                self.node.contribute(stream, Bodies::one(FormatId::from_bytes([1; 16]), Bytes::from_static(&[3; 8])));
            while self.node.take_packet(stream).is_some() || self.node.take_waves(stream).is_some() {}
        }
        self.act();
    }

    fn hear(&mut self, peer: usize, frame: &Frame) {
        let Some(at) = peer.checked_rem(self.peers.len()) else { return };
        let Peer { link, decoder, .. } = &mut self.peers[at];
        let link = *link;
        match decoder.decode(frame, &mut self.book) {
            Ok(Some(message)) => self.node.message(link, message, self.now),
            Ok(None) => {}
            Err(_) => {
                self.peers.swap_remove(at);
                self.node.closed(link, self.now);
            }
        }
        self.act();
    }

    /// What the node sends must be messages; nobody hears them.
    fn act(&mut self) {
        while let Some(action) = self.node.action() {
            match action {
                Action::Send { link, message } => {
                    let peer = self.peers.iter_mut().find(|peer| peer.link == link);
                    peer.into_iter().for_each(|peer| peer.encoder.encode(&message, &self.book, &mut Vec::new()));
                }
                Action::Dial { link, .. } => {
                    self.add_peer(link);
                    self.node.linked(link, self.now);
                }
                Action::Close(link) | Action::LetGo(link) => self.peers.retain(|peer| peer.link != link),
                Action::Drain(link) => self.node.drained(link),
                Action::Count(question) => self.node.answer(question, LinkFigures::default()),
                Action::CountClocks(question) => {
                    self.node.answer_clocks(question, NodeClock::unknown(NodeId::ROOT));
                }
                Action::Examine(link) => self.node.examined(link, Some(0), self.now),
                Action::Report(_) => {}
            }
        }
    }
}

fn ancestry() -> Ancestry {
    [Ancestor { itself: Candidate { node: NodeId::ROOT, level: Level(0) }, children: Vec::new() }].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polite_words_are_understood() {
        for words in polite_words() {
            agent_among_strangers(&words);
            member_among_strangers(&words);
            front_end_among_strangers(&words);
        }
    }
}
