//! What a node remembers of one collective, and the ring in which it keeps the last and next few.

use super::reducing::Reducing;
use crate::collective::{Call, Number, WINDOW, bundle::Bundle};

/// State of one collective at a node.
#[derive(Debug, Default)]
pub(super) struct Round {
    number: Number,
    /// What the first child entered; until another child differs, what all have entered.
    pub(super) call: Option<Call>,
    /// Children that have entered.
    pub(super) entered: usize,
    /// Somebody waits for GO.
    pub(super) wants_go: bool,
    /// Messages that have come up completely from each child. Empty until the first data comes.
    pub(super) finished: Vec<u32>,
    /// Messages that have come up completely from all children, in a gather or an `all_gather`.
    pub(super) arrived: u32,
    /// Those of them that are kept until the others have come.
    pub(super) collected: Bundle,
    /// The reduction, while it is under way.
    pub(super) reducing: Option<Box<Reducing>>,
}

impl Round {
    /// Messages that have come up completely from a child.
    pub(super) fn finished(&self, child: usize) -> u32 {
        self.finished.get(child).copied().unwrap_or(0)
    }
}

/// The rounds around the next one that not all children have entered.
#[derive(Debug)]
pub(super) struct Rounds {
    ring: Vec<Round>,
    /// The first number that not all children have entered.
    next: Number,
}

/// Numbers that are alive may be so far below or above the next.
const REACH: u64 = WINDOW / 2;

impl Rounds {
    pub(super) fn new() -> Self {
        let ring = (0..WINDOW).map(|number| Round { number: Number(number), ..Round::default() }).collect();
        Self { ring, next: Number::default() }
    }

    /// The first number that not all children have entered.
    pub(super) fn next(&self) -> Number {
        self.next
    }

    /// All children have entered the next.
    pub(super) fn pass(&mut self) {
        self.next = self.next.next();
    }

    /// The number that stands in a frame as `sequence`, if a round can have it now.
    pub(super) fn number(&self, sequence: u32) -> Option<Number> {
        let near = |number: &Number| self.next.0 < number.0 + REACH + 1 && number.0 < self.next.0 + REACH;
        self.next.nearest(sequence).filter(near)
    }

    /// The round of a number that [`number`](Self::number) gave, emptied of what was `WINDOW` numbers before.
    pub(super) fn at(&mut self, number: Number) -> &mut Round {
        let round = &mut self.ring[(number.0 % WINDOW) as usize];
        if round.number != number {
            round.finished.clear();
            let finished = std::mem::take(&mut round.finished);
            *round = Round { number, finished, ..Round::default() };
        }
        round
    }

    /// The round of a number, if anything happened in it.
    pub(super) fn get(&self, number: Number) -> Option<&Round> {
        let round = &self.ring[(number.0 % WINDOW) as usize];
        (round.number == number && round.call.is_some()).then_some(round)
    }

    /// Rounds in which something happened and that may not be over, by number.
    pub(super) fn alive(&self) -> impl Iterator<Item = (Number, &Round)> {
        let numbers = self.next.0.saturating_sub(REACH)..self.next.0 + REACH;
        numbers.filter_map(|number| self.get(Number(number)).map(|round| (Number(number), round)))
    }

    /// Lets go of the data of all rounds from `number` on.
    pub(super) fn discard_from(&mut self, number: Number) {
        for round in self.ring.iter_mut().filter(|round| round.number >= number) {
            round.reducing = None;
            round.collected = Bundle::default();
        }
    }
}
