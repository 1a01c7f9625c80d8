//! The front-end's book of a stream: which members are in which wave, and when a wave is whole.
//!
//! Contributions to a wave come as *parts*, each with its set of members. After failures a part may come twice, or once
//! by itself and once within a larger part. Any two parts of a wave are disjoint, or one holds all of the other, because
//! a node sends what it combined once to be combined further, and never again to be combined: so the book only has to
//! keep the largest.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use banyan_boot::RankSet;

use crate::ids::WaveNumber;
use crate::run::Run;

/// Parts of one wave.
#[derive(Debug, Default)]
struct Page {
    /// Of one wave each; disjoint.
    parts: Vec<Run>,
    /// All who are in them.
    members: Arc<RankSet>,
}

/// Waves that were over when a newcomer contributed to them.
#[derive(Debug, Default)]
struct Behind {
    count: u64,
    /// All of them are before this one: what comes again, because an agent has died, is not counted again.
    until: WaveNumber,
}

/// Waves that are whole.
#[derive(Debug)]
pub(super) struct WholeWaves {
    /// All of the same waves, in the order of their lowest members.
    pub(super) parts: Vec<Run>,
    /// Who is in them.
    pub(super) members: Arc<RankSet>,
    /// Who was expected and is not.
    pub(super) missing: RankSet,
}

/// Waves that were given out without everyone, of which it is remembered who may still come: more than members may be
/// behind, so that everyone who comes too late is told from who comes twice.
const FORGONE: usize = 2 * 4096;

/// Packets at most that a newcomer is taken to have been sent before it was known. There may be many more that not all have
/// said they have taken, and one that goes on by itself is not to be left out of waves for that.
const ANSWERS: usize = 16;

#[derive(Debug)]
pub(super) struct Ledger {
    /// Whose contributions are waited for.
    expected: Arc<RankSet>,
    /// Members that have come and were sent nothing since. Those among them that have contributed to a wave that was not over
    /// are expected as well.
    newcomers: RankSet,
    /// What those among them contributed to waves that were over.
    behind: BTreeMap<u32, Behind>,
    /// So many of these waves may be answers to what was sent before the newcomers were known.
    unanswered: u64,
    /// The first wave that is not whole.
    next: WaveNumber,
    /// From `next` on.
    pages: VecDeque<Page>,
    whole: VecDeque<WholeWaves>,
    /// The last set that was found to hold all who are expected.
    sufficient: Option<Arc<RankSet>>,
    /// Contributions that came after their wave was delivered without them, or twice.
    late: u64,
    /// Who is missing in waves that were given out without everyone, and how often each of those has come since.
    forgone: BTreeMap<WaveNumber, RankSet>,
    overdue: BTreeMap<u32, u64>,
    /// Who was missing in the last of these, and was in none since.
    lapsed: RankSet,
    conflicts: u64,
}

impl Ledger {
    pub(super) fn new(expected: Arc<RankSet>) -> Ledger {
        Ledger {
            expected,
            newcomers: RankSet::new(),
            behind: BTreeMap::new(),
            unanswered: 0,
            next: WaveNumber(0),
            pages: VecDeque::new(),
            whole: VecDeque::new(),
            sufficient: None,
            late: 0,
            forgone: BTreeMap::new(),
            overdue: BTreeMap::new(),
            lapsed: RankSet::new(),
            conflicts: 0,
        }
    }

    /// These members are there now. Those that were not are waited for from when they are sent something, or contribute: who
    /// has just come may have nothing to say. So many packets were sent that not all have taken: newcomers may get them.
    pub(super) fn set_present(&mut self, present: &RankSet, under_way: usize) {
        let newcomers = self.newcomers.intersection(present).union(&present.difference(&self.expected));
        self.set_newcomers(newcomers, under_way);
        self.expect(self.expected.intersection(present));
    }

    fn set_newcomers(&mut self, newcomers: RankSet, under_way: usize) {
        if !newcomers.is_subset(&self.newcomers) {
            self.unanswered = self.unanswered.max(under_way.min(ANSWERS) as u64);
        }
        self.behind.retain(|rank, _| newcomers.contains(*rank));
        self.newcomers = newcomers;
    }

    /// Whether nobody has contributed anything so far.
    pub(super) fn has_nothing(&self) -> bool {
        self.next == WaveNumber(0) && self.pages.is_empty()
    }

    /// Whether someone has contributed to a wave that is not whole.
    pub(super) fn has_begun(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Whether someone is there who was sent nothing since it came.
    pub(super) fn has_newcomers(&self) -> bool {
        !self.newcomers.is_empty()
    }

    /// From now on all who are there are waited for.
    pub(super) fn expect_newcomers(&mut self) {
        let newcomers = std::mem::take(&mut self.newcomers);
        self.behind.clear();
        self.unanswered = 0;
        self.expect(self.expected.union(&newcomers));
    }

    /// Of those who are there, these are waited for from now on. Whether someone is who was not before.
    pub(super) fn expect_newcomers_among(&mut self, members: &RankSet) -> bool {
        let others = self.newcomers.difference(members);
        let newcomers = std::mem::take(&mut self.newcomers).difference(&others);
        if others.is_empty() {
            self.unanswered = 0;
        }
        self.newcomers = others;
        self.behind.retain(|rank, _| !newcomers.contains(*rank));
        self.expect(self.expected.union(&newcomers));
        !newcomers.is_empty()
    }

    /// These members, who may have been waited for, have not heard of anything: they are waited for from when they are sent
    /// something, or contribute.
    pub(super) fn begin_again(&mut self, members: &RankSet, under_way: usize) {
        let members = self.expected.intersection(members);
        if !members.is_empty() {
            self.behind.retain(|rank, _| !members.contains(*rank));
            self.set_newcomers(self.newcomers.union(&members), under_way);
            self.expect(self.expected.difference(&members));
        }
    }

    fn expect(&mut self, expected: RankSet) {
        self.expected = Arc::new(expected);
        self.sufficient = None;
        self.turn_pages();
    }

    /// Takes parts, all of the same waves, with all who are in them.
    pub(super) fn add(&mut self, parts: Vec<Run>, members: &Arc<RankSet>) {
        let Some(first) = parts.first() else { return };
        if !self.newcomers.is_empty() && !self.newcomers.is_disjoint(members) {
            self.hear_newcomers(&self.newcomers.intersection(members), first);
        }
        if first.first == self.next && self.pages.is_empty() && self.suffices(members) {
            self.lapsed = RankSet::new();
            self.next = first.end();
            let members = Arc::clone(members);
            self.whole.push_back(WholeWaves { members, parts, missing: RankSet::new() });
            return;
        }
        parts.into_iter().for_each(|part| self.note(part));
        self.turn_pages();
    }

    /// Newcomers have contributed to these waves, and are waited for from now on; but not for contributions to waves that are
    /// over, as long as these may be answers to what was sent before they came, or of a process whose place they have taken:
    /// then there are none to come until they are sent something.
    fn hear_newcomers(&mut self, heard: &RankSet, run: &Run) {
        let answers = self.unanswered.max(1);
        let mut may_be_answers = run.end() <= self.next;
        if may_be_answers {
            for rank in heard.iter() {
                let behind = self.behind.entry(rank).or_default();
                behind.add(run);
                may_be_answers &= behind.count <= answers;
            }
        }
        if !may_be_answers && !heard.is_subset(&self.expected) {
            self.expect(self.expected.union(heard));
        }
    }

    /// Parts that were refused because another part holds some, but not all, of their members.
    pub(super) fn conflicts(&self) -> u64 {
        self.conflicts
    }

    fn note(&mut self, run: Run) {
        if let Some(late) = run.within(WaveNumber(0)..self.next) {
            self.note_late(&late);
        }
        let Some(run) = run.within(self.next..run.end()) else { return };
        for wave in run.first.0..run.end().0 {
            let at = self.next.until(WaveNumber(wave)) as usize;
            if self.pages.len() <= at {
                self.pages.resize_with(at + 1, Page::default);
            }
            if let Some(part) = run.within(WaveNumber(wave)..WaveNumber(wave + 1)) {
                self.conflicts += u64::from(!self.pages[at].add(part));
            }
        }
    }

    /// Contributions to waves that were given out.
    fn note_late(&mut self, run: &Run) {
        self.late += u64::from(run.bodies.len());
        for wave in self.forgone.range_mut(run.first..run.end()).map(|(_, missing)| missing) {
            for rank in wave.intersection(&run.members).iter() {
                *self.overdue.entry(rank).or_default() += 1;
            }
            *wave = wave.difference(&run.members);
        }
    }

    /// The waves before this one are given out with those who are in them; those that nobody is in are left out. Who is
    /// missing, and was in the wave before: from which wave on.
    pub(super) fn force(&mut self, until: WaveNumber) -> Vec<(WaveNumber, RankSet)> {
        let mut lapses = Vec::new();
        while self.next < until {
            self.turn_pages();
            if self.next >= until {
                break;
            }
            let Some(Page { mut parts, members }) = self.pages.pop_front() else { break };
            if !parts.is_empty() {
                let missing = self.expected.difference(&members);
                let lapsed = missing.difference(&self.lapsed);
                self.lapsed = missing.clone();
                if !lapsed.is_empty() {
                    lapses.push((self.next, lapsed));
                }
                self.forgone.insert(self.next, missing.clone());
                if self.forgone.len() > FORGONE {
                    self.forgone.pop_first();
                }
                parts.sort_by_key(|part| part.members.first());
                self.whole.push_back(WholeWaves { parts, members, missing });
            }
            self.next = self.next.after(1);
        }
        lapses
    }

    /// The first wave that is not whole.
    pub(super) fn next(&self) -> WaveNumber {
        self.next
    }

    /// How often a member contributed to a wave that had been given out without it.
    pub(super) fn overdue(&self) -> u64 {
        self.overdue.values().sum()
    }

    /// The same, of each member.
    pub(super) fn overdue_by_rank(&self) -> &BTreeMap<u32, u64> {
        &self.overdue
    }

    /// The next waves that are whole.
    pub(super) fn take(&mut self) -> Option<WholeWaves> {
        self.whole.pop_front()
    }

    /// Runs of waves that were not taken.
    pub(super) fn waiting(&self) -> usize {
        self.whole.len()
    }

    /// Gives back what was taken and not delivered.
    pub(super) fn put_back(&mut self, rest: WholeWaves) {
        if !rest.parts.is_empty() {
            self.whole.push_front(rest);
        }
    }

    /// Contributions that came after their wave was delivered, or twice.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// Who is missing in the first wave that is not whole.
    pub(super) fn missing(&self) -> RankSet {
        match self.pages.front() {
            Some(page) => self.expected.difference(&page.members),
            None => (*self.expected).clone(),
        }
    }

    fn turn_pages(&mut self) {
        while let Some(page) = self.pages.front() {
            let members = Arc::clone(&page.members);
            if page.parts.is_empty() || !self.suffices(&members) {
                return;
            }
            self.lapsed = RankSet::new();
            if let Some(Page { mut parts, .. }) = self.pages.pop_front() {
                parts.sort_by_key(|part| part.members.first());
                self.whole.push_back(WholeWaves { parts, members, missing: RankSet::new() });
                self.next = self.next.after(1);
            }
        }
    }

    fn suffices(&mut self, members: &Arc<RankSet>) -> bool {
        if self.sufficient.as_ref().is_some_and(|known| Arc::ptr_eq(known, members)) {
            return true;
        }
        let suffices = self.expected.is_subset(members);
        if suffices {
            self.sufficient = Some(Arc::clone(members));
        }
        suffices
    }
}

impl Behind {
    fn add(&mut self, run: &Run) {
        self.count += self.until.max(run.first).until(run.end());
        self.until = self.until.max(run.end());
    }
}

impl Page {
    /// False if the part is refused.
    fn add(&mut self, part: Run) -> bool {
        if part.members.is_disjoint(&self.members) {
            self.unite(&part);
            self.parts.push(part);
            return true;
        }
        if self.parts.iter().any(|known| part.members.is_subset(&known.members)) {
            return true;
        }
        let is_apart = |known: &Run| known.members.is_subset(&part.members) || known.members.is_disjoint(&part.members);
        if !self.parts.iter().all(is_apart) {
            return false;
        }
        self.parts.retain(|known| !known.members.is_subset(&part.members));
        self.unite(&part);
        self.parts.push(part);
        true
    }

    fn unite(&mut self, part: &Run) {
        self.members = match self.parts[..] {
            [] => Arc::clone(&part.members),
            _ => Arc::new(self.members.union(&part.members)),
        };
    }
}
