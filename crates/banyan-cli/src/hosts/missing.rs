//! Hosts that could not be reached: how they are told, and what they make of the exit status.

use std::collections::HashSet;

use banyan_boot::{LaunchError, Problem, ProblemKind, ProblemSummary};

use super::HostChoice;
use crate::failure::{Failure, warn};
use crate::speech::complain;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Missing {
    problems: Vec<Problem>,
    /// Enough others are there, as the user has said.
    are_spare: bool,
}

impl Missing {
    /// Those that a session was launched without; more may be found later.
    pub(crate) fn of(choice: &HostChoice, problems: &[Problem]) -> Result<Missing, Failure> {
        Ok(Missing { problems: problems.to_vec(), are_spare: choice.least()?.is_some() })
    }

    /// Whether a problem tells that a host could not be reached: nothing was done there.
    pub(crate) fn is_told_by(problem: &Problem) -> bool {
        matches!(problem.kind, ProblemKind::Unreachable | ProblemKind::Version)
    }

    pub(crate) fn note(&mut self, problem: &Problem) {
        self.problems.push(problem.clone());
    }

    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(crate) fn contains(&self, host: &str) -> bool {
        self.problems.iter().any(|problem| problem.host == host)
    }

    /// How many hosts that are.
    pub(crate) fn count(&self) -> usize {
        self.problems.iter().map(|problem| problem.host.as_str()).collect::<HashSet<_>>().len()
    }

    /// Whether they change the exit status.
    pub(crate) fn are_needed(&self) -> bool {
        !self.are_spare && !self.problems.is_empty()
    }

    /// Why nothing was done, if of so many hosts none was reached.
    pub(crate) fn all_of(&self, hosts: usize) -> Option<LaunchError> {
        let problems = || self.problems.clone();
        (self.count() >= hosts).then(|| LaunchError::Problems { problems: problems(), hosts, least: None })
    }

    /// Names them, those with the same cause together.
    pub(crate) fn tell(&self) {
        let (count, problems) = (self.count(), ProblemSummary(&self.problems));
        let s = if count == 1 { "" } else { "s" };
        match count {
            0 => {}
            _ if self.are_needed() => complain(format_args!("{count} host{s} could not be reached{problems}")),
            _ => warn(format_args!("{count} host{s} left out{problems}")),
        }
    }
}
