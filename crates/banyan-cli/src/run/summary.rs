//! How it went: who failed, why, and the exit status for all.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Instant;

use banyan_boot::{Event, ExitState, LaunchError, Problem, ProblemKind, RankSet, Refused};
use serde_json::{Value, json};

use super::is_loss;
use super::names::MemberNames;
use super::show::problem_json;
use crate::alike::folded;
use crate::failure::warn;
use crate::hosts::Missing;
use crate::speech::{complain, note};
use crate::status::{MEMBER_FAILED, TIME_LIMIT, UNREACHABLE};

/// What shells make of SIGPIPE, which ends a command that writes what nobody reads.
const UNREAD: u8 = 141;

/// Ways to fail that are shown; more are counted.
const SHOWN: usize = 20;

/// What is known of a session when it has ended.
pub(super) struct RunSummary {
    begin: Instant,
    names: MemberNames,
    /// Hosts that could not be reached.
    missing: Missing,
    /// Members of theirs that have ranks all the same: those of hosts that were left out before anything began have none.
    unreached: RankSet,
    ended: usize,
    failures: Vec<(u32, ExitState)>,
    a_host_was_lost: bool,
    /// Members that could not be started, and of which that was not told yet.
    not_started: Vec<Problem>,
    /// Processes that members left on hosts.
    left_running: Vec<Problem>,
    timed_out: bool,
    unread: bool,
    refused: Refused,
}

/// Members that failed in the same way.
struct FailedAlike {
    members: RankSet,
    state: ExitState,
}

impl RunSummary {
    /// Of members that run; on missing hosts none does.
    pub(super) fn new(names: MemberNames, missing: Missing, begin: Instant) -> RunSummary {
        RunSummary {
            begin,
            names,
            missing,
            unreached: RankSet::new(),
            ended: 0,
            failures: Vec::new(),
            a_host_was_lost: false,
            not_started: Vec::new(),
            left_running: Vec::new(),
            timed_out: false,
            unread: false,
            refused: Refused::default(),
        }
    }

    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::Exited { rank, state, .. } => {
                self.ended += 1;
                if !state.is_success() && !self.unreached.contains(*rank) {
                    self.failures.push((*rank, state.clone()));
                }
            }
            Event::Problem(problem) if Missing::is_told_by(problem) => {
                let members = problem.members.parse().unwrap_or_default();
                self.unreached = self.unreached.union(&members);
                self.missing.note(problem);
            }
            Event::Problem(problem) if problem.kind == ProblemKind::NotStarted => {
                self.not_started.push(problem.clone());
            }
            Event::Problem(problem) if problem.kind == ProblemKind::LeftRunning => {
                self.left_running.push(problem.clone());
            }
            Event::Problem(problem) => self.a_host_was_lost |= is_loss(problem),
            _ => {}
        }
    }

    /// Whether it is the end of a member that never ran.
    pub(super) fn is_of_unreached(&self, event: &Event) -> bool {
        matches!(event, Event::Exited { rank, .. } if self.unreached.contains(*rank))
    }

    /// Members that never ran since their hosts were not reached.
    pub(super) fn unreached(&self) -> &RankSet {
        &self.unreached
    }

    /// Why no member ran, if no host was reached.
    pub(super) fn why_nothing_ran(&self) -> Option<LaunchError> {
        self.missing
            .all_of(self.names.hosts())
            .filter(|_| self.unreached.len() as usize == self.names.len() && !self.timed_out)
    }

    /// When it all began.
    pub(super) fn begin(&self) -> Instant {
        self.begin
    }

    pub(super) fn timed_out(&mut self) {
        self.timed_out = true;
    }

    /// Those that were refused at the session's doors.
    pub(super) fn refused(&mut self, refused: Refused) {
        self.refused = refused;
    }

    /// Nobody reads what members write: whether those that run are to be ended for it, which is said once.
    pub(super) fn unread(&mut self) -> bool {
        let is_new = !self.unread && !self.all_ended();
        self.unread |= is_new;
        is_new
    }

    pub(super) fn all_ended(&self) -> bool {
        self.ended >= self.names.len()
    }

    /// How far it is, in a line.
    pub(super) fn progress(&self) -> String {
        format!("{} of {} members have ended", self.ended, self.names.len())
    }

    /// Whether a time limit has ended members: that of the whole, or their own.
    fn is_out_of_time(&self) -> bool {
        self.timed_out || self.some_out_of_time()
    }

    fn some_out_of_time(&self) -> bool {
        self.failures.iter().any(|(_, state)| *state == ExitState::OutOfTime)
    }

    /// Members of which nothing was heard.
    fn unknown(&self) -> usize {
        self.names.len().saturating_sub(self.ended)
    }

    pub(super) fn exit_status(&self, worst: bool) -> u8 {
        if self.unread {
            return UNREAD;
        }
        if self.is_out_of_time() {
            return TIME_LIMIT;
        }
        if self.a_host_was_lost || self.missing.are_needed() {
            return UNREACHABLE;
        }
        let states = self.failures.iter().map(|(_, state)| state.clone());
        match states.reduce(ExitState::worst) {
            Some(state) if worst => state.status(),
            None if self.unknown() == 0 => 0,
            _ => MEMBER_FAILED,
        }
    }

    /// Tells people which members could not be started, once for all hosts with the same cause.
    pub(super) fn tell_not_started(&mut self) {
        folded(&std::mem::take(&mut self.not_started)).into_iter().for_each(warn);
    }

    /// Tells people, if there is anything to tell and they have not gone away. Those who want to hear nothing hear why the
    /// exit status is what it is.
    pub(super) fn tell(&mut self) {
        if self.unread {
            return;
        }
        self.tell_not_started();
        self.missing.tell();
        if self.timed_out {
            complain("the time limit has passed; the members were ended (--timeout sets it)");
        }
        if self.some_out_of_time() {
            complain("the time of some members was over; they were ended (--limit time sets it)");
        }
        for text in folded(&self.left_running) {
            warn(format_args!("{text}; --detach lets them live"));
        }
        self.tell_failures();
        match self.refused.total() {
            0 => {}
            1 => note(format_args!("1 connection was refused: {}", self.refused)),
            many => note(format_args!("{many} connections were refused: {}", self.refused)),
        }
    }

    fn tell_failures(&self) {
        let failed = self.failures.len() + self.unknown();
        if failed == 0 {
            return;
        }
        let mut text = format!("{failed} of {} members failed", self.names.len() - self.unreached.len() as usize);
        let classes = self.classes();
        for class in classes.iter().take(SHOWN) {
            let _ = write!(text, "\n  {} on {}: {}", class.members, self.names.hosts_of(&class.members), class.state);
        }
        if classes.len() > SHOWN {
            let _ = write!(text, "\n  and in {} other ways; --json tells all", classes.len() - SHOWN);
        }
        if self.unknown() > 0 {
            let _ = write!(text, "\n  {} members: nothing is known of their end", self.unknown());
        }
        let is_told_why = self.is_out_of_time() || self.a_host_was_lost || self.missing.are_needed();
        if is_told_why { warn(text) } else { complain(text) }
    }

    pub(super) fn to_json(&self, status: u8) -> Value {
        let failed: Vec<Value> = self
            .classes()
            .iter()
            .map(|class| {
                json!({
                    "members": class.members.to_string(),
                    "hosts": self.names.hosts_of(&class.members),
                    "status": class.state.status(),
                    "state": class.state.to_string(),
                })
            })
            .collect();
        json!({
            "event": "summary",
            "members": self.names.len(),
            "succeeded": self.ended.saturating_sub(self.failures.len() + self.unreached.len() as usize),
            "failed": failed,
            "unknown": self.unknown(),
            "left_out": self.missing.problems().iter().map(problem_json).collect::<Vec<_>>(),
            "refused": self.refused.by_reason().into_iter().filter(|(_, count)| *count > 0).collect::<Value>(),
            "timed_out": self.is_out_of_time(),
            "seconds": self.begin.elapsed().as_secs_f64(),
            "exit_status": status,
        })
    }

    /// The failures, those of the same kind together, by lowest rank.
    fn classes(&self) -> Vec<FailedAlike> {
        let mut ranks: HashMap<&ExitState, Vec<u32>> = HashMap::new();
        for (rank, state) in &self.failures {
            ranks.entry(state).or_default().push(*rank);
        }
        let mut classes: Vec<FailedAlike> = ranks
            .into_iter()
            .map(|(state, ranks)| FailedAlike { members: ranks.into_iter().collect(), state: state.clone() })
            .collect();
        classes.sort_by_key(|class| class.members.first());
        classes
    }
}

/// The summary of a session that never ran.
pub(super) fn not_launched(error: &LaunchError, status: u8) -> Value {
    let problems: &[Problem] = match error {
        LaunchError::Problems { problems, .. } | LaunchError::TooSlow { problems, .. } => problems,
        _ => &[],
    };
    json!({
        "event": "summary",
        "members": 0,
        "error": error.to_string(),
        "problems": problems.iter().map(problem_json).collect::<Vec<_>>(),
        "timed_out": status == TIME_LIMIT,
        "exit_status": status,
    })
}
