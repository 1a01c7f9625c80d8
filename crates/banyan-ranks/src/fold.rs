//! From ascending ranks to the one way in which a set keeps them.
//!
//! Ranks without a gap are one run, whatever is around them. Of the ranks that stand alone, [`FOLDED`] or more at equal
//! distances are one progression; the lower ranks choose first. So what is kept depends on the ranks alone, and sets are
//! equal if what they keep is.

use super::progression::Progression;

/// Ranks at equal distances that are kept together. Three written as such would be harder to read than `1,5,9`, and no
/// shorter.
pub(super) const FOLDED: usize = 4;

/// Takes progressions in the order of their first ranks.
#[derive(Debug, Default)]
pub(super) struct Folder {
    /// Folded as far as known.
    done: Vec<Progression>,
    /// The run at the end, which the next ranks may lengthen.
    open: Option<Progression>,
}

impl Folder {
    pub(super) fn with_capacity(pieces: usize) -> Folder {
        Folder { done: Vec::with_capacity(pieces), open: None }
    }

    /// Goes on behind what was folded before.
    pub(super) fn resume(mut done: Vec<Progression>) -> Folder {
        // The last rank is taken out again: it may begin or end something new.
        let open = done.pop().map(|last| {
            if last.is_run() {
                return last;
            }
            let before = last.below(last.last).expect("a progression has at least two ranks");
            // Fewer than are kept together stand alone.
            if before.len() < FOLDED as u64 {
                done.extend(before.iter().map(|rank| Progression::run(rank, rank)));
            } else {
                done.push(before);
            }
            Progression::run(last.last, last.last)
        });
        Folder { done, open }
    }

    /// Adds ranks. None of them is below the first of those added before; some may have been added already.
    pub(super) fn push(&mut self, ranks: Progression) {
        if ranks.is_run() {
            return self.push_run(ranks);
        }
        let mut rest = self.open.map_or(Some(ranks), |open| ranks.above(open.last));
        while let Some(more) = rest {
            // Once the ranks before are the beginning of the same progression, all others follow at once.
            if let (Some(tail), Some(open)) = (self.done.last_mut(), &mut self.open)
                && tail.step == more.step
                && tail.last.checked_add(more.step) == Some(open.first)
                && open.last.checked_add(more.step) == Some(more.first)
                && open.first == open.last
            {
                tail.last = more.last - more.step;
                *open = Progression::run(more.last, more.last);
                return;
            }
            self.push_run(Progression::run(more.first, more.first));
            rest = more.above(more.first);
        }
    }

    fn push_run(&mut self, run: Progression) {
        match &mut self.open {
            Some(open) if open.last.checked_add(1).is_none_or(|next| run.first <= next) => {
                open.last = open.last.max(run.last);
            }
            _ => {
                self.close();
                self.open = Some(run);
            }
        }
    }

    /// The run at the end will not grow.
    fn close(&mut self) {
        let Some(run) = self.open.take() else { return };
        if run.first == run.last && self.joins(run.first) {
            return;
        }
        self.done.push(run);
    }

    /// Puts a rank that stands alone to others at equal distances, if it can.
    fn joins(&mut self, rank: u32) -> bool {
        let Some(tail) = self.done.last_mut() else { return false };
        let step = rank - tail.last;
        if !tail.is_run() {
            if tail.step == step {
                tail.last = rank;
            }
            return tail.step == step;
        }
        let Some(start) = self.done.len().checked_sub(FOLDED - 1) else { return false };
        let alone = |piece: &Progression| piece.first == piece.last;
        let even = |pair: &[Progression]| pair[1].first - pair[0].first == step;
        let others = &self.done[start..];
        if !others.iter().all(alone) || !others.windows(2).all(even) {
            return false;
        }
        let first = others[0].first;
        self.done.truncate(start);
        self.done.push(Progression { first, last: rank, step });
        true
    }

    pub(super) fn finish(mut self) -> Vec<Progression> {
        self.close();
        self.done
    }
}
