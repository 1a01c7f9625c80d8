//! What a node has not reported upward yet, and when it is worth a report.

use banyan_link::Refused;

use super::root_channel::Progress;
use crate::process::ExitState;

/// What a node has not reported upward yet.
#[derive(Debug, Default)]
pub(super) struct Unreported {
    /// How members ended.
    pub(super) exits: Vec<(u32, ExitState)>,
    /// The process ids of members: rank and pid.
    pub(super) processes: Vec<(u32, u32)>,
    /// Connections refused at listeners, here and below.
    pub(super) refused: Refused,
    /// How many refusals were reported.
    refusals_reported: u64,
    /// The progress of the launch that was reported.
    progress: Progress,
}

/// The size of the subtree that a node reports about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) agents: u32,
    pub(super) members: u32,
    /// Whether members wait for a release.
    pub(super) held: bool,
}

impl Unreported {
    /// The progress of the launch, if it is time to report it. The root always wants to know; a report to a parent costs
    /// every node above, so it waits for a milestone.
    pub(super) fn progress_due(&mut self, now: Progress, extent: Extent, is_root: bool) -> Option<Progress> {
        if now == self.progress || !is_root && !self.is_milestone(now, extent) {
            return None;
        }
        self.progress = now;
        Some(now)
    }

    /// Whether somebody above may wait for this progress.
    fn is_milestone(&self, now: Progress, Extent { agents, members, held }: Extent) -> bool {
        let reported = &self.progress;
        let all_answered = now.agents == agents && reported.agents != agents;
        let all_started = now.started + now.failed == members && reported.started != now.started;
        let all_joined = now.joined == members;
        // If members are held, or there are none, the answer of all agents completes the launch. Otherwise the members'
        // start tells it too, unless other agents are below: somebody may wait for them.
        let says_all = held || members == 0 || agents > 1;
        now.failed != reported.failed || all_joined || all_started && now.agents == agents || all_answered && says_all
    }

    /// The refused connections, if it is time to report them: before exits, so that whoever learns of an exit has learnt
    /// of every refusal before it, and whenever their number has doubled, so that repeated attempts cause few reports.
    pub(super) fn refused_due(&mut self, is_root: bool) -> Option<Refused> {
        let new = self.refused.total();
        if new == 0 || !is_root && self.exits.is_empty() && new < self.refusals_reported {
            return None;
        }
        self.refusals_reported = self.refusals_reported.saturating_add(new);
        Some(std::mem::take(&mut self.refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENT: Extent = Extent { agents: 1, members: 2, held: false };

    fn progress(started: u32, joined: u32) -> Progress {
        Progress { agents: 1, started, failed: 0, joined }
    }

    #[test]
    fn a_parent_is_told_when_all_have_started_and_when_all_have_joined() {
        let mut unreported = Unreported::default();
        let mut due = |started, joined| unreported.progress_due(progress(started, joined), EXTENT, false).is_some();
        let reports = [due(0, 0), due(1, 0), due(2, 0), due(2, 0), due(2, 1), due(2, 2), due(2, 2)];
        assert_eq!(reports, [false, false, true, false, false, true, false]);
    }

    #[test]
    fn the_root_is_told_of_every_change() {
        let mut unreported = Unreported::default();
        let mut due = |started| unreported.progress_due(progress(started, 0), EXTENT, true).is_some();
        assert_eq!([due(0), due(1), due(1), due(2)], [true, true, false, true]);
    }

    #[test]
    fn refusals_wait_until_they_have_doubled_or_somebody_ends() {
        let mut unreported = Unreported::default();
        let mut due = |exits: usize, new| {
            unreported.exits = vec![(0, ExitState::Exited(0)); exits];
            unreported.refused.garbage += new;
            unreported.refused_due(false).map(|refused| refused.total())
        };
        assert_eq!(
            [due(0, 0), due(0, 2), due(0, 1), due(0, 1), due(0, 1), due(1, 1)],
            [None, Some(2), None, Some(2), None, Some(2)]
        );
    }
}
