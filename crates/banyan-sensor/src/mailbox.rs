//! Requests on their way from an observer to a program: a slot of memory that observers write and the program reads.
//!
//! Observers write under a lock of theirs: they withdraw the ticket, write the request, and publish it by a new ticket.
//! The program copies a request, then looks at the ticket again: a copy whose ticket has not changed is whole. It waits for
//! nobody and writes nothing here. What it has copied it checks; a slot can hold anything.
//!
//! Later the sender decides, by a word of the slot. That word counts only with the ticket it was written for.
//!
//! This file contains no `unsafe` and uses the atomics of `crate::sync`, so that a model checker can run it.

use crate::layout::{LABEL_WORDS, letter};
use crate::sync::{AtomicU64, Ordering, fence};

/// What an observer asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Letter {
    /// A number that no other request has; not 0.
    pub(crate) ticket: u64,
    pub(crate) pid: u64,
    pub(crate) start_time: u64,
    pub(crate) lease: u64,
    pub(crate) decision: u64,
    /// Index of a knob or action.
    pub(crate) target: u64,
    pub(crate) when: u64,
    pub(crate) step: u64,
    /// Bytes of the value.
    pub(crate) bytes: u64,
    pub(crate) label: [u64; LABEL_WORDS],
    /// Words of the value, as many as the bytes need and the slot has.
    pub(crate) value: Vec<u64>,
}

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

/// Puts a request into a slot. The caller has the observers' lock, and the slot is free.
pub(crate) fn put(slot: &[AtomicU64], request: &Letter) {
    withdraw(slot);
    let words = [
        (letter::PID, request.pid),
        (letter::START_TIME, request.start_time),
        (letter::LEASE, request.lease),
        (letter::DECISION, request.decision),
        (letter::TARGET, request.target),
        (letter::WHEN, request.when),
        (letter::STEP, request.step),
        (letter::BYTES, request.bytes),
    ];
    words.iter().for_each(|(at, word)| slot[*at].store(*word, Ordering::Relaxed));
    let texts = slot[letter::LABEL..].iter().zip(&request.label);
    let values = slot[letter::VALUE..].iter().zip(&request.value);
    texts.chain(values).for_each(|(place, word)| place.store(*word, Ordering::Relaxed));
    slot[letter::TICKET].store(request.ticket, Ordering::Release);
}

/// Takes a request back; what the program has not copied yet it will not see.
pub(crate) fn withdraw(slot: &[AtomicU64]) {
    slot[letter::TICKET].store(0, Ordering::Relaxed);
    // Whoever sees a word of the next request sees that this one is gone.
    fence(Ordering::Release);
}

/// Copies the request in a slot, unless there is none, or the one that was `seen` before, or it changes meanwhile.
pub(crate) fn take(slot: &[AtomicU64], seen: u64) -> Option<Letter> {
    let ticket = slot[letter::TICKET].load(Ordering::Acquire);
    if ticket == 0 || ticket == seen {
        return None;
    }
    let word = |at: usize| slot[at].load(Ordering::Relaxed);
    let bytes = word(letter::BYTES);
    let value_words = usize::try_from(bytes.div_ceil(8)).unwrap_or(usize::MAX);
    let value = slot[letter::VALUE..].iter().take(value_words).map(|place| place.load(Ordering::Relaxed)).collect();
    let mut label = [0; LABEL_WORDS];
    label.iter_mut().zip(&slot[letter::LABEL..]).for_each(|(text, place)| *text = place.load(Ordering::Relaxed));
    let request = Letter {
        ticket,
        pid: word(letter::PID),
        start_time: word(letter::START_TIME),
        lease: word(letter::LEASE),
        decision: word(letter::DECISION),
        target: word(letter::TARGET),
        when: word(letter::WHEN),
        step: word(letter::STEP),
        bytes,
        label,
        value,
    };
    // A word of the next request that was copied comes with the withdrawal of this one.
    fence(Ordering::Acquire);
    (word(letter::TICKET) == ticket).then_some(request)
}

/// Writes what the sender has decided.
pub(crate) fn decide(slot: &[AtomicU64], decision: u64) {
    slot[letter::DECISION].store(decision, Ordering::Release);
}

/// What was decided about a request.
pub(crate) fn decision(slot: &[AtomicU64], ticket: u64) -> Decision {
    let lease = slot[letter::LEASE].load(Ordering::Relaxed);
    let decided = slot[letter::DECISION].load(Ordering::Relaxed);
    // A word of the next request comes with the withdrawal of this one.
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
