//! All processes of this machine, looked at again and again.
//!
//! To read one takes microseconds, and most of them sleep for hours: one that has slept for [`QUIET`] looks is read once in
//! [`TURN`] looks from then on, by turns. When it wakes this is seen so much later, with its share of all the time since.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::time::Instant;

use super::counters::{Bytes, disk_of_process};
use super::process::ProcessStat;

/// Ticks of a second in `/proc`, the same on every Linux that people use.
const TICKS_A_SECOND: f64 = 100.0;

/// Longer than any text of `/proc/ID/stat`: 52 numbers of up to 20 digits, and a name.
const MAX_STAT: usize = 2048;

/// Looks without a tick of processor time after which a process is taken to sleep.
const QUIET: u32 = 8;

/// Looks from one reading of a sleeping process to the next.
const TURN: u32 = 4;

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Sight {
    seen: HashMap<u32, LastReading>,
    looks: u32,
}

/// A process as it was when it was last read.
#[derive(Debug)]
pub(super) struct LastReading {
    pub(super) stat: ProcessStat,
    /// The share of a core that it had used since it was read before, in percent.
    pub(super) cpu: f64,
    /// Bytes a second that it had read and written on disks since then, if that is known.
    pub(super) disk: Option<[f64; 2]>,
    /// What it had read and written on disks in all, if that was asked for and may be known.
    io: Option<Bytes>,
    at: Instant,
    /// Readings in a row before which it had used nothing.
    quiet: u32,
}

impl LastReading {
    /// A process of which nothing is known yet has used nothing.
    fn new(
        stat: ProcessStat,
        io: impl FnOnce() -> Option<Bytes>,
        at: Instant,
        before: Option<&LastReading>,
    ) -> LastReading {
        let Some(before) = before.filter(|before| before.stat.started == stat.started) else {
            return LastReading { stat, cpu: 0.0, disk: None, io: io(), at, quiet: 0 };
        };
        let ticks = stat.ticks.saturating_sub(before.stat.ticks);
        let seconds = at.duration_since(before.at).as_secs_f64();
        let cpu = if seconds > 0.0 { 100.0 * ticks as f64 / TICKS_A_SECOND / seconds } else { 0.0 };
        // Who sleeps neither reads nor writes.
        let io = if ticks == 0 && before.quiet >= QUIET { before.io } else { io() };
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let disk = io.zip(before.io).filter(|_| seconds > 0.0);
        let disk = disk.map(|(now, then)| [rate(now.taken, then.taken), rate(now.given, then.given)]);
        let quiet = if ticks == 0 { before.quiet.saturating_add(1) } else { 0 };
        LastReading { stat, cpu, disk, io, at, quiet }
    }
}

impl Sight {
    /// Looks again; at disks, too, if that is asked for: of those who do not sleep it costs as much as all the rest.
    pub(super) fn look(&mut self, at_disks: bool) {
        let entries = fs::read_dir("/proc").into_iter().flatten();
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        // One call reads it all.
        let mut text = [0; MAX_STAT];
        let read = |id: u32| {
            let length = File::open(format!("/proc/{id}/stat")).and_then(|mut file| file.read(&mut text)).ok()?;
            ProcessStat::read(&String::from_utf8_lossy(&text[..length]))
        };
        // That of others only root may read.
        let io =
            |id: u32| at_disks.then(|| disk_of_process(&fs::read_to_string(format!("/proc/{id}/io")).ok()?)).flatten();
        self.look_at(ids, read, io);
    }

    fn look_at(
        &mut self,
        ids: impl Iterator<Item = u32>,
        mut read: impl FnMut(u32) -> Option<ProcessStat>,
        io: impl Fn(u32) -> Option<Bytes>,
    ) {
        let now = Instant::now();
        self.looks = self.looks.wrapping_add(1);
        let mut before = std::mem::take(&mut self.seen);
        let seen = ids.filter_map(|id| match before.remove(&id) {
            Some(seen) if seen.quiet >= QUIET && !self.looks.wrapping_add(id).is_multiple_of(TURN) => Some((id, seen)),
            seen => Some((id, LastReading::new(read(id)?, || io(id), now, seen.as_ref()))),
        });
        self.seen = seen.collect();
    }

    /// Every process but those of the kernel itself, which have no memory of their own.
    pub(super) fn processes(&self) -> impl Iterator<Item = (u32, &LastReading)> {
        self.seen.iter().map(|(id, seen)| (*id, seen)).filter(|(_, seen)| seen.stat.pages > 0)
    }

    /// The same, without what they have used.
    pub(super) fn stats(&self) -> impl Iterator<Item = (u32, &ProcessStat)> {
        self.processes().map(|(id, seen)| (id, &seen.stat))
    }

    /// A process, if it is there.
    pub(super) fn stat(&self, id: u32) -> Option<&ProcessStat> {
        self.seen.get(&id).map(|seen| &seen.stat)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn stat(ticks: u64, started: u64) -> Option<ProcessStat> {
        Some(ProcessStat { name: "solver".into(), state: 'S', parent: 1, session: 1, ticks, started, pages: 1 })
    }

    #[test]
    fn what_is_read_and_written_is_known_from_the_second_look_on_where_it_may_be() {
        let mut sight = Sight::default();
        let mut look = |io: Option<Bytes>| {
            sight.look_at([100].into_iter(), |_| stat(0, 7), |_| io);
            sight.processes().next().and_then(|(_, seen)| seen.disk)
        };
        let bytes = |taken, given| Some(Bytes { taken, given });
        assert_eq!(look(bytes(10, 1000)), None);
        let [read, written] = look(bytes(10, 3000)).expect("it was known before");
        assert!(read == 0.0 && written > 0.0, "{written}");
        assert_eq!((look(None), look(bytes(10, 3000))), (None, None));
    }

    #[test]
    fn who_sleeps_is_read_by_turns_and_who_works_at_every_look() {
        let (mut sight, mut looks, at_disks) = (Sight::default(), 0, RefCell::new(Vec::new()));
        // Processes from 100 on sleep, the first one works.
        let mut reads = || {
            let mut reads = Vec::new();
            looks += 1;
            sight.look_at(
                std::iter::once(1).chain(100..108),
                |id| {
                    reads.push(id);
                    stat(if id == 1 { looks } else { 0 }, 7)
                },
                |id| {
                    at_disks.borrow_mut().push(id);
                    None
                },
            );
            reads
        };
        assert!((0..=QUIET).all(|_| reads().len() == 9));
        at_disks.borrow_mut().clear();
        let turns: Vec<Vec<u32>> = (0..TURN).map(|_| reads()).collect();
        assert!(turns.iter().all(|read| read.len() == 3 && read[0] == 1), "{turns:?}");
        assert_eq!(*at_disks.borrow(), [1; TURN as usize], "who sleeps writes nothing");
        let mut all: Vec<u32> = turns.into_iter().flat_map(|read| read[1..].to_vec()).collect();
        all.sort_unstable();
        assert_eq!(all, (100..108).collect::<Vec<u32>>());
        assert!(sight.processes().all(|(id, seen)| (seen.cpu > 0.0) == (id == 1)));
    }

    #[test]
    fn another_process_of_the_same_id_begins_with_nothing_and_who_is_gone_is_forgotten() {
        let mut sight = Sight::default();
        for (ticks, started) in [(5, 7), (90, 8)] {
            sight.look_at([100].into_iter(), |_| stat(ticks, started), |_| None);
            assert!(sight.processes().all(|(_, seen)| seen.cpu == 0.0 && seen.stat.ticks == ticks));
        }
        sight.look_at([100, 101].into_iter(), |_| None, |_| None);
        assert_eq!(sight.processes().count(), 0);
    }
}
