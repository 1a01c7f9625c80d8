//! How shared memory of protocol 1 is laid out, recorded, and understood by those who read it today. Words are in the byte
//! order of the machine, and never leave it.

use std::sync::atomic::{AtomicU32, Ordering};

use super::layout::{
    ARRIVALS, ASLEEP, BOARD, BOARD_READ, DOWN_READ, IS_OPEN, LOOKS, PLACE, SIGNALS, UP_READ, URGENT, WAKE_AT, board,
    down, up,
};
use super::ring::{Ring, RingReader, RingWriter};
use crate::arena::Arena;
use crate::frame::{Frame, Kind};
use crate::recordings::{Said, file, recorded};

/// A word for users, and a frame whose payload does not end with a word.
fn tagged() -> (u32, Frame) {
    (7, Frame { flags: 5, ..Frame::new(Kind::control(130), 3, 4, b"payload".to_vec()) })
}

fn rings() -> [(&'static str, Ring, usize); 3] {
    [("board", board(), BOARD), ("place, down", down(), PLACE), ("place, up", up(), PLACE)]
}

/// Words of a frame as it lies in a ring.
const FRAME: usize = 11;

#[test]
fn shared_memory_of_protocol_1_is_understood() {
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let signals = [SIGNALS, LOOKS, WAKE_AT, ASLEEP, ARRIVALS, URGENT].map(|number| number as u32);
    let place = [PLACE, IS_OPEN, UP_READ, BOARD_READ, DOWN_READ].map(|number| number as u32);
    let mut today = vec![
        Said::new("signals: words, then looks, wake-at, asleep, arrivals, urgent", bytes(&signals)),
        Said::new("place: words, then is-open, up-read, board-read, down-read", bytes(&place)),
    ];
    let (tag, frame) = tagged();
    for (name, ring, length) in rings() {
        let words: Vec<AtomicU32> = (0..length).map(|_| AtomicU32::new(0)).collect();
        assert!(RingWriter::new(ring).write(&words, tag, &frame, 0));
        let words: Vec<u32> = words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
        let where_it_is = [length, ring.written, ring.data, ring.capacity as usize].map(|number| number as u32);
        let is_used = |at: usize| at == ring.written || (ring.data..ring.data + FRAME).contains(&at);
        assert!((0..length).all(|at| is_used(at) || words[at] == 0), "{name}");
        let lies = [&where_it_is[..], &[words[ring.written]], &words[ring.data..ring.data + FRAME]].concat();
        today.push(Said::new(
            &format!("{name}: words, where written, data, capacity, then written and data"),
            bytes(&lies),
        ));
    }
    let then = recorded(&file("shared-memory.txt"), &today);
    if cfg!(target_endian = "big") {
        return;
    }
    for ((name, ring, length), said) in rings().into_iter().zip(&then[2..]) {
        let numbers =
            |bytes: &[u8]| bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<u32>>();
        let [_, written, data, _, position, ref lies @ ..] = numbers(&said.bytes)[..] else { panic!("{name}") };
        let words: Vec<AtomicU32> = (0..length).map(|_| AtomicU32::new(0)).collect();
        words[written as usize].store(position, Ordering::Relaxed);
        lies.iter().zip(&words[data as usize..]).for_each(|(word, at)| at.store(*word, Ordering::Relaxed));
        let read = RingReader::new(ring, 0).next(&words, &mut Arena::new(512), |_, _| true).unwrap();
        assert_eq!(read, Some(tagged()), "{name}");
    }
}
