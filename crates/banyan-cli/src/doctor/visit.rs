//! Looking at other hosts: a session with one member on each, which tells the facts of its host and what time it is there.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use banyan_boot::{
    Event, Fallback, HostSet, Input, LaunchError, Output, Problem, ProcessDistribution, Session, SessionOptions, Stdio,
};
use banyan_clock::{Exchange, Limits, PeerClock};
use serde_json::Value;

use super::CONNECTION;
use super::connection::{Connection, TestListener};
use super::facts::{Facts, now};
use super::time::Time;
use crate::failure::Failure;
use crate::hosts::launch_status;

/// The program of the agent itself, as a process that it starts sees it.
const AGENT: &str = "/proc/self/exe";

/// How often hosts are asked for the time.
const ROUNDS: usize = 3;

/// A host that has answered once answers again within this time.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came of a visit.
#[derive(Default)]
pub(super) struct Visit {
    /// By host.
    pub(super) facts: HashMap<String, Facts>,
    pub(super) clocks: HashMap<String, PeerClock>,
    pub(super) connections: HashMap<String, Connection>,
    /// Hosts that could not be looked at.
    pub(super) problems: Vec<Problem>,
    /// Hosts that others could not start.
    pub(super) fallbacks: Vec<Fallback>,
    /// Why none could be.
    pub(super) refused: Option<String>,
}

/// Visits all hosts, as far as there is time; those that cannot be reached are told in the result.
pub(super) fn visit(hosts: &HostSet, options: SessionOptions, time: Time) -> Result<Visit, Failure> {
    let listener = TestListener::open().map_err(|error| Failure::system("listening at a port", &error))?;
    let addresses = listener.addresses().into_iter().map(|address| format!("--connect={address}"));
    let words = ["doctor", "--answer"].into_iter().map(str::to_owned).chain(addresses);
    let mut members = ProcessDistribution::new(AGENT, words);
    for host in hosts.iter() {
        members = members.on(host, 1);
    }
    let members = members.stdio(Stdio::default().input(Input::Everyone).output(Output::Forward)).plain();
    // With so few children each, half of the hosts are started by others.
    let fanout = options.fanout.min(hosts.len().div_ceil(2) as u32);
    let options = options.min_hosts(1).fanout(fanout).deadline(time.left());
    let session = match Session::launch(&[members], &options) {
        Ok(session) => session,
        Err(LaunchError::Problems { problems, .. } | LaunchError::TooSlow { problems, .. }) => {
            return Ok(Visit { problems, ..Visit::default() });
        }
        Err(error @ (LaunchError::Launcher(_) | LaunchError::System(_))) => {
            return Ok(Visit { refused: Some(error.to_string()), ..Visit::default() });
        }
        Err(error) => return Err(Failure::with_status(&error, launch_status(&error))),
    };
    let (problems, fallbacks) = (session.missing().to_vec(), session.fallbacks());
    let mut visit = Visit { problems, fallbacks, ..Visit::default() };
    let mut there: HashSet<u32> = (0..session.size()).collect();
    visit.hear(&session, &mut there, time, |visit, host, line| {
        visit.facts.insert(host.to_owned(), Facts::from_json(&line));
        visit
            .connections
            .extend(Connection::from_json(&line[CONNECTION]).map(|connection| (host.to_owned(), connection)));
    });
    for _ in 0..ROUNDS {
        let sent = now();
        session.write_input(b"\n");
        visit.hear(&session, &mut there, time, |visit, host, line| {
            let Some(there) = line["now"].as_i64() else { return };
            let exchange = Exchange { sent, heard: there, answered: there, received: now() };
            let clock = visit.clocks.entry(host.to_owned()).or_insert_with(|| PeerClock::new(Limits::default()));
            // A host that says what cannot be is one whose clock is not known.
            let _ = clock.observe(&exchange);
        });
    }
    session.close_input();
    Ok(visit)
}

impl Visit {
    /// Takes one line from each member that is there, or from those who write one in time. Those who have ended are
    /// there no more.
    fn hear(
        &mut self,
        session: &Session,
        there: &mut HashSet<u32>,
        time: Time,
        mut take: impl FnMut(&mut Visit, &str, Value),
    ) {
        let deadline = Instant::now() + time.at_most(PATIENCE);
        let mut silent = there.clone();
        while !silent.is_empty() {
            match session.recv_event_timeout(deadline) {
                Ok(Event::Output(lines)) if !lines.errors => {
                    silent.remove(&lines.rank);
                    for line in lines.lines() {
                        take(self, &lines.host, serde_json::from_slice(line).unwrap_or_default());
                    }
                }
                Ok(Event::Problem(problem)) => self.problems.push(problem),
                Ok(Event::Exited { rank, .. }) => {
                    silent.remove(&rank);
                    there.remove(&rank);
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}
