//! Every message once, and the note of a member.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use banyan_boot::RankSet;
use banyan_clock::Estimate;
use banyan_link::{Encryption, FRAME_ALIGN, Frame, HEADER_BYTES, Kind, Secret, SessionId};
use banyan_ndr::FormatId;
use banyan_reduce::Bodies;
use bytes::Bytes;

use super::{Said, file, recorded};
use crate::clocks::{ClockAnswer, ClockId, NodeClock};
use crate::driver::{Invited, NodeAbove, Note};
use crate::ids::{Epoch, Level, NodeId, StreamId, WaveNumber};
use crate::message::{
    Ancestor, Ancestry, Attach, Candidate, Chosen, Gone, Message, NodeInfo, Opening, Packet, Resume, Scatter,
    Succession,
};
use crate::node::{Figures, NodeOptions};
use crate::run::Run;
use crate::stream_options::{Direction, StreamOptions, Where};
use crate::wire::{AddressBook, Decoder, Encoder, LONGEST_MESSAGE, SHORTEST_PAYLOAD};

const FORMAT: FormatId = FormatId::from_bytes([7; 16]);
const STREAM: StreamId = StreamId(3);

fn set(ranks: impl IntoIterator<Item = u32>) -> Arc<RankSet> {
    Arc::new(ranks.into_iter().collect())
}

fn place(node: u32, rank: Option<u32>) -> NodeInfo {
    NodeInfo { node: NodeId(node), parent: NodeId(2), epoch: Epoch(5), level: Level(6), rank }
}

fn candidate(node: u32) -> Candidate {
    Candidate { node: NodeId(node), level: Level(1) }
}

fn resumes() -> Vec<Resume> {
    vec![Resume { stream: STREAM, next: 1 << 33, received: 8 }, Resume { stream: StreamId(0), next: 2, received: 1 }]
}

fn ancestry() -> Ancestry {
    let of = |node, children| Ancestor { itself: candidate(node), children };
    Ancestry::from([of(4, vec![candidate(5), candidate(6)]), of(0, Vec::new())])
}

fn run(bodies: Bodies, is_fresh: bool) -> Message {
    let members = set(0..64);
    Message::Run(Run {
        stream: STREAM,
        first: WaveNumber(1 << 33),
        members,
        is_fresh,
        is_partial: !is_fresh,
        yields: None,
        bodies,
    })
}

fn packet(packet: Packet) -> Message {
    Message::Packet { stream: STREAM, sequence: 1 << 33, packet }
}

fn opening() -> Arc<Opening> {
    let options = StreamOptions::reduce("max(temp)")
        .up_at(Where::Root, "at_root", "1")
        .up_at(Where::Agents, "at_agents", "")
        .up_at(Where::Members, "at_members", "")
        .up_at(Where::Level(2), "at_level", "")
        .down("stamp", "x")
        .synchronised("timeout 250ms".parse().unwrap());
    Arc::new(Opening { stream: StreamId(9), members: set([1, 5, 6, 7]), options })
}

/// Each with what people call it.
fn all() -> Vec<(&'static str, Message)> {
    let several = Bodies::by_ends(FORMAT, [1, 1, 4].into(), Bytes::from_static(&[1, 2, 3, 4])).unwrap();
    let long = Bodies::one(FORMAT, Bytes::from(vec![9; SHORTEST_PAYLOAD + 100]));
    let scatter = Scatter { tag: 11, members: set([4, 5, 6]), bodies: several.clone(), is_partial: true };
    let succession = Succession { member: NodeId(8), life: 2, free: vec![(STREAM, WaveNumber(1 << 33))] };
    let attach = Attach {
        place: place(4, Some(1)),
        is_urgent: true,
        is_new: true,
        below: vec![place(7, None)],
        resumes: resumes(),
    };
    let gone = Gone { node: NodeId(4), epoch: Epoch(6), is_certain: true, resumes: resumes() };
    let record = Packet::Record { tag: 10, format: FORMAT, body: Bytes::from_static(&[1; 9]), is_partial: false };
    let chosen = |content| packet(Packet::Chosen(Arc::new(Chosen { members: set([1, 5]), content })));
    let figures = Box::new(Figures::from_numbers(std::array::from_fn(|at| 1 << (at + 20))));
    let (node, child, cause) = (NodeId(4), NodeId(5), Arc::from("because of é"));
    vec![
        ("attach", Message::Attach(attach)),
        ("welcome", Message::Welcome(ancestry())),
        ("refuse", Message::Refuse(vec![candidate(5), candidate(6)])),
        ("ancestry", Message::Ancestry(ancestry())),
        ("succeeded", Message::Succeeded(Arc::new(succession))),
        (
            "placed",
            Message::Placed { places: vec![place(4, None), place(5, Some(0))], resumes: resumes(), is_new: true },
        ),
        ("gone", Message::Gone(gone)),
        ("ended", Message::Ended { node, members: set([2, 3]) }),
        ("run of bodies of one size", run(Bodies::of_size(FORMAT, 4, 3, Bytes::from_static(&[5; 12])).unwrap(), true)),
        ("run of bodies of several sizes", run(several, false)),
        ("run without bodies", run(Bodies::absent(NonZeroU32::MIN), true)),
        ("run of one long body", run(long, true)),
        ("participate", Message::Participate { stream: STREAM, next: WaveNumber(7) }),
        ("withdraw", Message::Withdraw(STREAM)),
        ("again", Message::Again(STREAM)),
        ("want acknowledgement", Message::WantAcknowledgement(STREAM)),
        ("want receipt", Message::WantReceipt(STREAM)),
        ("acknowledge", Message::Acknowledge { stream: STREAM, until: WaveNumber(1 << 33) }),
        ("begin", Message::Begin { stream: STREAM, next: WaveNumber(8) }),
        ("taken", Message::Taken { stream: STREAM, bytes: 1 << 33 }),
        ("confirm", Message::Confirm { stream: STREAM, until: vec![(1, WaveNumber(2)), (5, WaveNumber(1 << 33))] }),
        ("packet: record", packet(record.clone())),
        ("packet: scatter", packet(Packet::Scatter(Arc::new(scatter)))),
        ("packet: failed", packet(Packet::Failed { tag: 12, cause: Arc::clone(&cause) })),
        ("packet: open", packet(Packet::Open(opening()))),
        ("packet: close", packet(Packet::Close(StreamId(9)))),
        ("packet: over", packet(Packet::Over)),
        ("listed", Message::Listed(opening())),
        ("received", Message::Received { stream: STREAM, until: 6 }),
        ("resend", Message::Resend { stream: STREAM, from: 1 << 33 }),
        ("skipped", Message::Skipped { stream: STREAM, until: 9 }),
        ("count", Message::Count(17)),
        ("counted", Message::Counted { question: 17, node, figures }),
        (
            "uncombined",
            Message::Uncombined {
                node,
                stream: STREAM,
                direction: Direction::Down,
                wave: WaveNumber(5),
                cause: Arc::clone(&cause),
            },
        ),
        ("violated", Message::Violated { node, child, cause: Arc::clone(&cause) }),
        ("overdue", Message::Overdue { stream: STREAM, wave: WaveNumber(5), members: set([1]) }),
        ("examine", Message::Examine { stream: STREAM, wave: WaveNumber(1 << 33) }),
        (
            "field missing",
            Message::FieldMissing { stream: STREAM, field: "temp of max(temp)".into(), members: set([1]) },
        ),
        ("packet: record for some", chosen(record)),
        ("packet: failed for some", chosen(Packet::Failed { tag: 12, cause })),
        ("gap", Message::Gap { stream: STREAM, from: 3, until: 1 << 33 }),
        ("joins heard", Message::JoinsHeard(3)),
        ("run with a tag", run(Bodies::one(FORMAT, Bytes::from_static(&[5; 3])).tagged(14), true)),
    ]
}

/// What is said of clocks, between nodes that both can.
fn of_clocks() -> Vec<(&'static str, Message)> {
    let clock = ClockId { boot: [9; 16], namespace: 1 << 33 };
    let (low, high) = (-(1 << 40), 1 << 40);
    let estimate = Estimate { at: 1 << 50, low, high, slowest: -0.5, fastest: 99.75, wander: 20.0 };
    let unknown = ClockAnswer { question: 0, clock, heard: 0, answered: 0, front_end: None };
    let known = ClockAnswer { question: 5, heard: 1 << 41, answered: 1 << 42, front_end: Some(estimate), ..unknown };
    let of_node = NodeClock {
        is_same: false,
        of_parent: Some(estimate),
        front_end: Some(Estimate::own(7)),
        round_trip: Some(Duration::from_micros(88)),
        exchanges: 9,
        steps: 2,
        ..NodeClock::unknown(NodeId(2))
    };
    let same = NodeClock { is_same: true, ..NodeClock::unknown(NodeId(2)) };
    let counted = |clock| Message::ClockCounted { question: 17, node: NodeId(4), clock: Box::new(clock) };
    vec![
        ("clock asked", Message::ClockAsked { question: 5, clock }),
        ("clock told", Message::ClockTold(Box::new(known))),
        ("clock told unasked by one that knows nothing", Message::ClockTold(Box::new(unknown))),
        ("count clocks", Message::CountClocks(17)),
        ("clock counted", counted(of_node)),
        ("clock counted, the same as the parent's", counted(same)),
    ]
}

/// Where nodes are said to be reached.
fn book() -> AddressBook {
    let mut book = AddressBook::new();
    let addresses = ["unix:/run/banyan/node", "unix:@banyan-node", "tcp:10.1.2.3:77", "tcp:[fe80::1%4]:78"];
    book.set(NodeId(4), addresses.map(|address| address.parse().unwrap()).to_vec());
    book
}

/// Frames as a link carries them, but for the formats.
fn bytes(frames: &[Frame]) -> Vec<u8> {
    let mut all = Vec::new();
    for frame in frames {
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&(frame.payload.len() as u32).to_le_bytes());
        header[4..6].copy_from_slice(&[frame.kind.number(), frame.flags]);
        header[8..12].copy_from_slice(&frame.stream.to_le_bytes());
        header[12..16].copy_from_slice(&frame.sequence.to_le_bytes());
        header[16..].copy_from_slice(&frame.format.map_or([0; 16], |format| format.to_bytes()));
        all.extend_from_slice(&header);
        all.extend_from_slice(&frame.payload);
        all.resize(all.len().next_multiple_of(FRAME_ALIGN), 0);
    }
    all
}

/// Frames in such bytes.
fn frames(mut bytes: &[u8]) -> Vec<Frame> {
    let mut all = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<{ HEADER_BYTES }>() {
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap());
        let (payload, length) = (&rest[..word(0) as usize], word(0) as usize);
        let kind = Kind::data(header[4]);
        let mut frame = Frame::new(kind, word(8), word(12), payload.to_vec());
        let format: [u8; 16] = header[16..].try_into().unwrap();
        (frame.flags, frame.format) = (header[5], (format != [0; 16]).then(|| FormatId::from_bytes(format)));
        all.push(frame);
        bytes = &rest[length.next_multiple_of(FRAME_ALIGN)..];
    }
    all
}

/// Whether today's programs say these messages as they were recorded, and understand the recorded ones.
fn check(recording: &str, messages: &[(&'static str, Message)]) -> AddressBook {
    let (mut encoder, book) = (Encoder::new(SHORTEST_PAYLOAD), book());
    let mut encode = |message: &Message| {
        let mut frames = Vec::new();
        encoder.encode(message, &book, &mut frames);
        bytes(&frames)
    };
    let today: Vec<Said> = messages.iter().map(|(what, message)| Said::new(what, encode(message))).collect();
    let then = recorded(&file(recording), &today);
    let (mut decoder, mut theirs) = (Decoder::new(LONGEST_MESSAGE), AddressBook::new());
    for ((what, message), said) in messages.iter().zip(&then) {
        let frames = frames(&said.bytes);
        let understood: Vec<Message> =
            frames.iter().filter_map(|frame| decoder.decode(frame, &mut theirs).unwrap()).collect();
        assert_eq!(format!("{understood:?}"), format!("{:?}", [message]), "{what}");
    }
    theirs
}

#[test]
fn every_message_of_protocol_1_is_understood() {
    let theirs = check("messages.txt", &all());
    assert_eq!(theirs.get(NodeId(4)), book().get(NodeId(4)));
}

#[test]
fn what_nodes_of_protocol_1_say_of_clocks_is_understood() {
    check("clocks.txt", &of_clocks());
}

#[test]
fn a_note_of_protocol_1_is_understood() {
    let options = NodeOptions {
        capacity: 64,
        window_waves: 17,
        window_bytes: 1 << 20,
        ahead_packets: 32,
        ahead_bytes: 1 << 22,
        adrift: Duration::from_millis(1),
        orphan: Duration::from_millis(2),
        unanswered: Some(Duration::from_millis(3)),
        stopped: None,
        seed: 5,
        ..NodeOptions::default()
    };
    let above = |node, level, addresses: &[&str]| NodeAbove {
        node: NodeId(node),
        level: Level(level),
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
    };
    let note = Note {
        network: SessionId([7; 16]),
        secret: Secret::from_bytes([9; 32]),
        options,
        heartbeat: Duration::from_millis(250),
        silence: Duration::from_secs(1),
        encryption: Encryption::Never,
        above: vec![above(3, 1, &["unix:@name", "tcp:[::1]:77"]), above(0, 0, &[])],
        member: Some(Invited { node: NodeId(12), rank: 4, size: 8, life: 1 }),
    };
    let then = recorded(&file("note.txt"), &[Said::new("the note of a member", note.to_text().expose())]);
    let read: Note = std::str::from_utf8(&then[0].bytes).unwrap().parse().unwrap();
    assert_eq!(format!("{read:?}"), format!("{note:?}"));
}
