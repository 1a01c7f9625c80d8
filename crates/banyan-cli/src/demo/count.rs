//! Counting the waves that come while an agent is killed.
//!
//! Every record has the number of its wave, and the last one of each member how many it sent before. A stream keeps the order
//! of each member: so a wave that was lost, came twice or has somebody's record of another wave shows by its numbers, and behind
//! the last there is nothing.

use banyan_ndr::Record;

use super::member::CELLS;

/// What the tree makes of the records of a wave.
pub(super) const REDUCTION: &str = "sum(cells) as cells, min(wave) as least, max(wave) as most, sum(sent) as sent";

/// What comes of a wave.
#[derive(Debug, Record)]
pub(super) struct Numbers {
    cells: u64,
    least: u64,
    most: u64,
    sent: u64,
}

/// What has come so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WaveTally {
    /// Members that should be in every wave.
    everyone: u64,
    /// Waves that members were told to send.
    told: u64,
    pub(super) waves: u64,
    /// Waves that are not as they should be: of another number, without everyone, or with a wrong sum.
    pub(super) wrong: u64,
    /// Records that members say they have sent.
    pub(super) emitted: u64,
    /// Records that are in the waves that came.
    pub(super) delivered: u64,
}

impl WaveTally {
    pub(super) fn new(everyone: u64, told: u64) -> WaveTally {
        WaveTally { everyone, told, ..WaveTally::default() }
    }

    /// Takes the next wave, of so many members; whether it was the last.
    pub(super) fn take(&mut self, members: u64, numbers: &Numbers) -> bool {
        let is_last = numbers.least >= self.told;
        let cells = if is_last { 0 } else { CELLS * members };
        let is_right = numbers.least == self.waves && numbers.most == self.waves && members == self.everyone;
        self.wrong += u64::from(!is_right || numbers.cells != cells);
        self.emitted += numbers.sent;
        if !is_last {
            self.waves += 1;
            self.delivered += members;
        }
        is_last
    }

    /// Something came behind the last wave.
    pub(super) fn take_surplus(&mut self, members: u64) {
        (self.wrong, self.delivered) = (self.wrong + 1, self.delivered + members);
    }

    /// Nothing was lost, nothing came twice, and everyone was in each.
    pub(super) fn is_whole(&self) -> bool {
        self.wrong == 0 && self.waves == self.told && self.emitted == self.delivered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two waves of three members, as they should be, and the last.
    fn waves() -> Vec<(u64, Numbers)> {
        let wave = |number| (3, Numbers { cells: 3 * CELLS, least: number, most: number, sent: 0 });
        vec![wave(0), wave(1), (3, Numbers { cells: 0, least: 2, most: 2, sent: 6 })]
    }

    fn counted(waves: &[(u64, Numbers)]) -> WaveTally {
        let mut count = WaveTally::new(3, 2);
        let ends: Vec<bool> = waves.iter().map(|(members, numbers)| count.take(*members, numbers)).collect();
        assert_eq!(ends.iter().position(|is_last| *is_last), ends.len().checked_sub(1), "only the last is the last");
        count
    }

    #[test]
    fn what_members_have_sent_is_in_the_waves() {
        let count = counted(&waves());
        assert!(count.is_whole(), "{count:?}");
        assert_eq!((count.waves, count.emitted, count.delivered), (2, 6, 6));
    }

    #[test]
    fn a_wave_that_is_lost_or_comes_twice_is_seen() {
        let lost = counted(&waves()[1..]);
        assert!(!lost.is_whole() && (lost.emitted, lost.delivered) == (6, 3), "{lost:?}");
        let mut twice = waves();
        twice.extend(waves().drain(..1));
        twice.rotate_right(1);
        let twice = counted(&twice);
        assert!(!twice.is_whole() && (twice.emitted, twice.delivered) == (6, 9), "{twice:?}");
        let mut surplus = counted(&waves());
        surplus.take_surplus(3);
        assert!(!surplus.is_whole(), "{surplus:?}");
    }

    #[test]
    fn a_wave_with_a_record_of_another_or_without_someone_is_seen_though_the_sums_agree() {
        for (members, changed) in [
            (3, Numbers { cells: 3 * CELLS, least: 0, most: 1, sent: 0 }),
            (2, Numbers { cells: 2 * CELLS, least: 0, most: 0, sent: 0 }),
            (3, Numbers { cells: 2 * CELLS, least: 0, most: 0, sent: 0 }),
        ] {
            let mut waves = waves();
            waves[0] = (members, changed);
            let count = counted(&waves);
            assert!(!count.is_whole() && count.wrong == 1, "{count:?}");
        }
    }
}
