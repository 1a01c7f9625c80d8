//! What a node has still to start, and what could not be started.

use std::collections::VecDeque;

use banyan_ranks::RankSet;

use crate::process::Command;

/// What a node has still to start, and what could not be started.
pub(super) struct StartQueue {
    /// Members by index.
    pub(super) members: VecDeque<usize>,
    /// Child agents by index.
    pub(super) agents: VecDeque<usize>,
    /// Child agents that were started and have not answered.
    pub(super) agents_under_way: usize,
    /// Whether members wait for a release.
    pub(super) held: bool,
    /// The command of each image, once it has been looked up.
    pub(super) commands: Vec<Option<Command>>,
    /// Members that could not be started, by cause.
    failures: Vec<StartFailure>,
}

/// Members that could not be started for one reason.
pub(super) struct StartFailure {
    pub(super) cause: String,
    pub(super) remedy: &'static str,
    pub(super) ranks: RankSet,
}

impl StartQueue {
    pub(super) fn new(members: usize, agents: usize, images: usize, held: bool) -> StartQueue {
        StartQueue {
            members: (0..members).collect(),
            agents: (0..agents).collect(),
            agents_under_way: 0,
            held,
            commands: (0..images).map(|_| None).collect(),
            failures: Vec::new(),
        }
    }

    /// Whether child agents are still to start or to answer.
    pub(super) fn awaits_agents(&self) -> bool {
        self.agents_under_way > 0 || !self.agents.is_empty()
    }

    /// Whether members may be started and are not.
    pub(super) fn may_start_member(&self) -> bool {
        !self.held && !self.members.is_empty()
    }

    /// Starts nothing more.
    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.agents.clear();
    }

    /// Members could not be started.
    pub(super) fn fail(&mut self, ranks: RankSet, cause: String, remedy: &'static str) {
        match self.failures.iter_mut().find(|other| other.cause == cause) {
            Some(other) => ranks.iter().for_each(|rank| other.ranks.insert(rank)),
            None => self.failures.push(StartFailure { cause, remedy, ranks }),
        }
    }

    /// Members that could not be started, those with the same cause together.
    pub(super) fn take_failures(&mut self) -> Vec<StartFailure> {
        std::mem::take(&mut self.failures)
    }
}
