//! What travels, and how often.

use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_link::{Address, Frame};
use banyan_ndr::FormatId;
use banyan_reduce::Bodies;

use super::{frames, meaning, messages};
use crate::ids::{Epoch, Level, NodeId, StreamId, WaveNumber};
use crate::message::{Ancestor, Attach, Candidate, Message, NodeInfo, Opening, Packet};
use crate::run::Run;
use crate::stream_options::StreamOptions;
use crate::wire::{ADDRESSES, AddressBook, BODIES, Decoder, Encoder, MEMBERS, OPEN, RUN, RUN_WAVES};

const FORMAT: FormatId = FormatId::from_bytes([7; 16]);

fn run(members: &Arc<RankSet>, size: u32, count: u32) -> Message {
    let bodies = Bodies::of_size(FORMAT, size, count, vec![5; (size * count) as usize].into()).unwrap();
    let members = Arc::clone(members);
    Message::Run(Run {
        stream: StreamId(1),
        first: WaveNumber(10),
        members,
        is_fresh: true,
        is_partial: false,
        yields: None,
        bodies,
    })
}

fn set(ranks: impl IntoIterator<Item = u32>) -> Arc<RankSet> {
    Arc::new(ranks.into_iter().collect())
}

fn kinds(frames: &[Frame]) -> Vec<u8> {
    frames.iter().map(|frame| frame.kind.number()).collect()
}

fn candidate(node: u32) -> Candidate {
    Candidate { node: NodeId(node), level: Level(1) }
}

fn tcp(port: u16) -> Arc<[Address]> {
    [Address::Tcp(([10, 0, 0, 1], port).into())].into()
}

#[test]
fn a_set_travels_once_whichever_message_names_it_first() {
    let everyone = set(0..64);
    let opening =
        Opening { stream: StreamId(1), members: Arc::clone(&everyone), options: StreamOptions::reduce("max(value)") };
    let packet = Packet::Open(Arc::new(opening));
    let open = Message::Packet { stream: StreamId::CONTROL, sequence: 0, packet };
    let sent = [open, run(&everyone, 8, 2), run(&set(0..64), 8, 2), run(&set(0..63), 8, 2)];
    let frames = frames(&sent, &AddressBook::new(), 1 << 20);
    assert_eq!(kinds(&frames), [MEMBERS, OPEN, RUN, RUN, MEMBERS, RUN].map(|kind| kind.number()));
    let received = messages(&frames, &mut AddressBook::new()).unwrap();
    let [Message::Packet { packet: Packet::Open(opening), .. }, Message::Run(first), Message::Run(second), ..] =
        &received[..]
    else {
        panic!("{received:?}")
    };
    assert!(Arc::ptr_eq(&opening.members, &first.members) && Arc::ptr_eq(&first.members, &second.members));
}

#[test]
fn more_sets_than_are_remembered_travel_again_and_arrive() {
    let sent: Vec<Message> = (0..600).chain(0..600).map(|rank| run(&set([rank]), 4, 1)).collect();
    let frames = frames(&sent, &AddressBook::new(), 1 << 20);
    assert_eq!(frames.iter().filter(|frame| frame.kind == MEMBERS).count(), 1200);
    assert_eq!(meaning(&messages(&frames, &mut AddressBook::new()).unwrap()), meaning(&sent));
}

#[test]
fn a_small_run_is_one_frame_of_sixteen_bytes_and_its_bodies() {
    let everyone = set(0..64);
    let frames = frames(&[run(&everyone, 4, 1), run(&everyone, 16, 64)], &AddressBook::new(), 1 << 20);
    let lengths: Vec<usize> = frames[1..].iter().map(|frame| frame.payload.len()).collect();
    assert_eq!(lengths, [20, 16 + 16 * 64]);
    assert_eq!(frames[1].format, Some(FORMAT));
}

#[test]
fn a_body_that_just_fits_into_a_frame_is_not_cut() {
    let everyone = set(0..64);
    let whole = frames(&[run(&everyone, 1 << 16, 1)], &AddressBook::new(), 1 << 16);
    assert_eq!(kinds(&whole), [MEMBERS, RUN, BODIES].map(|kind| kind.number()));
    let cut = frames(&[run(&everyone, (1 << 16) + 1, 1)], &AddressBook::new(), 1 << 16);
    assert_eq!(kinds(&cut), [MEMBERS, RUN, BODIES, BODIES].map(|kind| kind.number()));
}

#[test]
fn a_run_of_very_many_waves_travels_as_several() {
    for (size, ends) in [(0, false), (1, true)] {
        let count = 3 * RUN_WAVES + 5;
        let bytes = vec![1; (size * count) as usize].into();
        let bodies = match ends {
            false => Bodies::of_size(FORMAT, size, count, bytes),
            true => Bodies::by_ends(FORMAT, (1..=count).collect(), bytes),
        };
        let (stream, bodies) = (StreamId(1), bodies.unwrap());
        let sent = [Message::Run(Run {
            stream,
            first: WaveNumber(7),
            members: set([1]),
            is_fresh: false,
            is_partial: true,
            yields: None,
            bodies,
        })];
        let received = messages(&frames(&sent, &AddressBook::new(), 1 << 20), &mut AddressBook::new()).unwrap();
        assert!(received.len() >= 4);
        assert_eq!(meaning(&received), meaning(&sent));
    }
}

#[test]
fn numbers_of_usual_size_take_no_payload() {
    let sent = [
        Message::Acknowledge { stream: StreamId(3), until: WaveNumber(u64::from(u32::MAX)) },
        Message::Acknowledge { stream: StreamId(3), until: WaveNumber(1 << 32) },
    ];
    let lengths: Vec<usize> =
        frames(&sent, &AddressBook::new(), 1 << 20).iter().map(|frame| frame.payload.len()).collect();
    assert_eq!(lengths, [0, 4]);
}

#[test]
fn addresses_are_told_with_the_first_message_that_names_a_node_and_again_when_they_change() {
    let (mut book, mut theirs) = (AddressBook::new(), AddressBook::new());
    let (mut encoder, mut decoder) = (Encoder::new(1 << 20), Decoder::new(1 << 20));
    let mut send = |book: &AddressBook, message: Message| {
        let mut frames = Vec::new();
        encoder.encode(&message, book, &mut frames);
        for frame in &frames {
            let is_last = frame.kind != ADDRESSES;
            assert_eq!(decoder.decode(frame, &mut theirs).unwrap().is_some(), is_last);
        }
        let told = |node| theirs.get(NodeId(node)).cloned();
        (frames.iter().filter(|frame| frame.kind == ADDRESSES).count(), told(1), told(2))
    };
    let ancestry: Arc<[Ancestor]> = [Ancestor { itself: candidate(1), children: vec![candidate(2)] }].into();
    assert_eq!(send(&book, Message::Welcome(Arc::clone(&ancestry))), (0, None, None));
    book.set(NodeId(2), tcp(2));
    assert_eq!(send(&book, Message::Ancestry(Arc::clone(&ancestry))), (1, None, Some(tcp(2))));
    book.set(NodeId(1), tcp(1));
    let both = (Some(tcp(1)), Some(tcp(2)));
    assert_eq!(send(&book, Message::Refuse(vec![candidate(2), candidate(1)])), (1, both.0.clone(), both.1.clone()));
    book.set(NodeId(1), tcp(1));
    assert_eq!(send(&book, Message::Ancestry(Arc::clone(&ancestry))), (0, both.0, both.1));
    book.set(NodeId(1), tcp(3));
    assert_eq!(send(&book, Message::Ancestry(ancestry)), (1, Some(tcp(3)), Some(tcp(2))));
}

#[test]
fn who_asks_for_a_parent_says_where_it_can_be_reached() {
    let mut book = AddressBook::new();
    let addresses = [
        Address::Unix("/run/banyan/node".into()),
        Address::Abstract("banyan-node".to_owned()),
        Address::Tcp("10.1.2.3:77".parse().unwrap()),
        Address::Tcp("[fe80::1%4]:78".parse().unwrap()),
    ];
    // These mean nothing to others.
    let useless = [Address::Unix("relative".into()), Address::Abstract("long".repeat(100))];
    book.set(NodeId(4), [&useless[..], &addresses[..]].concat());
    book.set(NodeId(5), tcp(5));
    let place = |node| {
        let (node, parent) = (NodeId(node), NodeId(1));
        NodeInfo { node, parent, epoch: Epoch(1), level: Level(2), rank: None }
    };
    let attach = Attach { place: place(4), is_urgent: true, is_new: false, below: vec![place(5)], resumes: Vec::new() };
    let mut theirs = AddressBook::new();
    let sent = [Message::Attach(attach)];
    let received = messages(&frames(&sent, &book, 1 << 20), &mut theirs).unwrap();
    assert_eq!(meaning(&received), meaning(&sent));
    assert_eq!(theirs.get(NodeId(4)).unwrap()[..], addresses);
    assert_eq!(theirs.get(NodeId(5)), None);
}
