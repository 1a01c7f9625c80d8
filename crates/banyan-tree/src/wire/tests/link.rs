//! Over a real link.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_boot::RankSet;
use banyan_link::{Event, Link, LinkOptions};
use banyan_ndr::Record;
use banyan_reduce::Bodies;
use bytes::Bytes;

use super::{frames, meaning};
use crate::ids::{StreamId, WaveNumber};
use crate::message::{Message, Packet};
use crate::run::Run;
use crate::wire::{AddressBook, BODY_ALIGN, Decoder, LONGEST_MESSAGE};

#[derive(Record)]
struct Sample {
    value: u32,
}

/// Bytes of all bodies are told apart by their number.
fn run(first: u64, count: u32, sizes: Option<u32>) -> Message {
    let format = Sample::format().id();
    let bytes = |length: u32| Bytes::from(vec![first as u8; length as usize]);
    let bodies = match sizes {
        Some(size) => Bodies::of_size(format, size, count, bytes(size * count)),
        None => Bodies::by_ends(format, (1..=count).collect(), bytes(count)),
    };
    let members = Arc::new(RankSet::from_iter(0..64));
    let (stream, bodies) = (StreamId(1), bodies.unwrap());
    Message::Run(Run {
        stream,
        first: WaveNumber(first),
        members,
        is_fresh: true,
        is_partial: false,
        yields: None,
        bodies,
    })
}

#[test]
fn messages_arrive_over_a_link_with_their_bodies_where_records_can_be_viewed() {
    let options = LinkOptions::inherited();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (mut here, mut there) = (Link::inherited(ours.into(), &options), Link::inherited(theirs.into(), &options));
    let record = Packet::Record { tag: 1, format: Sample::format().id(), body: vec![9; 5].into(), is_partial: false };
    let record = Message::Packet { stream: StreamId(1), sequence: 7, packet: record };
    let sent = [run(1, 64, Some(16)), run(65, 1, Some(20_000)), run(66, 3, None), record, run(69, 1, Some(4))];
    for frame in frames(&sent, &AddressBook::new(), options.max_payload) {
        if frame.format.is_some() {
            here.send_format(Sample::format()).unwrap();
        }
        here.send(frame);
    }
    here.flush(Instant::now());

    let (mut decoder, mut book) = (Decoder::new(LONGEST_MESSAGE), AddressBook::new());
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut received = Vec::new();
    while received.len() < sent.len() {
        match there.wait(Some(deadline)) {
            Some(Event::Frame(frame)) => received.extend(decoder.decode(&frame, &mut book).unwrap()),
            Some(Event::Opened(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(meaning(&received), meaning(&sent));
    for message in &received {
        let bodies = match message {
            Message::Run(run) => run.bodies.bytes(),
            Message::Packet { packet: Packet::Record { body, .. }, .. } => body,
            other => panic!("{other:?}"),
        };
        assert!(bodies.as_ptr().addr().is_multiple_of(BODY_ALIGN));
    }
}
