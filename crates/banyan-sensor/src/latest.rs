//! A cell that holds the latest event of a sensor: several threads write, nobody waits.
//!
//! A word counts the writes, doubled; it is odd while somebody writes. There are two places, and a write goes to the one
//! that does not hold the latest event. So that one stays readable, also when the writer is killed in the middle.

use crate::ring::{HEAD_WORDS, Head};
use crate::sync::{AtomicU64, Ordering, fence};

/// Words of a cell for records of so many bytes.
pub(crate) fn cell_words(length: usize) -> usize {
    1 + 2 * place_words(length)
}

fn place_words(length: usize) -> usize {
    HEAD_WORDS + length.div_ceil(8)
}

/// Where the latest event lies when so many have been written.
fn place(cell: &[AtomicU64], writes: u64) -> &[AtomicU64] {
    let (one, other) = cell[1..].split_at((cell.len() - 1) / 2);
    if writes.is_multiple_of(2) { one } else { other }
}

/// Writes an event: its head, but for the sequence number, and then the words of the payload. False if somebody else is
/// writing.
pub(crate) fn write(cell: &[AtomicU64], head: Head, store: impl FnOnce(&[AtomicU64])) -> bool {
    let before = cell[0].load(Ordering::Relaxed);
    let claimed = before.is_multiple_of(2)
        && cell[0].compare_exchange(before, before | 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
    if !claimed {
        return false;
    }
    // Whoever sees a word of this event sees that it is being written.
    fence(Ordering::Release);
    let writes = before / 2;
    let place = place(cell, writes.wrapping_add(1));
    let words = Head { sequence: writes, ..head }.to_words();
    place.iter().zip(words).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
    store(&place[HEAD_WORDS..]);
    cell[0].store(before.wrapping_add(2), Ordering::Release);
    true
}

/// How often a reader tries again that a writer has overtaken.
const TRIES: usize = 16;

/// How many events were written.
pub(crate) fn writes(cell: &[AtomicU64]) -> u64 {
    cell[0].load(Ordering::Acquire) / 2
}

/// Copies the latest event, if there is one.
pub(crate) fn read(cell: &[AtomicU64], words: &mut Vec<u64>) -> Option<Head> {
    for _ in 0..TRIES {
        let writes = writes(cell);
        if writes == 0 {
            return None;
        }
        words.clear();
        words.extend(place(cell, writes).iter().map(|word| word.load(Ordering::Relaxed)));
        fence(Ordering::Acquire);
        // The next write goes to the other place, the one behind it to this one.
        if cell[0].load(Ordering::Relaxed) <= writes * 2 + 2 {
            let head = Head::from_words(*words.first_chunk()?);
            words.drain(..HEAD_WORDS);
            return (head.sequence == writes - 1).then_some(head);
        }
    }
    None
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    const HEAD: Head = Head { length: 16, sensor: 3, thread: 7, stamp: 9, sequence: 0 };

    fn cell() -> Vec<AtomicU64> {
        (0..cell_words(16)).map(|_| AtomicU64::new(0)).collect()
    }

    fn put(cell: &[AtomicU64], value: u64) -> bool {
        write(cell, HEAD, |words| words.iter().for_each(|word| word.store(value, Ordering::Relaxed)))
    }

    #[test]
    fn the_latest_event_is_read_and_the_others_are_counted() {
        let cell = cell();
        let mut words = Vec::new();
        assert_eq!(read(&cell, &mut words), None);
        for value in 1..=5 {
            assert!(put(&cell, value));
            assert_eq!(read(&cell, &mut words), Some(Head { sequence: value - 1, ..HEAD }));
            assert_eq!(words, [value, value]);
        }
        assert_eq!(writes(&cell), 5);
    }

    #[test]
    fn an_event_whose_writer_stopped_in_the_middle_is_not_shown() {
        let cell = cell();
        put(&cell, 1);
        write(&cell, HEAD, |words| {
            words[0].store(2, Ordering::Relaxed);
            assert!(!put(&cell, 3), "another writer does not wait");
            let mut seen = Vec::new();
            assert_eq!(read(&cell, &mut seen).map(|head| head.sequence), Some(0));
            assert_eq!(seen, [1, 1]);
        });
    }

    #[test]
    fn readers_never_see_two_events_mixed() {
        let cell = cell();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut value = 0;
                    while !stop.load(Ordering::Relaxed) {
                        value += 1;
                        put(&cell, value);
                    }
                });
            }
            let mut words = Vec::new();
            for _ in 0..if cfg!(miri) { 20 } else { 2000 } {
                if read(&cell, &mut words).is_some() {
                    assert_eq!(words[0], words[1]);
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
