//! What a node has sent upwards and the front-end has not yet taken: it is sent again to whoever becomes the parent.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::ids::WaveNumber;
use crate::run::Run;

/// The parts of a run before and behind some waves.
fn outside(run: &Run, waves: Range<WaveNumber>) -> impl Iterator<Item = Run> {
    let before = run.within(WaveNumber(0)..waves.start);
    before.into_iter().chain(run.within(waves.end.max(run.first)..run.end()))
}

#[derive(Debug, Default)]
pub(super) struct Kept {
    runs: VecDeque<Run>,
    bytes: usize,
    acknowledged: WaveNumber,
}

impl Kept {
    /// What of a run that a child sends by itself is not kept yet. The rest has gone to the parent, or will go to the next
    /// one: a child that has moved away and come back repeats it.
    pub(super) fn unknown(&self, run: Run) -> Vec<Run> {
        let mut unknown = vec![run];
        for kept in &self.runs {
            let holds = |run: &Run| {
                let overlap = kept.first < run.end() && run.first < kept.end();
                overlap && (Arc::ptr_eq(&kept.members, &run.members) || run.members.is_subset(&kept.members))
            };
            if unknown.iter().any(holds) {
                unknown = unknown.iter().flat_map(|run| outside(run, kept.first..kept.end())).collect();
            }
            if unknown.is_empty() {
                break;
            }
        }
        unknown
    }

    /// Keeps what is about to be sent.
    pub(super) fn keep(&mut self, run: &Run) {
        if run.end() > self.acknowledged {
            self.bytes += run.bodies.size();
            self.runs.push_back(run.clone());
        }
    }

    /// The front-end has taken all waves before this one.
    pub(super) fn acknowledge(&mut self, until: WaveNumber) {
        if until <= self.acknowledged {
            return;
        }
        self.acknowledged = until;
        let mut freed = 0;
        self.runs.retain(|run| {
            let is_taken = run.end() <= until;
            freed += if is_taken { run.bodies.size() } else { 0 };
            !is_taken
        });
        self.bytes -= freed;
    }

    /// Nothing before this record was ever sent.
    pub(super) fn from(first: WaveNumber) -> Kept {
        Kept { acknowledged: first, ..Kept::default() }
    }

    /// The front-end has taken all records before this one. What it has not taken of a run counts by itself: others may wait
    /// for the room.
    pub(super) fn acknowledge_records(&mut self, until: WaveNumber) {
        self.acknowledge(until);
        if let Some(first) = self.runs.front_mut().filter(|run| run.first < until)
            && let Some(rest) = first.within(until..first.end())
        {
            self.bytes -= first.bodies.size() - rest.bodies.size();
            *first = rest;
        }
    }

    /// The first wave the front-end has not taken.
    pub(super) fn acknowledged(&self) -> WaveNumber {
        self.acknowledged
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Everything, to be sent again: not to be combined, because some of it may have arrived.
    pub(super) fn again(&self) -> impl Iterator<Item = Run> {
        self.runs.iter().map(|run| Run { is_fresh: false, ..run.clone() })
    }
}
