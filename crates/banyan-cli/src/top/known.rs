//! What is known of processes and hardly ever changes, so that it is not read again at every look.
//!
//! It is read when a process is new or has become another program, once more at the next look, because it may just have
//! been becoming one, and from then on once in [`TURN`] looks, by turns: a process may be moved to another control group, or
//! become another user's, without a trace elsewhere.

use std::collections::HashMap;

use super::process::ProcessStat;

/// Looks until what is known of a process is read again.
const TURN: u32 = 30;

/// One fact of each process.
#[derive(Debug)]
pub(super) struct Known<T> {
    entries: HashMap<u32, KnownProcess<T>>,
    looks: u32,
}

#[derive(Debug)]
struct KnownProcess<T> {
    /// Tells a process from a later one of the same id.
    started: u64,
    program: String,
    /// It was read twice.
    is_settled: bool,
    fact: T,
}

impl<T> Default for Known<T> {
    fn default() -> Known<T> {
        Known { entries: HashMap::new(), looks: 0 }
    }
}

impl<T> Known<T> {
    /// Looks at all processes: forgets those that are gone, and reads what is not known, or was not read for long.
    pub(super) fn look<'s>(&mut self, stats: impl Iterator<Item = (u32, &'s ProcessStat)>, read: impl Fn(u32) -> T) {
        self.looks = self.looks.wrapping_add(1);
        let mut before = std::mem::take(&mut self.entries);
        let entry = |(id, stat): (u32, &ProcessStat)| {
            let is_same = |entry: &KnownProcess<T>| entry.started == stat.started && entry.program == stat.name;
            let entry = match before.remove(&id).filter(is_same) {
                Some(entry) if entry.is_settled && !self.looks.wrapping_add(id).is_multiple_of(TURN) => entry,
                Some(entry) => KnownProcess { is_settled: true, fact: read(id), ..entry },
                None => {
                    let (started, program) = (stat.started, stat.name.clone());
                    KnownProcess { started, program, is_settled: false, fact: read(id) }
                }
            };
            (id, entry)
        };
        self.entries = stats.map(entry).collect();
    }

    /// What is known of a process that was looked at.
    pub(super) fn fact(&self, id: u32) -> Option<&T> {
        self.entries.get(&id).map(|entry| &entry.fact)
    }

    /// What is known of all that were looked at.
    pub(super) fn facts(&self) -> impl Iterator<Item = &T> {
        self.entries.values().map(|entry| &entry.fact)
    }

    /// The program of a process that was looked at.
    pub(super) fn program(&self, id: u32) -> Option<&str> {
        self.entries.get(&id).map(|entry| entry.program.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn stat(name: &str, started: u64) -> ProcessStat {
        ProcessStat { name: name.into(), state: 'S', parent: 1, session: 1, ticks: 0, started, pages: 1 }
    }

    #[test]
    fn a_process_is_read_twice_and_then_by_turns() {
        let stat = stat("sleep", 7);
        let mut known = Known::default();
        let mut reads = || {
            let reads = Cell::new(0);
            known.look((100..160).map(|id| (id, &stat)), |_| reads.set(reads.get() + 1));
            reads.get()
        };
        assert_eq!([reads(), reads()], [60, 60]);
        assert!((0..2 * TURN).all(|_| reads() == 2), "two of them have their turn at every look");
    }

    #[test]
    fn another_process_of_the_same_id_or_another_program_is_read_anew() {
        let mut known = Known::default();
        for _ in 0..2 {
            known.look([(100, &stat("sh", 7))].into_iter(), |_| 0);
        }
        for (fact, seen) in [(1, stat("sleep", 7)), (2, stat("sleep", 8))] {
            known.look([(100, &seen)].into_iter(), |_| fact);
            assert_eq!((known.fact(100), known.program(100)), (Some(&fact), Some("sleep")));
        }
        known.look([].into_iter(), |_| 3);
        assert_eq!((known.fact(100), known.program(100)), (None, None));
    }
}
