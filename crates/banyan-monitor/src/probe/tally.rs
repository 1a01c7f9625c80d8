//! The probe's part of the ledger: what one version of a query has of one sensor of one process.

use banyan_sensor::observe::{Account, Dropped};

use crate::message::Entry;

/// What an account says of the past: events that were delivered or dropped, so nobody will get them any more.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Settled {
    delivered: u64,
    dropped: [u64; 9],
}

impl Settled {
    pub(super) fn of(account: &Account) -> Settled {
        Settled { delivered: account.delivered, dropped: by_reason(&account.dropped) }
    }
}

/// In the order of [`REASONS`](crate::ledger::REASONS).
fn by_reason(dropped: &Dropped) -> [u64; 9] {
    [
        dropped.overwritten,
        dropped.full,
        dropped.sampled,
        dropped.timed_out,
        dropped.too_large,
        dropped.nested,
        dropped.no_room,
        dropped.superseded,
        dropped.contended,
    ]
}

/// What a version of a query has of a sensor of a process.
///
/// It begins and ends between two drains. What is in the rings then belongs to the version that comes next, so every event is
/// counted by exactly one version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tally {
    since: Settled,
    /// What the query took.
    pub(super) selected: u64,
    /// What it would have taken, if there had been room.
    pub(super) behind: u64,
    /// What it did not want.
    pub(super) filtered: u64,
    /// What came when its window was closed, or could not be opened.
    pub(super) late: u64,
    /// What could not be read.
    pub(super) failed: u64,
}

impl Tally {
    pub(super) fn since(since: Settled) -> Tally {
        Tally { since, selected: 0, behind: 0, filtered: 0, late: 0, failed: 0 }
    }

    /// The entry of a version that goes on, or of one that ends with the last drain.
    pub(super) fn entry(&self, account: &Account, is_over: bool) -> Entry {
        let Settled { delivered, dropped } = Settled::of(account);
        let read = delivered.wrapping_sub(self.since.delivered);
        let mut difference = dropped;
        for (now, before) in difference.iter_mut().zip(self.since.dropped) {
            *now = now.wrapping_sub(before);
        }
        let settled = difference.iter().fold(read, |sum, count| sum.wrapping_add(*count));
        let in_rings = if is_over { 0 } else { account.in_flight() };
        let Tally { selected, behind, filtered, late, failed, .. } = *self;
        let emitted = settled.wrapping_add(in_rings);
        let dropped = difference;
        Entry { is_over, emitted, read, dropped, behind, filtered, late, failed, selected, ..Entry::default() }
    }
}

/// Adds an entry to a sum of several.
pub(super) fn add(sum: &mut Entry, entry: &Entry) {
    let counts = [
        (&mut sum.emitted, entry.emitted),
        (&mut sum.read, entry.read),
        (&mut sum.behind, entry.behind),
        (&mut sum.filtered, entry.filtered),
        (&mut sum.late, entry.late),
        (&mut sum.failed, entry.failed),
        (&mut sum.selected, entry.selected),
        (&mut sum.lapses, entry.lapses),
    ];
    let dropped = sum.dropped.iter_mut().zip(entry.dropped);
    counts.into_iter().chain(dropped).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_versions_share_out_what_was_emitted() {
        let mut account = Account::default();
        account.emitted = 100;
        account.delivered = 60;
        account.dropped.overwritten = 10;
        let first = Tally::since(Settled::default()).entry(&account, true);
        let second = Tally::since(Settled::of(&account));
        account.emitted = 150;
        account.delivered = 130;
        let second = second.entry(&account, false);
        assert_eq!((first.emitted, second.emitted), (70, 80), "what was in the rings is of the second");
        assert_eq!(first.dropped[0] + second.dropped[0], 10);
    }
}
