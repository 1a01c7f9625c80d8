//! The protocol between two ends, with a virtual clock and a wire that is cut as the test wants.

#[path = "../pair/mod.rs"]
mod pair;

mod descriptions;

use std::time::{Duration, Instant};

use banyan_link::{
    Capabilities, Connection, Event, Frame, Heartbeat, INITIAL_CREDIT, Kind, LinkError, LinkOptions, ProtocolError,
    SLAB_BYTES, frame_cost,
};
use banyan_ndr::Record;
use pair::{CONTROL, DATA, Pair, payload};
use proptest::prelude::*;

fn small() -> LinkOptions {
    LinkOptions::default().max_payload(20_000).window(128 << 10)
}

fn frame(kind: Kind, sequence: u32, length: usize) -> Frame {
    Frame { flags: 5, ..Frame::new(kind, 7, sequence, payload(length, sequence as u8)) }
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let length = prop_oneof![0..100usize, 1990..2100usize, 0..20_000usize];
    let frames = prop::collection::vec((any::<bool>(), length), 0..30);
    frames.prop_map(|frames| {
        let make = |(sequence, (data, length))| frame(if data { DATA } else { CONTROL }, sequence as u32, length);
        frames.into_iter().enumerate().map(make).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever the cuts, encrypted or not: the same frames, each class in its order, every payload aligned.
    #[test]
    fn any_cutting_of_the_stream_gives_the_same_frames(
        frames in frames(),
        cuts in prop::collection::vec(prop_oneof![1..50usize, 1..70_000usize], 1..40),
        encrypt: bool,
    ) {
        let mut pair = Pair::dialled(&small(), encrypt);
        frames.iter().for_each(|frame| pair.ends[0].send(frame.clone()));
        let (mut received, mut cuts) = (Vec::new(), cuts.into_iter().cycle());
        loop {
            (0..2).for_each(|end| pair.transmit(end));
            if pair.wire.iter().all(|wire| wire.is_empty()) {
                break;
            }
            (0..2).for_each(|end| pair.deliver(end, cuts.next().unwrap()));
            for frame in pair.frames(1) {
                if frame.kind.is_data() {
                    pair.ends[1].release(frame.cost());
                }
                prop_assert!(frame.payload.is_empty() || frame.payload.as_ptr().addr().is_multiple_of(16));
                received.push(frame);
            }
        }
        for kind in [DATA, CONTROL] {
            let of = |frames: &[Frame]| frames.iter().filter(|frame| frame.kind == kind).cloned().collect::<Vec<_>>();
            prop_assert_eq!(of(&received), of(&frames));
        }
    }

    /// However much is queued and released, no more is under way than was granted, and all arrives in the end.
    #[test]
    fn credit_is_never_exceeded(
        lengths in prop::collection::vec(0..20_000usize, 1..60),
        releases in prop::collection::vec(any::<bool>(), 1..20),
    ) {
        let mut pair = Pair::new(&small());
        let window = small().window;
        for (sequence, length) in lengths.iter().enumerate() {
            pair.ends[0].send(frame(DATA, sequence as u32, *length));
        }
        let (mut held, mut count, mut releases) = (0, 0, releases.into_iter().chain([true]).cycle());
        while count < lengths.len() {
            pair.settle();
            for frame in pair.frames(1) {
                count += 1;
                held += frame.cost();
            }
            prop_assert!(held <= window, "{held} of {window}");
            if releases.next().unwrap() {
                pair.ends[1].release(std::mem::take(&mut held));
            }
        }
    }

    /// Bytes of a stranger on an open link never make it panic, and cost it the link or nothing.
    #[test]
    fn garbage_on_an_open_link_ends_it_and_nothing_else(
        mut bytes in prop::collection::vec(any::<u8>(), 32..400),
        kind in prop_oneof![0..16u8, any::<u8>()],
        plausible: bool,
    ) {
        let mut pair = Pair::new(&small());
        pair.settle();
        if plausible {
            let length = bytes[0] % 64;
            bytes[..8].copy_from_slice(&[length, 0, 0, 0, kind, 0, 0, 0]);
        }
        let now = pair.now;
        pair::feed(&mut pair.ends[1], &bytes, now);
        let events = pair.events(1);
        let ends = events.iter().filter(|event| matches!(event, Event::Lost(_) | Event::Closed)).count();
        prop_assert!(ends <= 1);
    }
}

#[test]
fn frames_may_follow_the_hello_without_a_round_trip() {
    let mut pair = Pair::new(&small());
    pair.ends[0].send(frame(DATA, 1, 100));
    pair.transmit(0);
    pair.deliver(0, usize::MAX);
    assert_eq!(pair.frames(1), [frame(DATA, 1, 100)]);
}

#[test]
fn what_both_sides_can_do_may_be_used_once_the_peer_has_said_hello() {
    let can = |numbers: &[u32]| {
        let capabilities = numbers.iter().fold(Capabilities::NONE, |all, number| all | Capabilities::of_user(*number));
        Connection::inherited(&small().capabilities(capabilities), Instant::now())
    };
    let mut pair = Pair::of([can(&[0, 1]), can(&[1, 23])], Instant::now());
    assert_eq!(pair.ends[0].capabilities(), Capabilities::NONE);
    pair.settle();
    assert_eq!(pair.ends.each_ref().map(Connection::capabilities), [Capabilities::of_user(1); 2]);
}

#[test]
fn no_more_than_the_initial_credit_goes_before_the_peers_hello() {
    let mut pair = Pair::new(&LinkOptions::default());
    assert_eq!(pair.ends[0].credit_left(), INITIAL_CREDIT);
    (0..100).for_each(|sequence| pair.ends[0].send(frame(DATA, sequence, 1000)));
    pair.transmit(0);
    pair.deliver(0, usize::MAX);
    assert_eq!(pair.frames(1).len(), INITIAL_CREDIT / frame_cost(1000));
    pair.settle();
    assert_eq!(pair.frames(1).len(), 100 - INITIAL_CREDIT / frame_cost(1000));
    assert_eq!(pair.ends[0].credit_left(), LinkOptions::default().window - 100 * frame_cost(1000));
}

#[test]
fn control_overtakes_data_that_is_queued() {
    let mut pair = Pair::new(&small());
    pair.settle();
    (0..20).for_each(|sequence| pair.ends[0].send(frame(DATA, sequence, 20_000)));
    pair.ends[0].send(frame(CONTROL, 99, 10));
    pair.settle();
    let frames = pair.frames(1);
    let control = frames.iter().position(|frame| frame.kind == CONTROL).expect("control does not wait for credit");
    assert!(control * frame_cost(20_000) <= 128 << 10, "it waited behind {control} frames");
    assert!(frames.len() < 21, "data waits");
}

#[test]
fn the_credit_that_is_left_comes_back_with_releases() {
    let mut pair = Pair::new(&small());
    pair.settle();
    let window = small().window;
    assert_eq!(pair.ends[0].credit_left(), window);
    (0..6).for_each(|sequence| pair.ends[0].send(frame(DATA, sequence, 20_000)));
    assert_eq!(pair.ends[0].credit_left(), window - 6 * frame_cost(20_000));
    pair.ends[0].send(frame(DATA, 6, 20_000));
    assert_eq!(pair.ends[0].credit_left(), 0);
    pair.settle();
    let frames = pair.frames(1);
    assert_eq!(frames.len(), 6);
    frames.iter().for_each(|frame| pair.ends[1].release(frame.cost()));
    pair.settle();
    assert_eq!(pair.frames(1).len(), 1);
    assert!(pair.ends[0].credit_left() > window / 2);
}

#[test]
fn a_sender_that_never_stops_loses_the_link_instead_of_all_memory() {
    let mut pair = Pair::new(&small());
    pair.settle();
    (0..1000).for_each(|sequence| pair.ends[0].send(frame(DATA, sequence, 20_000)));
    assert!(matches!(pair.events(0).last(), Some(Event::Lost(LinkError::Overfull { .. }))));
}

#[derive(Record, Debug, PartialEq, Clone)]
struct Reading {
    host: String,
    load: Vec<f64>,
}

fn reading() -> Reading {
    Reading { host: "n17".into(), load: vec![0.5, 0.25] }
}

#[test]
fn a_format_travels_once_and_its_records_are_decoded() {
    let mut pair = Pair::new(&small());
    for sequence in 0..3 {
        pair.ends[0].send_record(DATA, 1, sequence, &reading()).unwrap();
    }
    pair.transmit(0);
    let description = Reading::format().encoded();
    let bytes: Vec<u8> = pair.wire[0].iter().copied().collect();
    let times = bytes.windows(description.len()).filter(|window| *window == description).count();
    assert_eq!(times, 1);
    pair.settle();
    let frames = pair.frames(1);
    assert_eq!(frames.len(), 3);
    for frame in &frames {
        assert_eq!(pair.ends[1].decode::<Reading>(frame).unwrap(), reading());
    }
}

#[test]
fn a_record_without_its_format_is_an_error_that_says_so() {
    let mut pair = Pair::new(&small());
    let id = Reading::format().id();
    pair.ends[0].send(Frame { format: Some(id), ..frame(DATA, 0, 10) });
    pair.settle();
    let expected = LinkError::Protocol(ProtocolError::UnknownFormat(id));
    assert_eq!(pair.events(1).pop(), Some(Event::Lost(expected)));
}

#[test]
fn a_peer_teaches_no_more_formats_than_allowed() {
    #[derive(Record)]
    struct Other {
        number: u8,
    }
    let few = small().formats(1);
    let mut pair = Pair::new(&few);
    pair.ends[0].send_record(DATA, 0, 0, &reading()).unwrap();
    assert!(pair.ends[0].send_record(DATA, 0, 0, &Other { number: 1 }).is_err());
    pair.settle();
    assert_eq!(pair.frames(1).len(), 1);

    let now = pair.now;
    let mut generous = banyan_link::Connection::inherited(&small(), now);
    generous.send_record(DATA, 0, 0, &reading()).unwrap();
    generous.send_record(DATA, 0, 0, &Other { number: 1 }).unwrap();
    let mut end = banyan_link::Connection::inherited(&few, now);
    pair::feed(&mut end, &pair::transmit(&mut generous, now), now);
    let events: Vec<Event> = std::iter::from_fn(|| end.poll_event()).collect();
    assert_eq!(events.last(), Some(&Event::Lost(LinkError::Protocol(ProtocolError::TooManyFormats(1)))));
}

#[test]
fn a_goodbye_comes_behind_all_data_and_is_no_loss() {
    let mut pair = Pair::new(&small());
    pair.settle();
    (0..20).for_each(|sequence| pair.ends[0].send(frame(DATA, sequence, 20_000)));
    pair.ends[0].close();
    pair.ends[0].send(frame(DATA, 99, 1));
    let mut count = 0;
    loop {
        pair.settle();
        let events = pair.events(1);
        for event in &events {
            if let Event::Frame(frame) = event {
                assert_eq!(frame.sequence, count);
                count += 1;
                pair.ends[1].release(frame.cost());
            }
        }
        if events.last() == Some(&Event::Closed) {
            break;
        }
    }
    assert_eq!(count, 20);
    assert!(pair.ends[0].is_finished());
    pair.ends[0].end_of_input();
    assert_eq!(pair.events(0).last(), Some(&Event::Closed));
}

#[test]
fn an_end_without_goodbye_is_a_loss_that_says_whether_a_frame_was_cut() {
    for (cut, in_frame) in [(0, false), (10, true)] {
        let mut pair = Pair::new(&small());
        pair.settle();
        pair.ends[0].send(frame(CONTROL, 0, 100));
        pair.transmit(0);
        pair.deliver(0, cut);
        pair.ends[1].end_of_input();
        assert_eq!(pair.events(1).last(), Some(&Event::Lost(LinkError::Ended { in_frame })));
    }
}

#[test]
fn frames_before_a_broken_one_are_delivered_before_the_loss() {
    let mut pair = Pair::new(&small());
    pair.ends[0].send(frame(DATA, 1, 40));
    pair.transmit(0);
    pair.wire[0].extend([0xff; 64]);
    pair.deliver(0, usize::MAX);
    let events = pair.events(1);
    assert!(
        matches!(&events[..], [Event::Opened(_), Event::Frame(_), Event::Lost(LinkError::Protocol(_))]),
        "{events:?}"
    );
}

fn lost_by(bytes: [u8; 32], payload: &[u8]) -> ProtocolError {
    let mut pair = Pair::new(&small());
    pair.settle();
    pair.wire[0].extend(bytes.iter().chain(payload));
    pair.deliver(0, usize::MAX);
    match pair.events(1).pop() {
        Some(Event::Lost(LinkError::Protocol(error))) => error,
        other => panic!("{other:?}"),
    }
}

fn header(length: u32, kind: u8) -> [u8; 32] {
    let mut header = [0; 32];
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4] = kind;
    header
}

#[test]
fn every_breach_of_the_protocol_has_its_own_error() {
    assert_eq!(lost_by(header(20_001, 20), &[]), ProtocolError::TooLong { length: 20_001, limit: 20_000 });
    assert_eq!(lost_by(header(u32::MAX, 200), &[]), ProtocolError::TooLong { length: u32::MAX, limit: 20_000 });
    assert_eq!(lost_by(header(0, 0), &[]), ProtocolError::UnknownKind(0));
    assert_eq!(lost_by(header(0, 15), &[]), ProtocolError::UnknownKind(15));
    assert_eq!(lost_by(header(32, 1), &[0; 32]), ProtocolError::Hello(1));
    assert_eq!(lost_by(header(9, 3), &[0; 16]), ProtocolError::Length { kind: 3, length: 9 });
    assert!(matches!(lost_by(header(16, 3), &[0; 16]), ProtocolError::Credit { now: 0, .. }));
    assert_eq!(lost_by(header(16, 3), &[1; 16]), ProtocolError::Taken { taken: 0x0101_0101_0101_0101, sent: 0 });
    assert_eq!(
        lost_by(header(1, 20), &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ProtocolError::Reserved { kind: 20 }
    );
    let mut reserved = header(0, 20);
    reserved[7] = 1;
    assert_eq!(lost_by(reserved, &[]), ProtocolError::Reserved { kind: 20 });
    for (kind, lies_apart) in [(20, 2), (200, 1), (3, 1)] {
        let mut reserved = header(16, kind);
        reserved[6] = lies_apart;
        assert_eq!(lost_by(reserved, &[0; 16]), ProtocolError::Reserved { kind });
    }
    // Nothing of this was agreed on a link without a driver that passes descriptors.
    let mut apart = header(100, 20);
    apart[6] = 1;
    assert!(matches!(lost_by(apart, &[0; 16]), ProtocolError::Pool(_)));
    assert!(matches!(lost_by(header(8, 6), &[0; 16]), ProtocolError::Pool(_)));
    assert_eq!(lost_by(header(7, 6), &[0; 16]), ProtocolError::Length { kind: 6, length: 7 });
    for kind in 7..=9 {
        assert!(matches!(lost_by(header(0, kind), &[]), ProtocolError::Pool(_)));
        assert_eq!(lost_by(header(1, kind), &[0; 16]), ProtocolError::Length { kind, length: 1 });
    }
    let mut flags = header(0, 5);
    flags[5] = 1;
    assert_eq!(lost_by(flags, &[]), ProtocolError::Reserved { kind: 5 });
    assert!(matches!(
        lost_by(header(3, 2), &[1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ProtocolError::Format(_)
    ));
    assert_eq!(
        lost_by(header(8, 4), &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ProtocolError::Incarnation { before: 0, now: 9 }
    );
}

#[test]
fn a_peer_that_overruns_its_credit_is_cut_off() {
    let mut pair = Pair::new(&small());
    pair.settle();
    let one: Vec<u8> = header(20_000, 20).into_iter().chain([0; 20_000]).collect();
    for _ in 0..7 {
        pair.wire[0].extend(&one);
    }
    pair.deliver(0, usize::MAX);
    let events = pair.events(1);
    assert_eq!(events.iter().filter(|event| matches!(event, Event::Frame(_))).count(), 6);
    assert!(matches!(events.last(), Some(Event::Lost(LinkError::Protocol(ProtocolError::Overrun { .. })))));
}

#[test]
fn the_first_frame_must_be_the_hello() {
    let mut pair = Pair::new(&small());
    pair.wire[0].extend(header(0, 20));
    pair.deliver(0, usize::MAX);
    let expected = LinkError::Protocol(ProtocolError::Hello(20));
    assert_eq!(pair.events(1), [Event::Lost(expected)]);
}

#[test]
fn ends_that_take_different_payloads_say_so() {
    let now = std::time::Instant::now();
    let mut one = banyan_link::Connection::inherited(&small(), now);
    let mut other = banyan_link::Connection::inherited(&LinkOptions::default(), now);
    pair::feed(&mut other, &pair::transmit(&mut one, now), now);
    let expected = ProtocolError::MaxPayload { ours: 1 << 20, theirs: 20_000 };
    assert_eq!(other.poll_event(), Some(Event::Lost(LinkError::Protocol(expected))));
}

#[test]
fn silence_is_noticed_in_time_and_signs_of_life_prevent_it() {
    for encrypt in [false, true] {
        let mut pair = Pair::dialled(&small(), encrypt);
        pair.settle();
        for _ in 0..100 {
            pair.pass(Duration::from_millis(500));
            pair.settle();
        }
        assert_eq!(pair.frames(0), []);
        assert_eq!(pair.frames(1), []);
        assert!(pair.ends[1].counters().heartbeats >= 49);
        // From now on nothing arrives any more.
        let mut passed = Duration::ZERO;
        while pair.ends[1].poll_event().is_none() {
            pair.pass(Duration::from_millis(10));
            passed += Duration::from_millis(10);
            assert!(passed <= Duration::from_secs(3), "not noticed");
        }
        assert!(passed >= Duration::from_secs(2));
    }
}

#[test]
fn timeouts_are_announced_and_enough() {
    let mut pair = Pair::new(&small());
    pair.settle();
    for _ in 0..20 {
        let next = pair.ends.iter().filter_map(|end| end.poll_timeout()).min().unwrap();
        assert!(next > pair.now);
        let time = next - pair.now;
        pair.pass(time);
        pair.settle();
    }
    assert_eq!((pair.frames(0), pair.frames(1)), (vec![], vec![]));
}

#[test]
fn a_peer_without_heartbeats_is_not_waited_for() {
    let now = std::time::Instant::now();
    let quiet = small().heartbeat(None);
    let mut quiet_end = banyan_link::Connection::inherited(&quiet, now);
    let mut end = banyan_link::Connection::inherited(&small(), now);
    pair::feed(&mut end, &pair::transmit(&mut quiet_end, now), now);
    end.handle_timeout(now + Duration::from_secs(100));
    assert!(matches!(end.poll_event(), Some(Event::Opened(_))));
    assert_eq!(end.poll_event(), None);
    assert_eq!(quiet_end.poll_timeout(), None);
}

#[test]
fn a_slow_heart_is_given_more_time() {
    let slow = Heartbeat::default().every(Duration::from_secs(10)).lost_after(Duration::from_secs(30));
    let now = std::time::Instant::now();
    let mut slow_end = banyan_link::Connection::inherited(&small().heartbeat(slow), now);
    let mut end = banyan_link::Connection::inherited(&small(), now);
    pair::feed(&mut end, &pair::transmit(&mut slow_end, now), now);
    end.handle_timeout(now + Duration::from_secs(29));
    assert!(matches!(end.poll_event(), Some(Event::Opened(_))));
    assert_eq!(end.poll_event(), None);
    end.handle_timeout(now + Duration::from_secs(30));
    assert!(matches!(end.poll_event(), Some(Event::Lost(LinkError::Silent(_)))));
}

#[test]
fn an_idle_link_holds_no_slab_and_all_of_them_share_one_supply() {
    let options = small();
    let mut pairs: Vec<Pair> = (0..50).map(|_| Pair::new(&options)).collect();
    for pair in &mut pairs {
        pair.ends[0].send(frame(DATA, 0, 5000));
        pair.settle();
        assert_eq!(pair.frames(1).len(), 1);
        pair.ends.iter_mut().for_each(|end| end.settle());
    }
    // Both ends of all pairs made do with a few slabs, and all of them are back.
    let spare = options.slabs.spare_bytes();
    assert!((SLAB_BYTES..=101 * SLAB_BYTES).contains(&spare), "{spare}");
    assert!(size_of::<banyan_link::Connection>() < 1200, "{}", size_of::<banyan_link::Connection>());
}

#[test]
fn a_held_payload_keeps_little_alive_once_detached() {
    let mut pair = Pair::new(&small());
    pair.ends[0].send(frame(DATA, 0, 100));
    pair.settle();
    let mut frame = pair.frames(1).remove(0);
    let before = frame.payload.clone();
    frame.detach();
    assert_eq!(frame.payload, before);
    assert!(before.as_ptr() != frame.payload.as_ptr());
    assert!(frame.payload.as_ptr().addr().is_multiple_of(16));
}

#[test]
fn an_encrypted_stream_shows_nothing_of_its_frames_and_no_change_goes_unnoticed() {
    let secret = b"nobody but the peer may read this";
    for flip in [0, 1, 2, 30, 60] {
        let mut pair = Pair::dialled(&small(), true);
        pair.settle();
        pair.ends[0].send(Frame::new(DATA, 0, 0, &secret[..]));
        pair.transmit(0);
        let bytes: Vec<u8> = pair.wire[0].iter().copied().collect();
        assert!(!bytes.windows(8).any(|window| window == &secret[..8]));
        pair.wire[0][flip] ^= 1;
        pair.deliver(0, usize::MAX);
        pair.ends[1].end_of_input();
        let events = pair.events(1);
        assert!(matches!(&events[..], [Event::Opened(_), Event::Lost(_)]), "{events:?}");
    }
}

#[test]
fn a_repeated_message_is_noticed() {
    let mut pair = Pair::dialled(&small(), true);
    pair.settle();
    pair.ends[0].send(frame(DATA, 0, 10));
    pair.transmit(0);
    let again = pair.wire[0].clone();
    pair.wire[0].extend(again);
    pair.deliver(0, usize::MAX);
    assert_eq!(pair.events(1).pop(), Some(Event::Lost(LinkError::Protocol(ProtocolError::Forged))));
}
