//! The protocols of rings, cells and the mailbox under a model checker: all interleavings of a writer and a reader with few
//! switches between them, and all values that the memory model lets them see.
//!
//! `cargo xtask test --only model` runs it.
#![cfg(loom)]

#[path = "../src/latest.rs"]
mod latest;
#[path = "../src/mailbox.rs"]
mod mailbox;
#[path = "../src/ring.rs"]
#[expect(dead_code, reason = "the model uses part of it")]
mod ring;
mod layout {
    //! Slots of the mailbox that are as short as can be.
    pub(crate) mod letter {
        pub(crate) const TICKET: usize = 0;
        pub(crate) const LEASE: usize = 1;
        pub(crate) const DECISION: usize = 2;
    }
}
mod sync {
    //! The model's atomics.
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}

use loom::sync::Arc;
use loom::thread;
use mailbox::Decision;
use ring::{Found, Head, Ring, Writer, records};
use sync::{AtomicU64, Ordering};

/// Words of a block: one record with a word of payload.
const BLOCK: usize = 4;

fn words(count: usize) -> Vec<AtomicU64> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

fn head(number: u64) -> Head {
    Head { length: 8, sensor: 1, thread: 2, stamp: number * 3, sequence: number }
}

fn model(check: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(check);
}

#[test]
fn what_a_reader_gets_is_whole_and_in_order() {
    model(|| {
        let memory = Arc::new((words(2), words(2 * BLOCK)));
        let shared = memory.clone();
        let writer = thread::spawn(move || {
            let writer = Writer::new(Ring::new(&shared.0, &shared.1, BLOCK).unwrap());
            for number in 1..=3 {
                assert!(writer.next_block(|_| true));
                let room = writer.room(BLOCK).unwrap();
                let values = head(number).to_words().into_iter().chain([number * 7]);
                room.iter().zip(values).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
                writer.commit(BLOCK);
            }
        });
        let ring = Ring::new(&memory.0, &memory.1, BLOCK).unwrap();
        let (mut cursor, mut last, mut copied) = (0, 0, Vec::new());
        for _ in 0..2 {
            match ring.copy(cursor, &mut copied) {
                Found::Words { start } => {
                    cursor = start + copied.len() as u64;
                    for record in records(&copied) {
                        let (found, payload) = record.unwrap();
                        assert_eq!((found, payload), (head(found.sequence), &[found.sequence * 7][..]));
                        assert!(found.sequence > last);
                        last = found.sequence;
                    }
                }
                Found::Nothing => {}
                Found::Damaged => panic!("nobody damages it"),
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn the_latest_event_is_whole_and_two_writers_count_every_one() {
    model(|| {
        let cell = Arc::new(words(latest::cell_words(8)));
        let shared = cell.clone();
        let write = |cell: &[AtomicU64], number: u64| {
            latest::write(cell, head(number), |words| words[0].store(number * 3, Ordering::Relaxed))
        };
        let writer = thread::spawn(move || (1..=2).filter(|number| write(&shared, *number)).count() as u64);
        let mut copied = Vec::new();
        if let Some(found) = latest::read(&cell, &mut copied) {
            assert_eq!(copied[0], found.stamp);
        }
        let own = u64::from(write(&cell, 5));
        let others = writer.join().unwrap();
        assert_eq!(latest::writes(&cell), own + others);
    });
}

#[test]
fn a_request_is_taken_whole_and_none_is_lost_that_was_rung_for() {
    model(|| {
        let memory = Arc::new((words(3), AtomicU64::new(0)));
        let shared = memory.clone();
        let observer = thread::spawn(move || {
            for ticket in 1..=2 {
                mailbox::put(&shared.0, ticket, &[ticket * 3, ticket * 7]);
                mailbox::ring(&shared.1);
            }
        });
        let (mut seen, mut taken) = (0, Vec::new());
        for _ in 0..2 {
            if memory.1.load(Ordering::Relaxed) != 0 {
                mailbox::hear(&memory.1);
                if let Some(ticket) = mailbox::take(&memory.0, seen, &mut taken) {
                    assert!(ticket > seen);
                    assert_eq!(taken, [ticket * 3, ticket * 7]);
                    seen = ticket;
                }
            }
        }
        observer.join().unwrap();
        assert!(seen == 2 || memory.1.load(Ordering::Relaxed) != 0, "who has heard the bell has seen the last request");
    });
}

#[test]
fn a_decision_counts_only_for_its_own_request() {
    model(|| {
        let slot = Arc::new(words(3));
        mailbox::put(&slot, 1, &[11, mailbox::OPEN]);
        let shared = slot.clone();
        let observer = thread::spawn(move || {
            // The first is given up, and another observer takes the slot.
            mailbox::put(&shared, 2, &[12, mailbox::OPEN]);
            mailbox::decide(&shared, mailbox::COMMIT);
        });
        let of_the_first = mailbox::decision(&slot, 1);
        assert!(matches!(of_the_first, Decision::Open { lease: 11 } | Decision::Cancel), "{of_the_first:?}");
        observer.join().unwrap();
        assert_eq!((mailbox::decision(&slot, 1), mailbox::decision(&slot, 2)), (Decision::Cancel, Decision::Commit));
    });
}
