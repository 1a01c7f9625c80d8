//! Sets of ranks put together and taken apart, piece by piece.
//!
//! Time goes with the pieces of the sets, except where two progressions of different distance or phase interleave:
//! there it goes with their ranks.

use std::slice;

use super::RankSet;
use super::fold::Folder;
use super::progression::Progression;

/// The pieces of a set, the next of which can be taken in parts.
struct Pieces<'a> {
    next: Option<Progression>,
    rest: slice::Iter<'a, Progression>,
}

impl<'a> Pieces<'a> {
    fn of(set: &'a RankSet) -> Pieces<'a> {
        let mut rest = set.pieces.iter();
        Pieces { next: rest.next().copied(), rest }
    }

    fn advance(&mut self) {
        self.next = self.rest.next().copied();
    }

    /// Leaves `part` of the next piece, or goes on if there is none.
    fn keep(&mut self, part: Option<Progression>) {
        match part {
            Some(_) => self.next = part,
            None => self.advance(),
        }
    }
}

impl RankSet {
    /// The ranks of both sets.
    ///
    /// In time proportional to their runs, and to their ranks where strides interleave: the stride of a stranger should
    /// not reach further than the session ([`RankSet::last`]).
    pub fn union(&self, other: &RankSet) -> RankSet {
        let mut union = Folder::with_capacity(self.pieces.len() + other.pieces.len());
        let (mut low, mut high) = (Pieces::of(self), Pieces::of(other));
        loop {
            let (one, two) = match (low.next, high.next) {
                (Some(one), Some(two)) => (one, two),
                (None, None) => return RankSet { pieces: union.finish() },
                (one, two) => {
                    one.or(two).into_iter().for_each(|piece| union.push(piece));
                    low.advance();
                    high.advance();
                    continue;
                }
            };
            if (two.first, two.step) < (one.first, one.step) {
                std::mem::swap(&mut low, &mut high);
                continue;
            }
            if one == two {
                high.advance();
            }
            if one == two || one.is_run() || one.last < two.first {
                union.push(one);
                low.advance();
            } else {
                // Up to where the other begins, and one at least.
                let bound = two.first.max(one.first + 1);
                one.below(bound).into_iter().for_each(|part| union.push(part));
                low.keep(one.above(bound - 1));
            }
        }
    }

    /// The ranks that both sets have.
    pub fn intersection(&self, other: &RankSet) -> RankSet {
        let mut intersection = Folder::default();
        self.meetings(other).for_each(|piece| intersection.push(piece));
        RankSet { pieces: intersection.finish() }
    }

    /// The ranks of this set that `other` does not have.
    pub fn difference(&self, other: &RankSet) -> RankSet {
        let mut difference = Folder::with_capacity(self.pieces.len());
        let mut taken = Pieces::of(other);
        for piece in &self.pieces {
            let mut left = Some(*piece);
            while let (Some(ranks), Some(take)) = (left, taken.next)
                && take.first <= ranks.last
            {
                left = ranks.meet(take).map_or(left, |both| difference.push_all_but(ranks, both));
                if take.last > piece.last {
                    break;
                }
                taken.advance();
            }
            left.into_iter().for_each(|ranks| difference.push(ranks));
        }
        RankSet { pieces: difference.finish() }
    }

    /// True if `other` has all ranks of this set.
    pub fn is_subset(&self, other: &RankSet) -> bool {
        self.meetings(other).map(Progression::len).sum::<u64>() == self.len()
    }

    /// True if no rank is in both sets.
    pub fn is_disjoint(&self, other: &RankSet) -> bool {
        self.meetings(other).next().is_none()
    }

    /// What both sets have, ascending.
    fn meetings(&self, other: &RankSet) -> impl Iterator<Item = Progression> {
        let (mut one, mut two) = (Pieces::of(self), Pieces::of(other));
        std::iter::from_fn(move || {
            while let (Some(a), Some(b)) = (one.next, two.next) {
                // The one that ends first meets nothing else.
                if a.last <= b.last {
                    one.advance();
                } else {
                    two.advance();
                }
                if let Some(both) = a.meet(b) {
                    return Some(both);
                }
            }
            None
        })
    }
}

impl Folder {
    /// Adds `ranks` up to the last of `some` of them, without these, and returns those above.
    fn push_all_but(&mut self, ranks: Progression, some: Progression) -> Option<Progression> {
        // Neighbours go at once.
        if some.step == ranks.step || some.first == some.last {
            ranks.below(some.first).into_iter().for_each(|kept| self.push(kept));
            return ranks.above(some.last);
        }
        let mut left = Some(ranks);
        for taken in some.iter() {
            let ranks = left?;
            ranks.below(taken).into_iter().for_each(|kept| self.push(kept));
            left = ranks.above(taken);
        }
        left
    }
}
