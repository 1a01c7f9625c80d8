//! What links of protocol 1 say, recorded, and understood by the links of today.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use banyan_ndr::Record;

use crate::connection::{Connection, Event};
use crate::error::LinkError;
use crate::frame::{Frame, HEADER_BYTES, Header, Kind};
use crate::link_frame::{Hello, LinkFrame};
use crate::opening::{EPHEMERAL, Opening, OpeningState, PeerId, Responder, SessionId};
use crate::options::LinkOptions;
use crate::pool::PoolSpan;
use crate::secret::Secret;
use crate::{Capabilities, Heartbeat};

#[path = "../tests/support/recording.rs"]
mod recording;
#[path = "../tests/support/transmit.rs"]
mod transmit;

pub(crate) use recording::{Said, recorded};
use transmit::transmit;

const DATA: Kind = Kind::data(20);
const CONTROL: Kind = Kind::control(200);

#[derive(Record, Debug, Clone, PartialEq)]
struct Reading {
    host: String,
    load: Vec<f64>,
}

fn reading() -> Reading {
    Reading { host: "n17".into(), load: vec![0.5, 0.25] }
}

/// Of protocol 1, whatever the default ones are by now.
fn options() -> LinkOptions {
    LinkOptions {
        max_payload: 1 << 15,
        window: 1 << 17,
        heartbeat: Some(Heartbeat { every: Duration::from_secs(1), lost_after: Duration::from_secs(3) }),
        formats: 4,
        incarnation: 5,
        capabilities: Capabilities::of_user(0),
        ..LinkOptions::default()
    }
}

fn opening() -> Opening {
    let peer = PeerId { session: SessionId([7; 16]), index: 3, incarnation: 5 };
    Opening { peer, secret: Secret::from_bytes([9; 32]) }
}

pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/protocol-1").join(name)
}

fn feed(end: &mut Connection, mut bytes: &[u8], now: Instant) {
    while !bytes.is_empty() {
        let space = end.space();
        let count = space.len().min(bytes.len());
        assert!(count > 0, "nothing more is read");
        space[..count].copy_from_slice(&bytes[..count]);
        end.received(count, now);
        bytes = &bytes[count..];
    }
}

/// What a side does between what it hears.
type Turn = fn(&mut Connection);

/// The turns of a conversation: first the one who dials or is asked, then the other, and so on. Two seconds pass between them.
const TURNS: [(&str, Turn); 5] = [
    ("the first: hello, data, a format and its record, control", |end| {
        let mut data = Frame::new(DATA, 7, 1, vec![1, 2, 3, 4, 5]);
        data.flags = 0x81;
        end.send(data);
        end.send_record(DATA, 8, 2, &reading()).unwrap();
        end.send(Frame::new(CONTROL, u32::MAX, 3, vec![6; 16]));
    }),
    ("the second: hello, data that the first has credit for", |end| {
        end.send(Frame::new(DATA, 0, 4, vec![7; 17]));
    }),
    ("the first: a sign of life", |_| {}),
    ("the second: a sign of life", |_| {}),
    ("the first: the goodbye behind its last frame", |end| {
        end.send(Frame::new(CONTROL, 1, 5, Vec::new()));
        end.close();
    }),
];

/// A frame without its payload's format.
fn heard(end: &mut Connection, event: Event) -> String {
    match event {
        Event::Opened(peer) => format!("opened: incarnation {}, {:?}", peer.incarnation, end.capabilities()),
        Event::Frame(frame) if frame.format.is_some() => {
            let Frame { kind, flags, stream, sequence, .. } = frame;
            let record = end.decode::<Reading>(&frame).unwrap();
            assert_eq!(record, reading());
            format!("record: kind {}, flags {flags}, stream {stream}, sequence {sequence}", kind.number())
        }
        Event::Frame(Frame { kind, flags, stream, sequence, payload, .. }) => {
            let kind = kind.number();
            format!("frame: kind {kind}, flags {flags}, stream {stream}, sequence {sequence}, {payload:?}")
        }
        Event::Closed => "closed".into(),
        Event::Lost(error) => format!("lost: {error}"),
    }
}

const HEARD_BY_SECOND: &[&str] = &[
    "opened: incarnation 5, Capabilities(256)",
    "frame: kind 20, flags 129, stream 7, sequence 1, b\"\\x01\\x02\\x03\\x04\\x05\"",
    "frame: kind 200, flags 0, stream 4294967295, sequence 3, b\"\\x06\\x06\\x06\\x06\\x06\\x06\\x06\\x06\\x06\\x06\\x06\\x06\\x06\\x06\\x06\\x06\"",
    "record: kind 20, flags 0, stream 8, sequence 2",
    "frame: kind 200, flags 0, stream 1, sequence 5, b\"\"",
    "closed",
];

const HEARD_BY_FIRST: &[&str] = &[
    "opened: incarnation 5, Capabilities(256)",
    "frame: kind 20, flags 0, stream 0, sequence 4, b\"\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07\"",
    "Closed",
];

/// What one side (0 or 1) understands, which takes its turns today, of a recording of the other.
fn understood(end: &mut Connection, side: usize, then: &[Said]) -> Vec<String> {
    let (mut understood, mut now) = (Vec::new(), Instant::now());
    for (at, ((_, turn), said)) in TURNS.iter().zip(then).enumerate() {
        now += Duration::from_secs(2);
        if at % 2 == side {
            turn(end);
            end.handle_timeout(now);
            transmit(end, now);
        } else {
            feed(end, &said.bytes, now);
            while let Some(event) = end.poll_event() {
                understood.push(heard(end, event));
            }
        }
    }
    end.end_of_input();
    understood.extend(std::iter::from_fn(|| end.poll_event()).map(|event| format!("{event:?}")));
    understood
}

/// What both sides say to each other today.
fn say([mut first, mut second]: [Connection; 2]) -> Vec<Said> {
    let (mut all, mut now) = (Vec::new(), Instant::now());
    for (at, (what, turn)) in TURNS.iter().enumerate() {
        let (speaker, listener) = if at % 2 == 0 { (&mut first, &mut second) } else { (&mut second, &mut first) };
        now += Duration::from_secs(2);
        turn(speaker);
        speaker.handle_timeout(now);
        let bytes = transmit(speaker, now);
        feed(listener, &bytes, now);
        while listener.poll_event().is_some() {}
        all.push(Said::new(what, bytes));
    }
    all
}

/// Each side of a recorded conversation is understood by an end of today, which answers as the other side did.
fn replay(then: &[Said], make: impl Fn(usize) -> Connection) {
    for (side, expected) in [HEARD_BY_FIRST, HEARD_BY_SECOND].into_iter().enumerate() {
        assert_eq!(understood(&mut make(side), side, then), expected, "by side {side}");
    }
}

#[test]
fn a_link_of_protocol_1_is_understood() {
    let inherited = |_| Connection::inherited(&options(), Instant::now());
    let then = recorded(&file("link.txt"), &say([inherited(0), inherited(1)]));
    replay(&then, inherited);
}

/// Both ends of a link that was opened with keys that are always the same, and what was said for that.
fn opened() -> ([Connection; 2], Vec<Said>) {
    let now = Instant::now();
    EPHEMERAL.set(Some([1; 32]));
    let mut dialling = Connection::dialing(&opening(), true, &options(), now).unwrap();
    let mut listener = Responder::new(false);
    let first = transmit(&mut dialling, now);
    let (answer, _) = at_responder(&mut listener, &first);
    feed(&mut dialling, &answer, now);
    // Frames may follow at once: only the proof is part of the opening.
    let mut pieces = [IoSlice::new(&[]); 8];
    let count = dialling.poll_transmit(&mut pieces);
    assert_eq!(count, 1);
    let proof = pieces[0].to_vec();
    dialling.sent(proof.len(), now);
    let (_, accepted) = at_responder(&mut listener, &proof);
    let OpeningState::Proved(accepted) = accepted else { panic!("not let in") };
    let said = vec![
        Said::new("opening, who dials: preamble and first message", first),
        Said::new("opening, who listens: answer", answer),
        Said::new("opening, who dials: proof", proof),
    ];
    ([dialling, Connection::accepted(accepted, &options(), now)], said)
}

/// What a listener answers to this, with keys that are always the same.
fn at_responder(listener: &mut Responder, mut bytes: &[u8]) -> (Vec<u8>, OpeningState) {
    EPHEMERAL.set(Some([2; 32]));
    let mut step = OpeningState::More;
    while !bytes.is_empty() {
        let space = listener.space();
        let count = space.len().min(bytes.len());
        space[..count].copy_from_slice(&bytes[..count]);
        bytes = &bytes[count..];
        let find = &mut |peer: &PeerId| (*peer == opening().peer).then(|| opening().secret);
        step = listener.received(count, &options().slabs, find).unwrap();
    }
    EPHEMERAL.set(None);
    let answer = listener.transmit().to_vec();
    listener.sent(answer.len());
    (answer, step)
}

#[test]
fn an_opening_of_protocol_1_is_understood_and_so_is_what_follows_encrypted() {
    let (ends, mut today) = opened();
    today.extend(say(ends));
    let then = recorded(&file("encrypted-link.txt"), &today);
    let (opening_then, frames) = then.split_at(3);
    replay(frames, |side| {
        let now = Instant::now();
        if side == 0 {
            EPHEMERAL.set(Some([1; 32]));
            let mut dialling = Connection::dialing(&opening(), true, &options(), now).unwrap();
            EPHEMERAL.set(None);
            transmit(&mut dialling, now);
            feed(&mut dialling, &opening_then[1].bytes, now);
            dialling
        } else {
            let mut listener = Responder::new(false);
            at_responder(&mut listener, &opening_then[0].bytes);
            match at_responder(&mut listener, &opening_then[2].bytes) {
                (_, OpeningState::Proved(accepted)) => Connection::accepted(accepted, &options(), now),
                (_, OpeningState::More) => panic!("not let in"),
            }
        }
    });
}

#[test]
fn the_links_own_frames_of_protocol_1_are_understood() {
    let hello = Hello {
        capabilities: Capabilities::POOLS | Capabilities::of_user(23),
        window: 1 << 33,
        max_payload: 1 << 20,
        heartbeat: Duration::from_millis(250),
        incarnation: 1 << 40 | 3,
    };
    let frames = [
        ("hello", LinkFrame::Hello(hello)),
        ("credit", LinkFrame::Credit { total: 1 << 40 | 7, taken: 3 }),
        ("heartbeat", LinkFrame::Heartbeat { incarnation: 1 << 40 | 3 }),
        ("close", LinkFrame::Close),
        ("pool", LinkFrame::Pool { bytes: 256 << 20 }),
        ("wanted", LinkFrame::Wanted),
        ("passed", LinkFrame::Passed),
        ("mapped", LinkFrame::Mapped),
    ];
    let bytes = |frame: &LinkFrame| [&frame.encode().header.encode()[..], frame.encode().payload()].concat();
    let mut today: Vec<Said> = frames.iter().map(|(what, frame)| Said::new(what, bytes(frame))).collect();
    let place = PoolSpan { at: 3 << 20, edition: 9 };
    let apart = Header { length: 70_000, kind: DATA, flags: 1, stream: 2, sequence: 3, format: None, is_apart: true };
    today.push(Said::new("data in a pool", [&apart.encode()[..], &place.encode()].concat()));
    let then = recorded(&file("link-frames.txt"), &today);
    let parts = |said: &Said| {
        let (header, payload) = said.bytes.split_first_chunk::<HEADER_BYTES>().unwrap();
        (Header::decode(header).unwrap(), payload.to_vec())
    };
    for ((what, frame), said) in frames.iter().zip(&then) {
        let (header, payload) = parts(said);
        assert_eq!(LinkFrame::decode(&header, &payload).unwrap(), *frame, "{what}");
    }
    let (header, payload) = parts(then.last().unwrap());
    assert_eq!((header, PoolSpan::decode(payload[..].try_into().unwrap())), (apart, place));
}

#[test]
fn of_the_hello_of_another_protocol_only_its_number_is_understood() {
    // The beginning of a header, and the number behind it: everything else may be different.
    let mut hello = [0xff; 200];
    hello[..5].copy_from_slice(&[160, 0, 0, 0, 1]);
    hello[HEADER_BYTES..HEADER_BYTES + 2].copy_from_slice(&2u16.to_le_bytes());
    let now = Instant::now();
    for cut in [HEADER_BYTES + 1, HEADER_BYTES + 2, hello.len()] {
        let mut end = Connection::inherited(&options(), now);
        feed(&mut end, &hello[..cut], now);
        let lost = match end.poll_event() {
            Some(Event::Lost(error)) => error.other_protocol().map(|other| (other.theirs, error)),
            None => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(lost.as_ref().map(|(theirs, _)| *theirs), (cut > HEADER_BYTES + 1).then_some(2));
        let Some((_, error @ LinkError::Protocol(_))) = lost else { continue };
        let said = error.to_string();
        assert!(said.contains("protocol 2") && said.contains("protocol 1") && said.contains("update this"), "{said}");
    }
}
