//! Reports that wait for a program which may never ask for them.

use std::collections::VecDeque;

use crate::node::Report;

/// Reports that are kept: the oldest go, and are counted.
const MOST: usize = 4096;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    waiting: VecDeque<Report>,
    /// How many have gone since one was last taken.
    dropped: u64,
}

impl Reports {
    pub(crate) fn push(&mut self, report: Report) {
        if self.waiting.len() == MOST {
            self.dropped += match self.waiting.pop_front() {
                Some(Report::Dropped(others)) => others,
                _ => 1,
            };
        }
        self.waiting.push_back(report);
    }

    /// The next one; first of all how many before it are gone.
    pub(crate) fn pop(&mut self) -> Option<Report> {
        match std::mem::take(&mut self.dropped) {
            0 => self.waiting.pop_front(),
            dropped => Some(Report::Dropped(dropped)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;

    #[test]
    fn reports_that_nobody_took_in_time_are_counted_before_the_rest() {
        let (mut first, mut second) = (Reports::default(), Reports::default());
        let count = MOST as u32 + 10;
        (0..count).for_each(|node| first.push(Report::Adrift(NodeId(node))));
        // Handed on, and dropped again on the way: each counts once.
        std::iter::from_fn(|| first.pop()).for_each(|report| second.push(report));
        second.push(Report::Adrift(NodeId(count)));
        assert_eq!(second.pop(), Some(Report::Dropped(11)));
        let rest: Vec<Report> = std::iter::from_fn(|| second.pop()).collect();
        assert_eq!(rest, (11..=count).map(|node| Report::Adrift(NodeId(node))).collect::<Vec<_>>());
    }
}
