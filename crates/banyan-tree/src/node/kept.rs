//! What a node has sent upwards and the front-end has not yet taken: it is sent again to whoever becomes the parent.

use std::collections::VecDeque;

use crate::ids::Wave;
use crate::run::Run;

#[derive(Debug, Default)]
pub(super) struct Kept {
    runs: VecDeque<Run>,
    bytes: usize,
    acknowledged: Wave,
}

impl Kept {
    /// Keeps what is about to be sent.
    pub(super) fn keep(&mut self, run: &Run) {
        if run.end() > self.acknowledged {
            self.bytes += run.bodies.size();
            self.runs.push_back(run.clone());
        }
    }

    /// The front-end has taken all waves before this one.
    pub(super) fn acknowledge(&mut self, until: Wave) {
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

    /// The first wave the front-end has not taken.
    pub(super) fn acknowledged(&self) -> Wave {
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
