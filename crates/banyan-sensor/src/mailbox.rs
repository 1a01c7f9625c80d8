//! Requests on their way from an observer to a program: a slot of memory that observers write and the program reads.
//!
//! Observers write under a lock of theirs: they withdraw the ticket, write the words of the request, and publish it by a new
//! ticket. The program copies a request, then looks at the ticket again: a copy whose ticket has not changed is whole. It waits
//! for nobody and writes nothing here. What it has copied it checks; a slot can hold anything.
//!
//! Later the sender decides, by a word of the slot. That word counts only with the ticket it was written for.
//!
//! This file contains no `unsafe` and uses the atomics of `crate::sync`, so that a model checker can run it.

use crate::layout::letter;
use crate::sync::{AtomicU64, Ordering, fence};

/// What a sender has decided about its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Nothing yet; it counts as alive until this stamp.
    Open { lease: u64 },
    /// It is to be done.
    Commit,
    /// It is not, or the request was withdrawn.
    Cancel,
}

/// Numbers of decisions.
pub(crate) const OPEN: u64 = 0;
pub(crate) const COMMIT: u64 = 1;
pub(crate) const CANCEL: u64 = 2;

/// Puts a request into a slot: the words behind the ticket. The caller has the observers' lock, and the slot is free.
pub(crate) fn put(slot: &[AtomicU64], ticket: u64, words: &[u64]) {
    slot[letter::TICKET].store(0, Ordering::Relaxed);
    // Whoever sees a word of this request sees that the one before is gone.
    fence(Ordering::Release);
    slot[letter::TICKET + 1..].iter().zip(words).for_each(|(place, word)| place.store(*word, Ordering::Relaxed));
    slot[letter::TICKET].store(ticket, Ordering::Release);
}

/// Tells the program that something is in its mailbox.
pub(crate) fn ring(bell: &AtomicU64) {
    bell.fetch_or(1, Ordering::Release);
}

/// Takes the bell down. What was put into a slot before it was rung is there then; what comes later rings again.
pub(crate) fn hear(bell: &AtomicU64) {
    bell.swap(0, Ordering::AcqRel);
}

/// Copies the request in a slot, unless there is none, or the one that was `seen` before, or it changes meanwhile. Returns its
/// ticket.
pub(crate) fn take(slot: &[AtomicU64], seen: u64, words: &mut Vec<u64>) -> Option<u64> {
    let ticket = slot[letter::TICKET].load(Ordering::Acquire);
    if ticket == 0 || ticket == seen {
        return None;
    }
    words.clear();
    words.extend(slot[letter::TICKET + 1..].iter().map(|place| place.load(Ordering::Relaxed)));
    // A word of the next request that was copied comes with the withdrawal of this one.
    fence(Ordering::Acquire);
    (slot[letter::TICKET].load(Ordering::Relaxed) == ticket).then_some(ticket)
}

/// Writes what the sender has decided. The caller has the observers' lock, and the slot is its own.
pub(crate) fn decide(slot: &[AtomicU64], decision: u64) {
    slot[letter::DECISION].store(decision, Ordering::Release);
}

/// What was decided about a request.
pub(crate) fn decision(slot: &[AtomicU64], ticket: u64) -> Decision {
    let lease = slot[letter::LEASE].load(Ordering::Relaxed);
    let decided = slot[letter::DECISION].load(Ordering::Relaxed);
    // As above.
    fence(Ordering::Acquire);
    if slot[letter::TICKET].load(Ordering::Relaxed) != ticket {
        return Decision::Cancel;
    }
    match decided {
        OPEN => Decision::Open { lease },
        COMMIT => Decision::Commit,
        _ => Decision::Cancel,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::layout::letter::WORDS;
    use std::sync::atomic::AtomicBool;

    fn slot() -> Vec<AtomicU64> {
        (0..WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn a_request_is_taken_once_and_one_that_was_withdrawn_is_cancelled() {
        let (slot, mut words) = (slot(), Vec::new());
        assert_eq!(take(&slot, 0, &mut words), None);
        put(&slot, 7, &[9; WORDS - 1]);
        assert_eq!(take(&slot, 0, &mut words), Some(7));
        assert_eq!(words, [9; WORDS - 1]);
        assert_eq!(take(&slot, 7, &mut words), None);
        put(&slot, 8, &[OPEN; WORDS - 1]);
        assert_eq!(decision(&slot, 8), Decision::Open { lease: 0 });
        decide(&slot, COMMIT);
        assert_eq!((decision(&slot, 8), decision(&slot, 7)), (Decision::Commit, Decision::Cancel));
    }

    #[test]
    fn requests_that_replace_each_other_are_taken_whole() {
        let slot = slot();
        let done = AtomicBool::new(false);
        let count = if cfg!(miri) { 30 } else { 100_000 };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (1..=count).for_each(|ticket| put(&slot, ticket, &[ticket; WORDS - 1]));
                done.store(true, Ordering::Release);
            });
            let (mut seen, mut words) = (0, Vec::new());
            while seen < count {
                let last = done.load(Ordering::Acquire);
                if let Some(ticket) = take(&slot, seen, &mut words) {
                    assert!(ticket > seen && words.iter().all(|word| *word == ticket));
                    seen = ticket;
                }
                assert!(!last || seen == count, "the last one stays");
            }
        });
    }
}
