//! What can go wrong with a session, as its front-end sees it.

use std::collections::HashSet;
use std::fmt::Write as _;

use banyan_hosts::cause;

use crate::agent_layout::LayoutError;
use crate::described::DescribedError;
use crate::extension::NOTE_BYTES;
use crate::problem::{Problem, ProblemKind};
use crate::problem_summary::ProblemSummary;
use crate::process::ExitState;
use crate::process_limit::ProcessLimit;

/// Why a session could not be launched. Everything that was started has been ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// There is nothing to start.
    #[error("no hosts were given; name some, or use localhost")]
    NoHosts,
    /// A host has a name that cannot be one.
    #[error("{0:?} cannot be the name of a host: {1}")]
    BadHost(String, String),
    /// More members than a session may have.
    #[error("a session has at most 4,194,304 members; start fewer")]
    TooMany,
    /// More processes than this machine can have.
    #[error(
        "{members} members and {agents} agents are too many for this machine, which can have {limit}; start fewer, or name hosts to share them among"
    )]
    TooManyProcesses {
        /// Members that were asked for.
        members: u32,
        /// Agents that would start them.
        agents: usize,
        /// How many processes it can have.
        limit: ProcessLimit,
    },
    /// The front-end's note for the extension of its agents does not fit.
    #[error("the note for the agents' extension has {0} bytes; it may have {NOTE_BYTES} at most")]
    LongNote(usize),
    /// The layout of the agents cannot be used.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// No program can be the agent.
    #[error("{0}")]
    Agent(String),
    /// The launcher cannot be used here.
    #[error("{0}")]
    Launcher(String),
    /// Hosts could not be reached, or members not be started.
    #[error("{}", describe(.problems, *.hosts, *.least))]
    Problems {
        /// What went wrong, host by host.
        problems: Vec<Problem>,
        /// Number of hosts.
        hosts: usize,
        /// Hosts that would have been enough.
        least: Option<usize>,
    },
    /// It took too long.
    #[error("the launch did not end in time: {progress}{}", ProblemSummary(.problems))]
    TooSlow {
        /// How far it had come.
        progress: String,
        /// What had gone wrong so far.
        problems: Vec<Problem>,
    },
    /// The system refused something.
    #[error("the front-end cannot work: {}", cause(.0))]
    System(#[source] std::io::Error),
}

/// Why the front-end does not get what it waits for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The deadline has passed.
    #[error("the deadline has passed")]
    TimedOut,
    /// The session has ended, or all its members have.
    #[error("the session has ended")]
    Ended,
    /// The master ended before it sent anything.
    #[error("the master (member 0) {state} and will send nothing more")]
    MasterEnded {
        /// How it ended.
        state: ExitState,
    },
    /// A signal that cannot be sent.
    #[error("signal {0} cannot be sent to members; send one that has a name, such as SIGTERM")]
    Signal(i32),
    /// Bytes that are not the record that was expected.
    #[error(transparent)]
    Record(#[from] DescribedError),
}

fn describe(problems: &[Problem], hosts: usize, least: Option<usize>) -> String {
    let at_hosts = problems.iter().filter(|problem| problem.kind != ProblemKind::FrontEnd);
    let troubled: HashSet<&str> = at_hosts.map(|problem| problem.host.as_str()).collect();
    let mut text = if troubled.is_empty() && !problems.is_empty() {
        "the front-end had problems".to_owned()
    } else {
        format!("{} of {hosts} hosts had problems", troubled.len())
    };
    if let Some(least) = least {
        let needed = if least == 1 { "1 host is" } else { &format!("{least} hosts are") };
        let _ = write!(text, ", and at least {needed} needed");
    }
    let _ = write!(text, "{}", ProblemSummary(problems));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_that_is_needed_is_one() {
        assert_eq!(describe(&[], 2, Some(1)), "0 of 2 hosts had problems, and at least 1 host is needed");
        assert_eq!(describe(&[], 4, Some(3)), "0 of 4 hosts had problems, and at least 3 hosts are needed");
    }
}
