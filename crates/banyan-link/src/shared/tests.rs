//! Rings against a model, and what hostile contents do to them; over ordinary memory, so that Miri can run it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use proptest::prelude::*;

use super::ring::{Ring, RingReader, RingWriter, SHARED_PAYLOAD};
use crate::arena::Arena;
use crate::frame::{Frame, Kind};

const CAPACITY: u32 = 1024;

fn ring() -> (Ring, Vec<AtomicU32>) {
    let ring = Ring { written: 0, data: 1, capacity: CAPACITY };
    (ring, (0..=CAPACITY).map(|_| AtomicU32::new(0)).collect())
}

fn frame(sequence: u32, length: usize) -> Frame {
    let payload: Vec<u8> = (0..length).map(|at| (at as u32 ^ sequence) as u8).collect();
    Frame { flags: sequence as u8, ..Frame::new(Kind::data(16), sequence + 1, sequence, payload) }
}

/// What happens to a ring with two readers.
#[derive(Debug, Clone)]
enum Operation {
    Write(usize),
    Read(usize),
}

fn steps() -> impl Strategy<Value = Vec<Operation>> {
    let write = (0..=SHARED_PAYLOAD).prop_map(Operation::Write);
    let short = (0..40usize).prop_map(Operation::Write);
    let read = (0..2usize).prop_map(Operation::Read);
    prop::collection::vec(prop_oneof![1 => write, 3 => short, 5 => read], 0..200)
}

proptest! {
    #[test]
    fn every_reader_gets_every_frame_once_in_order_and_nothing_unread_is_overwritten(steps in steps(), start: u32) {
        let (ring, words) = ring();
        // Positions wrap around; that must not show.
        words[0].store(start, Ordering::Relaxed);
        let mut writer = RingWriter::starting_at(ring, start);
        let mut readers = [RingReader::new(ring, start), RingReader::new(ring, start)];
        let mut model = [VecDeque::new(), VecDeque::new()];
        for (sequence, step) in (0..).zip(steps) {
            match step {
                Operation::Write(length) => {
                    let frame = frame(sequence, length);
                    let unread = readers.each_ref().map(|reader| writer.written().wrapping_sub(reader.read()));
                    let slowest = writer.written().wrapping_sub(unread[0].max(unread[1]));
                    let fits = unread[0].max(unread[1]) as usize + 9 + length.div_ceil(4) <= CAPACITY as usize;
                    prop_assert_eq!(writer.write(&words, sequence, &frame, slowest), fits);
                    if fits {
                        model.iter_mut().for_each(|queue| queue.push_back((sequence, frame.clone())));
                    }
                }
                Operation::Read(which) => {
                    prop_assert_eq!(readers[which].next(&words, &mut Arena::new(Arena::FEW), |_, _| true), Ok(model[which].pop_front()));
                }
            }
        }
    }

    #[test]
    fn hostile_words_are_an_error_or_a_frame_that_was_there(
        written: u32,
        hostile in prop::collection::vec(any::<u32>(), 64),
        length in 0u32..2000,
    ) {
        let (ring, words) = ring();
        hostile.iter().zip(&words[1..]).for_each(|(word, at)| at.store(*word, Ordering::Relaxed));
        words[0].store(written, Ordering::Relaxed);
        // A header that can be decoded half of the time, with any length.
        words[2].store(length, Ordering::Relaxed);
        words[3].store(hostile[0] & 0xff, Ordering::Relaxed);
        (6..10).for_each(|at| words[at].store(0, Ordering::Relaxed));
        let mut reader = RingReader::new(ring, 0);
        if let Ok(Some((_, frame))) = reader.next(&words, &mut Arena::new(Arena::FEW), |_, _| true) {
            prop_assert!(frame.payload.len() <= SHARED_PAYLOAD && !frame.kind.is_link());
            prop_assert!(reader.read() <= written && written <= CAPACITY);
        }
    }
}

#[test]
fn what_is_not_wanted_stays() {
    let (ring, words) = ring();
    assert!(RingWriter::starting_at(ring, 0).write(&words, 7, &frame(1, 5), 0));
    let mut reader = RingReader::new(ring, 0);
    assert_eq!(reader.next(&words, &mut Arena::new(Arena::FEW), |_, _| false), Ok(None));
    assert_eq!(reader.next(&words, &mut Arena::new(Arena::FEW), |_, _| true), Ok(Some((7, frame(1, 5)))));
}

#[test]
fn a_write_that_was_not_finished_is_never_seen() {
    let (ring, words) = ring();
    let torn = frame(3, 100);
    RingWriter::starting_at(ring, 0).write(&words, 0, &torn, 0);
    // The writer was killed before it published how far it had written.
    words[0].store(0, Ordering::Relaxed);
    assert_eq!(RingReader::new(ring, 0).next(&words, &mut Arena::new(Arena::FEW), |_, _| true), Ok(None));
}

#[test]
fn a_reader_on_another_processor_sees_whole_frames_in_order() {
    const FRAMES: u32 = if cfg!(miri) { 50 } else { 100_000 };
    let (ring, words) = ring();
    let read = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = RingWriter::starting_at(ring, 0);
            for sequence in 0..FRAMES {
                let frame = frame(sequence, sequence as usize % 200);
                while !writer.write(&words, sequence, &frame, read.load(Ordering::Acquire)) {
                    std::thread::yield_now();
                }
            }
        });
        let mut reader = RingReader::new(ring, 0);
        for sequence in 0..FRAMES {
            let next = loop {
                match reader.next(&words, &mut Arena::new(Arena::FEW), |_, _| true).unwrap() {
                    Some(next) => break next,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(next, (sequence, frame(sequence, sequence as usize % 200)));
            read.store(reader.read(), Ordering::Release);
        }
    });
}

#[test]
fn empty_payloads_and_flags_come_through() {
    let (ring, words) = ring();
    let sent = Frame { flags: 3, ..Frame::new(Kind::control(130), 0, u32::MAX, Bytes::new()) };
    RingWriter::starting_at(ring, 0).write(&words, 0, &sent, 0);
    assert_eq!(RingReader::new(ring, 0).next(&words, &mut Arena::new(Arena::FEW), |_, _| true), Ok(Some((0, sent))));
}

#[cfg(not(miri))]
mod hubs {
    use std::os::fd::OwnedFd;
    use std::sync::Arc;

    use super::super::layout;
    use super::super::memory::Memory;
    use super::super::{Hub, Spoke};
    use super::*;

    fn own(fd: &Arc<OwnedFd>) -> OwnedFd {
        fd.try_clone().unwrap()
    }

    /// A spoke, and the two pieces of memory that it can write to: the signals and its place.
    fn add_spoke(hub: &mut Hub, number: u32) -> (Spoke, [Memory; 2]) {
        let shares = hub.place(number).unwrap();
        let writable = [Memory::open(&*shares[0], layout::SIGNALS), Memory::open(&*shares[1], layout::PLACE)];
        let spoke = Spoke::new(shares.each_ref().map(own), hub.board().map(own), number).unwrap();
        (spoke, writable.map(Result::unwrap))
    }

    fn hub_with(spokes: u32) -> (Hub, Vec<Spoke>) {
        let mut hub = Hub::with_board().unwrap();
        let all = (0..spokes).map(|number| add_spoke(&mut hub, number).0).collect();
        (0..spokes).for_each(|spoke| hub.open(spoke));
        (hub, all)
    }

    #[test]
    fn a_spoke_can_write_to_nothing_that_carries_frames_of_others() {
        let mut hub = Hub::with_board().unwrap();
        let shares = [0, 1].map(|number| hub.place(number).unwrap());
        assert!(Arc::ptr_eq(&shares[0][0], &shares[1][0]), "the signals are common to all");
        assert!(!Arc::ptr_eq(&shares[0][1], &shares[1][1]), "places are not");
        let board = hub.board().unwrap();
        assert!(Memory::open(&**board, layout::BOARD).is_err() && rustix::io::pwrite(&**board, b"x", 0).is_err());
    }

    #[test]
    fn whoever_comes_after_a_spoke_has_a_place_that_its_predecessor_cannot_reach() {
        let (mut hub, mut spokes) = hub_with(1);
        assert!(spokes[0].send(&frame(1, 8)));
        hub.close(0);
        let (mut successor, _) = add_spoke(&mut hub, 0);
        hub.open(0);
        assert!(spokes[0].send(&frame(2, 8)) && successor.send(&frame(3, 8)));
        assert_eq!(hub.receive(0, |_| true), Ok(Some(frame(3, 8))));
        assert_eq!(hub.receive(0, |_| true), Ok(None));
    }

    #[test]
    fn what_a_spoke_makes_of_the_signals_is_no_more_than_a_reason_to_look_or_none() {
        let (mut hub, mut spokes) = hub_with(1);
        let (mut meddler, [signals, _]) = add_spoke(&mut hub, 1);
        hub.open(1);
        for value in [0, 1, u32::MAX - 1] {
            assert!(spokes[0].send(&frame(value, 8)) && meddler.send(&frame(value, 9)));
            spokes[0].announce(true);
            signals.words().iter().for_each(|word| word.store(value, Ordering::Relaxed));
            let _ = (hub.is_due(1), hub.doze(2));
            // Asked or not.
            hub.look();
            assert_eq!(hub.receive(0, |_| true), Ok(Some(frame(value, 8))));
            assert_eq!(hub.receive(1, |_| true), Ok(Some(frame(value, 9))));
        }
    }

    #[test]
    fn what_is_published_reaches_all_but_one() {
        let (mut hub, mut spokes) = hub_with(3);
        assert!(hub.publish(&frame(1, 128), Some(1)));
        assert!(hub.publish(&frame(2, 0), None));
        assert_eq!(spokes[0].receive(), Ok(Some(frame(1, 128))));
        assert_eq!(spokes[0].receive(), Ok(Some(frame(2, 0))));
        assert_eq!(spokes[1].receive(), Ok(Some(frame(2, 0))));
        assert_eq!(spokes[1].receive(), Ok(None));
    }

    #[test]
    fn a_spoke_sees_nothing_that_was_published_before_it_was_opened() {
        let (mut hub, mut spokes) = hub_with(1);
        spokes.push(add_spoke(&mut hub, 1).0);
        assert!(hub.publish(&frame(1, 8), None));
        assert_eq!(spokes[0].receive(), Ok(Some(frame(1, 8))));
        hub.open(1);
        assert_eq!(spokes[1].receive(), Ok(None));
        assert!(hub.publish(&frame(2, 8), None));
        assert_eq!(spokes[1].receive(), Ok(Some(frame(2, 8))));
    }

    #[test]
    fn a_slow_reader_fills_the_board_until_it_reads_or_is_gone() {
        let (mut hub, mut spokes) = hub_with(2);
        let mut published = 0;
        while hub.publish(&frame(published, 1000), None) {
            published += 1;
            assert_eq!(spokes[0].receive(), Ok(Some(frame(published - 1, 1000))));
            assert!(published < 1000, "the board has no end");
        }
        assert_eq!(spokes[1].receive(), Ok(Some(frame(0, 1000))));
        assert!(hub.publish(&frame(published, 1000), None));
        assert!(!hub.publish(&frame(published, 1000), None));
        hub.close(1);
        assert!(hub.publish(&frame(published, 1000), None));
    }

    #[test]
    fn parts_and_answers_go_by_the_rings_of_each_spoke() {
        let (mut hub, mut spokes) = hub_with(2);
        assert!(hub.send(0, &frame(1, 100)) && hub.send(1, &frame(2, 100)));
        assert_eq!(spokes[1].receive(), Ok(Some(frame(2, 100))));
        assert!(spokes[1].send(&frame(3, 100)));
        assert_eq!(hub.receive(1, |_| true), Ok(Some(frame(3, 100))));
        assert_eq!(hub.receive(0, |_| true), Ok(None));
    }

    #[test]
    fn a_ring_that_is_full_takes_more_when_it_was_read() {
        let (mut hub, mut spokes) = hub_with(1);
        while spokes[0].send(&frame(0, 500)) {}
        assert_eq!(hub.receive(0, |_| true), Ok(Some(frame(0, 500))));
        assert!(spokes[0].send(&frame(1, 500)));
        while hub.send(0, &frame(0, 500)) {}
        assert_eq!(spokes[0].receive(), Ok(Some(frame(0, 500))));
        assert!(hub.send(0, &frame(1, 500)));
    }

    /// What happens to a link that keeps one order over its socket and shared memory.
    #[derive(Debug, Clone)]
    enum Passing {
        Send {
            length: usize,
            by_socket: bool,
        },
        /// The receiver reads its socket, looks into the memory, and takes what there is.
        Receive,
        /// The same, and frames are sent between the two.
        ReceiveSlowly(usize),
    }

    fn passings() -> impl Strategy<Value = Vec<Passing>> {
        let send =
            (0..SHARED_PAYLOAD, any::<bool>()).prop_map(|(length, by_socket)| Passing::Send { length, by_socket });
        let slowly = (0..4usize).prop_map(Passing::ReceiveSlowly);
        prop::collection::vec(prop_oneof![6 => send, 2 => Just(Passing::Receive), 1 => slowly], 0..100)
    }

    proptest! {
        #[test]
        fn what_is_sent_in_order_arrives_in_order_by_whichever_way(passings in passings(), start: u32, downwards: bool) {
            let (mut hub, mut spokes) = hub_with(1);
            let (mut socket, mut read) = (VecDeque::new(), VecDeque::new());
            let (mut sent, mut taken, mut sequence, mut received) = (start, start, 0, 0);
            let mut send = |hub: &mut Hub, spoke: &mut Spoke, socket: &mut VecDeque<Frame>, length, by_socket: bool| {
                let frame = frame(sequence, length);
                sequence += 1;
                let is_shared = !by_socket
                    && if downwards { hub.send_in_order(0, &frame, sent) } else { spoke.send_in_order(&frame, sent) };
                if !is_shared {
                    socket.push_back(frame);
                    sent = sent.wrapping_add(1);
                }
            };
            for passing in passings.into_iter().chain([Passing::Receive]) {
                let between = match passing {
                    Passing::Send { length, by_socket } => {
                        send(&mut hub, &mut spokes[0], &mut socket, length, by_socket);
                        continue;
                    }
                    Passing::Receive => 0,
                    Passing::ReceiveSlowly(between) => between,
                };
                read.extend(socket.drain(..));
                for at in 0..between {
                    send(&mut hub, &mut spokes[0], &mut socket, 20, at % 2 == 0);
                }
                loop {
                    let shared =
                        if downwards { spokes[0].receive_in_order(taken) } else { hub.receive_in_order(0, taken) };
                    let next = match shared.unwrap() {
                        Some(frame) => frame,
                        None => {
                            let Some(frame) = read.pop_front() else { break };
                            taken = taken.wrapping_add(1);
                            frame
                        }
                    };
                    prop_assert_eq!(next.sequence, received);
                    received += 1;
                }
            }
            // What was sent by the socket while the last of it was read has not been taken.
            prop_assert!(socket.is_empty() && received == sequence);
        }
    }

    #[test]
    fn long_frames_do_not_go_this_way() {
        let (mut hub, mut spokes) = hub_with(1);
        let long = frame(0, SHARED_PAYLOAD + 1);
        assert!(!hub.publish(&long, None) && !hub.send(0, &long) && !spokes[0].send(&long));
    }

    #[test]
    fn the_hub_is_woken_once_when_enough_have_announced_something() {
        let (mut hub, mut spokes) = hub_with(3);
        hub.look();
        assert!(hub.doze(2));
        assert!(!spokes[0].announce(false), "nothing was sent");
        let mut announced = Vec::new();
        for spoke in &mut spokes {
            assert!(spoke.send(&frame(0, 1)));
            announced.push(spoke.announce(false));
        }
        assert_eq!(announced, [false, true, false]);
        assert!(hub.is_due(3) && !hub.doze(3));
        hub.look();
        assert!(hub.doze(1));
    }

    #[test]
    fn what_is_urgent_wakes_the_hub_at_once_and_is_not_slept_over() {
        let (mut hub, mut spokes) = hub_with(3);
        hub.look();
        assert!(hub.doze(3));
        assert!(spokes[2].send(&frame(0, 1)) && spokes[2].announce(true));
        hub.look();
        assert!(spokes[2].send(&frame(0, 1)) && !spokes[2].announce(true), "it is awake");
        assert!(!hub.doze(3), "and finds it before it sleeps");
    }

    #[test]
    fn a_spoke_that_claims_to_have_read_the_future_loses_its_place_and_nobody_else_does() {
        let (mut hub, mut spokes) = hub_with(1);
        let (_liar, [_, place]) = add_spoke(&mut hub, 1);
        hub.open(1);
        place.words()[layout::BOARD_READ].store(1 << 30, Ordering::Relaxed);
        while hub.publish(&frame(0, 1000), None) {
            assert_eq!(spokes[0].receive(), Ok(Some(frame(0, 1000))));
            if hub.receive(1, |_| true).is_err() {
                return;
            }
        }
        panic!("the lie was believed");
    }

    #[test]
    fn a_spoke_arrives_once_for_each_look_and_what_it_writes_afterwards_is_found_by_the_next() {
        let (mut hub, mut spokes) = hub_with(2);
        hub.look();
        assert!(hub.doze(2));
        for _ in 0..3 {
            assert!(spokes[0].send(&frame(0, 1)) && !spokes[0].announce(false), "the other one is awaited");
        }
        assert!(!hub.is_due(2));
        assert!(spokes[1].send(&frame(0, 1)) && spokes[1].announce(false));
        hub.look();
        assert!(spokes[0].send(&frame(1, 1)) && !spokes[0].announce(false), "the hub is awake");
        while hub.receive(0, |_| true).unwrap().is_some() {}
        assert!(spokes[0].send(&frame(2, 1)) && !spokes[0].announce(false), "that was announced for this look");
        assert!(!hub.doze(1), "and must not be slept over");
        hub.look();
        assert_eq!(hub.receive(0, |_| true), Ok(Some(frame(2, 1))));
    }

    /// What happens to a hub, its two spokes, and the memory they share.
    #[derive(Debug, Clone)]
    enum Deed {
        Publish(usize),
        Send(u32, usize),
        Receive(u32),
        Answer(usize, usize),
        Read(usize),
        Announce(usize, bool),
        Sleep(u32),
        /// To one of the signals, and of the places of both.
        Scribble(usize, usize, u32),
    }

    fn deeds() -> impl Strategy<Value = Vec<Deed>> {
        let (spoke, length) = (0..2usize, 0..1100usize);
        // Mostly positions and the first entries of rings, where a lie does most.
        let rings = (0..12).flat_map(|at| [layout::down().data + at, layout::up().data + at]);
        let telling: Vec<usize> = (0..4).chain(16..20).chain(rings).collect();
        let word = prop_oneof![4 => prop::sample::select(telling), 1 => 0..layout::PLACE];
        let value = prop_oneof![0..80u32, 0..3000u32, any::<u32>()];
        let deed = prop_oneof![
            length.clone().prop_map(Deed::Publish),
            (0..2u32, length.clone()).prop_map(|(spoke, length)| Deed::Send(spoke, length)),
            (0..2u32).prop_map(Deed::Receive),
            (spoke.clone(), length).prop_map(|(spoke, length)| Deed::Answer(spoke, length)),
            spoke.clone().prop_map(Deed::Read),
            (spoke, any::<bool>()).prop_map(|(spoke, urgent)| Deed::Announce(spoke, urgent)),
            (0..4u32).prop_map(Deed::Sleep),
            (0..3usize, word, value).prop_map(|(memory, word, value)| Deed::Scribble(memory, word, value)),
        ];
        prop::collection::vec(deed, 0..60)
    }

    proptest! {
        #[test]
        fn nothing_that_is_written_to_the_memory_brings_anybody_down(deeds in deeds()) {
            let mut hub = Hub::with_board().unwrap();
            let (one, [signals, place]) = add_spoke(&mut hub, 0);
            let (other, [_, places]) = add_spoke(&mut hub, 1);
            let (mut spokes, memory) = ([one, other], [signals, place, places]);
            (0..2).for_each(|spoke| hub.open(spoke));
            let fits = |frame: Option<Frame>| {
                frame.is_none_or(|frame| frame.payload.len() <= SHARED_PAYLOAD && !frame.kind.is_link())
            };
            for deed in deeds {
                match deed {
                    Deed::Publish(length) => _ = hub.publish(&frame(0, length), Some(1)),
                    Deed::Send(spoke, length) => _ = hub.send(spoke, &frame(0, length)),
                    Deed::Receive(spoke) => prop_assert!(hub.receive(spoke, |_| true).map_or(true, fits)),
                    Deed::Answer(spoke, length) => _ = spokes[spoke].send(&frame(0, length)),
                    Deed::Read(spoke) => prop_assert!(spokes[spoke].receive().map_or(true, fits)),
                    Deed::Announce(spoke, urgent) => _ = spokes[spoke].announce(urgent),
                    Deed::Sleep(arrivals) => {
                        hub.look();
                        hub.doze(arrivals);
                    }
                    Deed::Scribble(which, word, value) => memory[which].words()[word].store(value, Ordering::Relaxed),
                }
            }
        }
    }
}
