//! What of the segment and of the observers' file belongs to steering.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::answer::{Outcome, Refusal};
use super::point::{NO_STEP, Quick};
use super::requests::Sender;
use super::{patience, who_may};
use crate::clock::stamp;
use crate::layout::{self, MAIL_CAPACITY, WORD, answer, header, knob, letter, observers, setting};
use crate::memory::Map;
use crate::ring::Head;
use crate::segment::Maps;
use crate::{latest, payload};

/// Memory for steering, there since the first knob or action.
#[derive(Debug)]
pub(crate) struct SteeringMemory {
    maps: Maps,
    /// Answers, then the cells of values.
    chunk: &'static Map,
    /// Words of the chunk that are in use.
    used: usize,
}

/// What threads look at without a lock.
pub(crate) fn quick(maps: Maps) -> Quick {
    let main = maps.main.words();
    let bell = &maps.observers.words()[observers::BELL];
    Quick { bell, step: &main[header::STEP], points: &main[header::POINTS] }
}

/// Tells observers who may steer, and how long the program waits.
pub(crate) fn publish(maps: Maps) {
    let main = maps.main.words();
    main[header::STEERING].store(who_may() as u64, Ordering::Relaxed);
    let nanoseconds = u64::try_from(patience().as_nanos()).unwrap_or(u64::MAX);
    main[header::PATIENCE].store(nanoseconds, Ordering::Relaxed);
}

impl SteeringMemory {
    pub(crate) fn new(maps: Maps, chunk: &'static Map) -> SteeringMemory {
        SteeringMemory { maps, chunk, used: MAIL_CAPACITY * layout::ANSWER_WORDS }
    }

    pub(crate) fn chunk(&self) -> &'static Map {
        self.chunk
    }

    /// Words for the cell of a value, if there is room.
    pub(crate) fn room(&mut self, longest: usize) -> Option<Range<usize>> {
        let cell = self.used..self.used + latest::cell_words(longest + setting::HEAD_WORDS * WORD);
        (cell.end <= self.chunk.words().len()).then(|| self.used = cell.end)?;
        Some(cell)
    }

    /// Keeps others from a cell that was given away before `fork`.
    pub(crate) fn claim(&mut self, cell: &Range<usize>) {
        self.used = self.used.max(cell.end);
    }

    pub(crate) fn mail_slot(&self, slot: usize) -> &'static [AtomicU64] {
        &self.maps.observers.words()[layout::MAILBOX_AT / WORD + slot * letter::WORDS..][..letter::WORDS]
    }

    /// Answers a request, for all observers to read.
    pub(crate) fn answer(
        &self,
        slot: usize,
        ticket: u64,
        outcome: Outcome,
        refusal: Option<Refusal>,
        step: Option<u64>,
        old: &[u8],
    ) {
        let cell = &self.chunk.words()[slot * layout::ANSWER_WORDS..][..layout::ANSWER_WORDS];
        let words = [
            (answer::TICKET, ticket),
            (answer::OUTCOME, outcome as u64),
            (answer::REASON, refusal.map_or(0, |refusal| refusal as u64)),
            (answer::STEP, step.unwrap_or(NO_STEP)),
        ];
        // Nobody else writes: the lock on the process is held.
        latest::write(cell, head(old.len()), |place| {
            words.iter().for_each(|(at, word)| place[*at].store(*word, Ordering::Relaxed));
            payload::store_bytes(old, &place[answer::HEAD_WORDS..]);
        });
    }

    /// Shows observers the value of a knob, and who has set it.
    pub(crate) fn show(&self, cell: Range<usize>, value: &[u8], sender: &Sender, step: Option<u64>) {
        let Some(cell) = self.chunk.words().get(cell).filter(|cell| !cell.is_empty()) else { return };
        latest::write(cell, head(value.len()), |place| {
            place[setting::TICKET].store(sender.ticket, Ordering::Relaxed);
            place[setting::PID].store(sender.pid, Ordering::Relaxed);
            place[setting::STEP].store(step.unwrap_or(NO_STEP), Ordering::Relaxed);
            place[setting::LABEL..]
                .iter()
                .zip(sender.label)
                .for_each(|(word, text)| word.store(text, Ordering::Relaxed));
            payload::store_bytes(value, &place[setting::HEAD_WORDS..]);
        });
    }

    /// Counts the run of an action.
    pub(crate) fn count_run(&self, target: usize) {
        let at = layout::KNOBS_AT / WORD + target * knob::WORDS + knob::RUNS;
        if let Some(word) = self.maps.main.words().get(at) {
            word.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn head(bytes: usize) -> Head {
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    Head { length: bytes as u16, sensor: 0, thread, stamp: stamp(), sequence: 0 }
}
