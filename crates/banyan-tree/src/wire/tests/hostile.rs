//! What a peer may send that means ill, or is broken.

use banyan_link::{Frame, Kind};
use banyan_ndr::FormatId;
use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;

use super::messages::any_message;
use super::{frames, meaning, messages};
use crate::message::Message;
use crate::wire::{
    APART, AddressBook, BODIES, Decoder, LONGEST_SET, MEMBERS, MORE, OPEN, PLACED, RECORD, RUN, RUN_WAVES, SCATTER,
    SHORTEST_PAYLOAD, WITHDRAW, WireError,
};

fn decode(frames: &[Frame]) -> Result<Vec<Message>, WireError> {
    messages(frames, &mut AddressBook::new())
}

fn frame(kind: Kind, flags: u8, payload: &[u8]) -> Frame {
    let format = [RUN, RECORD, SCATTER].contains(&kind).then(|| FormatId::from_bytes([1; 16]));
    Frame { flags, format, ..Frame::new(kind, 0, 0, Bytes::copy_from_slice(payload)) }
}

/// A header that is right in most respects, and a payload of small numbers or of any bytes.
fn any_frame() -> impl Strategy<Value = Frame> {
    let flags = prop::sample::select(vec![0, 1, 4, 5, APART, APART | 1, MORE, 0x20]);
    let flags = prop_oneof![3 => Just(0), 1 => flags];
    let words = vec(prop_oneof![3 => 0u32..3, 1 => any::<u32>()], 0..11);
    let words = words.prop_map(|words| words.into_iter().flat_map(u32::to_le_bytes).collect());
    let bytes = prop_oneof![1 => Just(Vec::new()), 3 => words, 1 => vec(any::<u8>(), 0..80)];
    let numbers = prop_oneof![4 => Just((0, 0)), 1 => (0u32..2, 0u32..2), 1 => any::<(u32, u32)>()];
    (31u8..80, flags, numbers, bytes).prop_map(|(kind, flags, (stream, sequence), bytes)| Frame {
        stream,
        sequence,
        ..frame(Kind::data(kind), flags, &bytes)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_frames_are_an_error_or_messages_that_can_be_sent_on(frames in vec(any_frame(), 1..6)) {
        let mut decoder = Decoder::new(1 << 20);
        let mut book = AddressBook::new();
        let nobody = frame(MEMBERS, 0, &[0]);
        for frame in std::iter::once(&nobody).chain(&frames) {
            let Ok(message) = decoder.decode(frame, &mut book) else { break };
            let message: Vec<Message> = message.into_iter().collect();
            let again = decode(&super::frames(&message, &book, SHORTEST_PAYLOAD)).unwrap();
            prop_assert_eq!(meaning(&again), meaning(&message));
        }
    }
}

proptest! {
    #[test]
    fn frames_that_were_damaged_are_an_error_or_messages(
        sent in vec(any_message(), 1..4), which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(),
        value in any::<u8>(), damage in 0..6,
    ) {
        let mut frames = frames(&sent, &AddressBook::new(), SHORTEST_PAYLOAD);
        let which = which.index(frames.len());
        let mut payload = frames[which].payload.to_vec();
        match damage {
            0 => drop(frames.remove(which)),
            1 => frames.insert(which, frames[which].clone()),
            2 => frames[which].flags ^= value,
            3 => frames[which].sequence ^= u32::from(value),
            4 if !payload.is_empty() => payload[at.index(frames[which].payload.len())] ^= value,
            _ => payload.truncate(at.index(payload.len() + 1)),
        }
        if damage >= 4 {
            frames[which].payload = payload.into();
        }
        if let Ok(received) = decode(&frames) {
            let again = decode(&super::frames(&received, &AddressBook::new(), SHORTEST_PAYLOAD)).unwrap();
            prop_assert_eq!(meaning(&again), meaning(&received));
        }
    }
}

#[test]
fn numbers_that_announce_more_than_there_is_are_refused() {
    let error = decode(&[frame(PLACED, 0, &[0xff; 4])]).unwrap_err();
    assert!(matches!(error, WireError::Cut { message: "a report of places", at: 4, .. }), "{error}");
    let mut run = [0; 16];
    run[8..12].copy_from_slice(&(RUN_WAVES + 1).to_le_bytes());
    let error = decode(&[frame(RUN, 0, &run)]).unwrap_err();
    assert_eq!(error.to_string(), "a run: how many waves there are is 65537, which cannot be; the sender is broken");
    run[8..12].copy_from_slice(&RUN_WAVES.to_le_bytes());
    let error = decode(&[frame(RUN, 4, &run)]).unwrap_err();
    assert!(matches!(error, WireError::Cut { part: "where bodies end", .. }), "{error}");
    let error = decode(&[frame(RUN, 0, &run)]).unwrap_err();
    assert_eq!(error, WireError::UnknownSet { message: "a run", number: 0 });
}

#[test]
fn pieces_that_never_end_are_refused_at_the_limit() {
    let mut decoder = Decoder::new(1000);
    let mut book = AddressBook::new();
    let piece = frame(BODIES, MORE, &[0; 100]);
    for _ in 0..10 {
        assert!(decoder.decode(&piece, &mut book).unwrap().is_none());
    }
    let error = decoder.decode(&piece, &mut book).unwrap_err();
    assert_eq!(error, WireError::TooLong { message: "bodies", limit: 1000 });
    let set = frame(MEMBERS, MORE, &[0; LONGEST_SET]);
    assert!(matches!(decode(&[set.clone(), set]), Err(WireError::TooLong { limit: LONGEST_SET, .. })));
}

#[test]
fn messages_between_the_parts_of_another_are_refused() {
    let withdraw = frame(WITHDRAW, 0, &[]);
    let interrupted = |message| Err(WireError::Interrupted { message, other: "a withdrawal from a stream" });
    let piece = frame(PLACED, MORE, &[0; 4]);
    assert_eq!(decode(&[piece, withdraw.clone()]).map(|_| ()), interrupted("a report of places"));
    let head = frame(RECORD, APART, &[0; 16]);
    assert_eq!(decode(&[head.clone(), withdraw]).map(|_| ()), interrupted("a record"));
    assert_eq!(decode(&[frame(BODIES, 0, &[1])]).map(|_| ()), Err(WireError::Unannounced));
    assert_eq!(decode(&[head, frame(BODIES, 0, &[1])]).unwrap().len(), 1);
}

#[test]
fn headers_with_more_or_less_than_their_kind_has_are_refused() {
    let wrong = |part| Err(WireError::Header { message: "a withdrawal from a stream", part });
    let withdraw = frame(WITHDRAW, 0, &[]);
    assert_eq!(decode(&[Frame { flags: 1, ..withdraw.clone() }]).map(|_| ()), wrong("flags"));
    assert_eq!(decode(&[Frame { sequence: 1, ..withdraw.clone() }]).map(|_| ()), wrong("sequence"));
    let format = Some(FormatId::from_bytes([1; 16]));
    assert_eq!(decode(&[Frame { format, ..withdraw.clone() }]).map(|_| ()), wrong("format"));
    let long = Frame { payload: Bytes::from_static(&[0]), ..withdraw };
    let message = "a withdrawal from a stream";
    assert_eq!(decode(&[long]).map(|_| ()), Err(WireError::Rest { message, bytes: 1 }));
    assert_eq!(decode(&[frame(Kind::data(63), 0, &[])]).map(|_| ()), Err(WireError::Kind(63)));
}

#[test]
fn a_synchronisation_that_is_no_text_is_refused() {
    let set = frame(MEMBERS, 0, &[0]);
    let open = frame(OPEN, 0, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0xff]);
    let error = decode(&[set, open]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the opening of a stream: the synchronisation at offset 16 cannot be read; the sender is broken"
    );
}
