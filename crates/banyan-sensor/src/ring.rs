//! A ring of records in shared memory: one writer that never waits, and readers that change nothing.
//!
//! Positions count words from 0 and never wrap. The data is cut into blocks, and no record crosses the end of one. Before
//! the writer enters a block it raises `RESERVED` to the block's end: whatever is more than a ring behind that may be
//! overwritten. After each record it raises `COMMITTED`. A reader copies words below `COMMITTED`, then looks at
//! `RESERVED` again: if the block is still there, every record that was copied is whole. A reader that was overtaken goes on
//! at the oldest block, whose first word begins a record.
//!
//! This file contains no `unsafe` and uses the atomics of `crate::sync`, so that a model checker can run it.

use crate::sync::{AtomicU64, Ordering, fence};

/// Control word: everything below this position is whole.
pub(crate) const COMMITTED: usize = 0;

/// Control word: everything more than a ring below this position may be overwritten.
pub(crate) const RESERVED: usize = 1;

/// Words of a record before its payload.
pub(crate) const HEAD_WORDS: usize = 3;

/// The sensor of a word that ends a block early.
pub(crate) const PADDING: u16 = u16::MAX;

/// The sensor of a record that has monotonic and wall-clock nanoseconds of its stamp's moment. Each block begins with one.
pub(crate) const CLOCK_SENSOR: u16 = u16::MAX - 1;

/// The words before a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// Bytes of the payload.
    pub(crate) length: u16,
    /// Index of the sensor.
    pub(crate) sensor: u16,
    /// The thread, as the kernel numbers it.
    pub(crate) thread: u32,
    pub(crate) stamp: u64,
    /// Counts the events of this sensor in this ring.
    pub(crate) sequence: u64,
}

impl Head {
    /// As words.
    #[inline]
    pub(crate) fn to_words(self) -> [u64; HEAD_WORDS] {
        let first = u64::from(self.length) | u64::from(self.sensor) << 16 | u64::from(self.thread) << 32;
        [first, self.stamp, self.sequence]
    }

    /// From words.
    pub(crate) fn from_words([first, stamp, sequence]: [u64; HEAD_WORDS]) -> Head {
        Head { length: first as u16, sensor: (first >> 16) as u16, thread: (first >> 32) as u32, stamp, sequence }
    }

    /// Words of the whole record.
    pub(crate) fn words(self) -> usize {
        record_words(usize::from(self.length))
    }
}

/// Words of a record with so many bytes of payload.
#[inline]
pub(crate) fn record_words(length: usize) -> usize {
    HEAD_WORDS + length.div_ceil(8)
}

/// The memory of a ring. The data's length is a power of two, and a multiple of the block's that is at least twice as
/// long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ring<'a> {
    control: &'a [AtomicU64],
    data: &'a [AtomicU64],
    block: u64,
}

impl<'a> Ring<'a> {
    /// `None` unless the sizes are as they must be.
    pub(crate) fn new(control: &'a [AtomicU64], data: &'a [AtomicU64], block: usize) -> Option<Ring<'a>> {
        let fits = control.len() > RESERVED && data.len().is_power_of_two() && block.is_power_of_two();
        (fits && block > HEAD_WORDS && block <= data.len() / 2).then_some(Ring { control, data, block: block as u64 })
    }

    fn index(&self, position: u64) -> usize {
        (position & (self.data.len() as u64 - 1)) as usize
    }

    /// The oldest position that may still be read when the writer has reserved up to `reserved`.
    fn oldest(&self, reserved: u64) -> u64 {
        reserved.saturating_sub(self.data.len() as u64)
    }
}

/// The side that writes. Only one thread at a time calls it.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    ring: Ring<'a>,
    /// What of the shared words is its own to know: whatever others write there, it stays within the ring.
    position: std::sync::atomic::AtomicU64,
    block_end: std::sync::atomic::AtomicU64,
}

impl<'a> Writer<'a> {
    /// Of a ring that is all zeros.
    pub(crate) fn new(ring: Ring<'a>) -> Writer<'a> {
        Writer { ring, position: 0.into(), block_end: 0.into() }
    }

    /// Words of the longest record.
    pub(crate) fn longest(&self) -> usize {
        self.ring.block as usize
    }

    /// How far it is written.
    pub(crate) fn written(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }

    /// Words for a record, if the current block has as many. They become a record by [`commit`](Self::commit).
    #[inline]
    pub(crate) fn room(&self, words: usize) -> Option<&'a [AtomicU64]> {
        let position = self.position.load(Ordering::Relaxed);
        if position + words as u64 > self.block_end.load(Ordering::Relaxed) {
            return None;
        }
        let at = self.ring.index(position);
        self.ring.data.get(at..at + words)
    }

    /// Publishes the words that [`room`](Self::room) gave.
    #[inline]
    pub(crate) fn commit(&self, words: usize) {
        let position = self.position.load(Ordering::Relaxed) + words as u64;
        self.position.store(position, Ordering::Relaxed);
        self.ring.control[COMMITTED].store(position, Ordering::Release);
    }

    /// Goes on to the next block, if `may_drop` agrees that everything below a position is lost.
    pub(crate) fn next_block(&self, may_drop: impl FnOnce(u64) -> bool) -> bool {
        let position = self.position.load(Ordering::Relaxed);
        let end = self.block_end.load(Ordering::Relaxed);
        let next_end = end + self.ring.block;
        if !may_drop(self.ring.oldest(next_end)) {
            return false;
        }
        if position < end {
            let padding = Head { length: 0, sensor: PADDING, thread: 0, stamp: 0, sequence: 0 };
            self.ring.data[self.ring.index(position)].store(padding.to_words()[0], Ordering::Relaxed);
        }
        self.ring.control[RESERVED].store(next_end, Ordering::Relaxed);
        // Whoever sees a word of the new block sees that it is reserved.
        fence(Ordering::Release);
        self.ring.control[COMMITTED].store(end, Ordering::Release);
        self.position.store(end, Ordering::Relaxed);
        self.block_end.store(next_end, Ordering::Relaxed);
        true
    }
}

/// What a reader found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// So many words from this position on; it goes on behind them.
    Words {
        /// Where they begin; above where the reader was if it was overtaken.
        start: u64,
    },
    /// Nothing more for now.
    Nothing,
    /// No correct writer leaves the control words like this.
    Damaged,
}

/// How often a reader tries again that is overtaken while it copies.
const TRIES: usize = 16;

impl Ring<'_> {
    /// How far it is written.
    pub(crate) fn committed(&self) -> u64 {
        self.control[COMMITTED].load(Ordering::Acquire)
    }

    /// Copies whole records from `from` on, at most to the end of a block. `from` is where a record begins.
    pub(crate) fn copy(&self, from: u64, words: &mut Vec<u64>) -> Found {
        let mut start = from;
        words.clear();
        for _ in 0..TRIES {
            let committed = self.committed();
            let reserved = self.control[RESERVED].load(Ordering::Relaxed);
            start = start.max(self.oldest(reserved));
            if committed < from || committed > reserved || !reserved.is_multiple_of(self.block) {
                return Found::Damaged;
            }
            // The reservation may be newer than what was seen of `COMMITTED`.
            if committed <= start {
                return Found::Nothing;
            }
            let end = committed.min((start / self.block + 1) * self.block);
            let at = self.index(start);
            let copied = &self.data[at..at + (end - start) as usize];
            words.extend(copied.iter().map(|word| word.load(Ordering::Relaxed)));
            // A word of a later round that was copied comes with the reservation of its block.
            fence(Ordering::Acquire);
            let oldest = self.oldest(self.control[RESERVED].load(Ordering::Relaxed));
            if oldest <= start {
                return Found::Words { start };
            }
            words.clear();
            start = oldest;
        }
        Found::Nothing
    }
}

/// The records in words that were copied, with the words of their payloads. Ends at padding, and at what is no record.
pub(crate) fn records(words: &[u64]) -> impl Iterator<Item = Result<(Head, &[u64]), ()>> {
    let mut rest = words;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        if Head::from_words([first, 0, 0]).sensor == PADDING {
            return None;
        }
        let Some((head, _)) = rest.split_first_chunk() else {
            rest = &[];
            return Some(Err(()));
        };
        let head = Head::from_words(*head);
        let Some((record, behind)) = rest.split_at_checked(head.words()) else {
            rest = &[];
            return Some(Err(()));
        };
        rest = behind;
        Some(Ok((head, &record[HEAD_WORDS..])))
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicBool;

    const BLOCK: usize = 16;

    struct Memory {
        control: Vec<AtomicU64>,
        data: Vec<AtomicU64>,
    }

    impl Memory {
        fn new(blocks: usize) -> Memory {
            let words = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
            Memory { control: words(2), data: words(blocks * BLOCK) }
        }

        fn ring(&self) -> Ring<'_> {
            Ring::new(&self.control, &self.data, BLOCK).unwrap()
        }
    }

    /// Writes a record whose payload is its sequence number, again and again.
    fn write(writer: &Writer<'_>, sequence: u64, length: usize) {
        let words = record_words(length);
        let room = loop {
            match writer.room(words) {
                Some(room) => break room,
                None => assert!(writer.next_block(|_| true)),
            }
        };
        let head = Head { length: length as u16, sensor: 1, thread: 2, stamp: sequence, sequence };
        let values = head.to_words().into_iter().chain(std::iter::repeat(sequence));
        room.iter().zip(values).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
        writer.commit(words);
    }

    /// Reads everything; returns the sequence numbers.
    fn read(ring: &Ring<'_>, cursor: &mut u64) -> Vec<(u64, usize)> {
        let (mut words, mut seen) = (Vec::new(), Vec::new());
        loop {
            match ring.copy(*cursor, &mut words) {
                Found::Words { start } => {
                    *cursor = start + words.len() as u64;
                    for record in records(&words) {
                        let (head, payload) = record.unwrap();
                        assert!(payload.iter().all(|word| *word == head.sequence));
                        seen.push((head.sequence, usize::from(head.length)));
                    }
                }
                Found::Nothing => return seen,
                Found::Damaged => panic!("nobody damages it"),
            }
        }
    }

    #[test]
    fn heads_come_back_as_they_were_written() {
        let head = Head { length: u16::MAX, sensor: 7, thread: u32::MAX, stamp: 1 << 63, sequence: 9 };
        assert_eq!(Head::from_words(head.to_words()), head);
    }

    #[test]
    fn sizes_that_do_not_fit_together_are_no_ring() {
        let memory = Memory::new(4);
        for (data, block) in [(64, 3), (64, 2), (64, 64), (48, 16), (0, 16)] {
            assert!(Ring::new(&memory.control, &memory.data[..data], block).is_none(), "{data} {block}");
        }
        assert!(Ring::new(&[], &memory.data, 16).is_none());
    }

    #[test]
    fn a_block_that_must_be_kept_is_not_entered() {
        let memory = Memory::new(2);
        let writer = Writer::new(memory.ring());
        write(&writer, 0, 8 * 13);
        write(&writer, 1, 8 * 13);
        assert!(writer.room(1).is_none());
        assert!(!writer.next_block(|dropped_below| dropped_below <= 15));
        assert!(writer.room(1).is_none());
        let mut cursor = 0;
        assert_eq!(read(&memory.ring(), &mut cursor).len(), 2, "nothing was lost");
        assert!(writer.next_block(|dropped_below| dropped_below <= 16));
    }

    #[test]
    fn control_words_that_cannot_be_are_noticed() {
        let memory = Memory::new(4);
        let writer = Writer::new(memory.ring());
        (0..20).for_each(|sequence| write(&writer, sequence, 40));
        for (word, value) in [(COMMITTED, 3), (COMMITTED, u64::MAX), (RESERVED, 0), (RESERVED, 1)] {
            let before = memory.control[word].swap(value, Ordering::Relaxed);
            assert_eq!(memory.ring().copy(100, &mut Vec::new()), Found::Damaged, "{word} {value}");
            memory.control[word].store(before, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_reader_beside_a_writer_sees_whole_records_in_order() {
        let memory = Memory::new(4);
        let done = AtomicBool::new(false);
        let count = if cfg!(miri) { 300 } else { 200_000 };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let writer = Writer::new(memory.ring());
                (0..count).for_each(|sequence| write(&writer, sequence, sequence as usize % 60));
                done.store(true, Ordering::Release);
            });
            let (mut cursor, mut next) = (0, 0);
            loop {
                let last = done.load(Ordering::Acquire);
                for (sequence, _) in read(&memory.ring(), &mut cursor) {
                    assert!(sequence >= next);
                    next = sequence + 1;
                }
                if last {
                    break assert_eq!(next, count);
                }
            }
        });
    }

    proptest! {
        #[test]
        fn a_reader_gets_the_newest_records_without_a_gap(
            blocks in prop::sample::select(vec![2usize, 4, 16]),
            steps in prop::collection::vec((0..12u64, 0..=104usize), 1..60),
        ) {
            let memory = Memory::new(blocks);
            let writer = Writer::new(memory.ring());
            let (mut lengths, mut cursor, mut next) = (Vec::new(), 0, 0);
            for (count, length) in steps {
                for _ in 0..count {
                    write(&writer, lengths.len() as u64, length);
                    lengths.push(length);
                }
                let seen = read(&memory.ring(), &mut cursor);
                let first = seen.first().map_or(lengths.len() as u64, |(sequence, _)| *sequence);
                prop_assert!(first >= next);
                let expected = (first..).zip(lengths[first as usize..].iter().copied());
                prop_assert!(seen.iter().copied().eq(expected));
                // A ring but one block is always there.
                let words: usize = lengths[next as usize..first as usize].iter().map(|length| record_words(*length)).sum();
                let behind: usize = seen.iter().map(|(_, length)| record_words(*length)).sum();
                prop_assert!(words == 0 || behind + BLOCK * 2 >= (blocks - 1) * BLOCK - blocks * BLOCK / 2);
                next = lengths.len() as u64;
            }
        }
    }
}
