//! Reports that wait for a program which may never ask for them. Members that join or are lost one after the other are one
//! report, if nobody took it in between.

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
        if self.joins(&report) {
            return;
        }
        if self.waiting.len() == MOST {
            self.dropped += match self.waiting.pop_front() {
                Some(Report::Dropped(others)) => others,
                _ => 1,
            };
        }
        self.waiting.push_back(report);
    }

    /// Puts members into the report before, if that is of the same sort: false where there is none.
    fn joins(&mut self, report: &Report) -> bool {
        let (Report::Joined(members) | Report::Lost(members)) = report else { return false };
        let about_members = |waiting: &&mut Report| matches!(waiting, Report::Joined(_) | Report::Lost(_));
        match (report, self.waiting.iter_mut().rev().find(about_members)) {
            (Report::Joined(_), Some(Report::Joined(before))) | (Report::Lost(_), Some(Report::Lost(before))) => {
                *before = before.union(members);
                true
            }
            _ => false,
        }
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
    use banyan_boot::RankSet;

    use super::*;
    use crate::ids::NodeId;

    #[test]
    fn members_that_come_and_go_in_turn_are_sets_in_the_order_of_what_happened() {
        let ranks = |ranks: &[u32]| ranks.iter().copied().collect::<RankSet>();
        let (joined, lost) = (|rank| Report::Joined(ranks(&[rank])), |rank| Report::Lost(ranks(&[rank])));
        let mut reports = Reports::default();
        let agent = Report::AgentJoined(NodeId(1));
        for report in [joined(0), agent.clone(), joined(2), joined(1), lost(1), lost(0), joined(1)] {
            reports.push(report);
        }
        let told: Vec<Report> = std::iter::from_fn(|| reports.pop()).collect();
        assert_eq!(told, [Report::Joined(ranks(&[0, 1, 2])), agent, Report::Lost(ranks(&[0, 1])), joined(1)]);
    }

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
