//! Agents with an extension that are killed: who lives on, and until when.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use banyan_boot::{ExitState, ProblemKind, ProcessDistribution, Session, SessionOptions};
use rustix::process::{Pid, Signal, kill_process};

use crate::front_end::SILENCE;
use crate::harness::processes::{describe, words};
use crate::losses::SPARE;
use crate::network::{BROKEN, EXITS, Network, PANICS};
use crate::one_host;
use crate::relatives::{agents, assert_alone, others, parent};
use crate::setup::{self, assert_says, members, outcome, this_program, wait_for_problem};

/// Two members on each of three hosts, which do what the network asks.
pub(crate) fn distribution() -> ProcessDistribution {
    members(&["asked"]).on("host0", 2).on("host1", 2).on("host2", 2)
}

/// The agent of each host is below that of the one before.
pub(crate) fn options() -> SessionOptions {
    let heartbeat = Duration::from_millis(300);
    setup::options().fanout(1).heartbeat(heartbeat).silence(SILENCE)
}

/// A session with all this; the process ids of its members, by rank.
fn chain() -> (Network, Session, Vec<Pid>) {
    let network = one_host::network();
    let options = options().extension(network.note());
    let session = Session::launch(&[distribution()], &options).unwrap();
    let members = here(&network, 6);
    (network, session, members)
}

/// The process ids of so many members, by rank.
pub(crate) fn here(network: &Network, count: usize) -> Vec<Pid> {
    let lines = network.lines("here ", count);
    lines.iter().map(|line| Pid::from_raw(line.rsplit(' ').next().unwrap().parse().unwrap()).unwrap()).collect()
}

/// Two members on one host.
fn two_members(note: impl Fn(&Network) -> Vec<u8>) -> (Network, Session, Vec<Pid>) {
    let network = one_host::network();
    let options = setup::options().extension(note(&network));
    let session = Session::launch(&[members(&["asked"]).on("host0", 2)], &options).unwrap();
    let members = here(&network, 2);
    (network, session, members)
}

/// Kills the agent that started a process, and waits for its guard.
fn kill_agent_of(member: Pid, node: u32, network: &Network) {
    let worker = parent(member).unwrap();
    kill_process(worker, Signal::KILL).unwrap();
    assert_eq!(network.lines("guard ", 1), [format!("guard {node}")]);
}

pub(crate) fn members_and_agents_below_a_killed_agent_live_on_until_it_is_over() {
    let (network, session, members) = chain();
    let keeper = parent(parent(members[2]).unwrap()).unwrap();
    kill_agent_of(members[2], 2, &network);
    let problem = wait_for_problem(&session);
    assert_eq!((problem.kind, &*problem.host, &*problem.members), (ProblemKind::AgentLost, "host1", "2-5"));
    assert_says(&problem.remedy, &["go on without it"]);
    // The first two have an agent, the next a guard, the last an agent that has no parent.
    for _ in 0..2 {
        network.ask("print");
        let printed: Vec<String> = (0..6).map(|rank| format!("printed {rank}")).collect();
        assert_eq!(network.lines("printed ", 6), printed);
    }
    assert_eq!([parent(members[2]), parent(members[3])], [Some(keeper); 2]);
    drop(network);
    let states = outcome(&session).states;
    assert!(states[2..].iter().all(|state| matches!(state, ExitState::Lost(_))), "{states:?}");
    assert_alone(SPARE);
    session.kill().unwrap();
}

pub(crate) fn the_end_of_a_session_ends_those_who_are_guarded() {
    let (network, session, members) = chain();
    kill_agent_of(members[0], 1, &network);
    kill_agent_of(members[2], 2, &network);
    assert!(members.iter().all(|member| others().contains(member)), "{}", describe(&others()));
    session.kill().unwrap();
    assert_alone(SPARE);
}

pub(crate) fn members_that_are_guarded_may_end_by_themselves() {
    let (network, session, members) = two_members(Network::note);
    kill_agent_of(members[0], 1, &network);
    network.ask("end");
    assert_eq!(network.lines("guard ", 1), ["guard 1 is alone"]);
    assert_alone(SPARE);
    session.kill().unwrap();
}

/// The agent of two members dies in this way when one of them ends: the other lives on.
fn a_faulty_agent_is_guarded(fault: &str) {
    let (network, session, members) = two_members(|network| [&network.note()[..], fault.as_bytes()].concat());
    kill_process(members[1], Signal::KILL).unwrap();
    assert_eq!(network.lines("guard ", 1), ["guard 1"]);
    network.ask("print");
    assert_eq!(network.lines("printed ", 1), ["printed 0"]);
    drop(network);
    assert_alone(SPARE);
    session.kill().unwrap();
}

pub(crate) fn the_members_of_an_agent_that_panics_live_on() {
    a_faulty_agent_is_guarded(PANICS);
}

pub(crate) fn the_members_of_an_agent_that_exits_live_on() {
    a_faulty_agent_is_guarded(EXITS);
}

pub(crate) fn a_guard_that_fails_leaves_nothing() {
    let (_network, session, members) = two_members(|network| [&network.note()[..], BROKEN.as_bytes()].concat());
    kill_process(parent(members[0]).unwrap(), Signal::KILL).unwrap();
    assert_eq!(wait_for_problem(&session).kind, ProblemKind::AgentLost);
    assert_alone(SPARE);
    session.kill().unwrap();
}

pub(crate) fn an_agent_that_is_asked_to_end_is_not_guarded() {
    let (_network, session, _) = two_members(Network::note);
    let (keeper, _) = agents()[0];
    kill_process(keeper, Signal::TERM).unwrap();
    assert_eq!(wait_for_problem(&session).kind, ProblemKind::AgentLost);
    assert_alone(SPARE);
    session.kill().unwrap();
}

pub(crate) fn a_killed_keeper_takes_nobody_with_it() {
    let (network, session, members) = two_members(Network::note);
    let (keeper, worker) = agents()[0];
    kill_process(keeper, Signal::KILL).unwrap();
    let problem = wait_for_problem(&session);
    assert_eq!(problem.kind, ProblemKind::KeeperLost);
    assert_says(&problem.to_string(), &["its keeper is gone; the agent and its members go on"]);
    network.ask("print");
    assert_eq!(network.lines("printed ", 2), ["printed 0", "printed 1"]);
    assert_eq!(members.iter().map(|member| parent(*member)).collect::<Vec<_>>(), [Some(worker); 2]);
    session.kill().unwrap();
    assert_alone(SPARE);
}

/// A front-end in a process of its own; it has launched everything.
fn front_end(arguments: &[&str]) -> Child {
    let mut command = Command::new(this_program());
    command.arg("extended-front-end").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut front_end = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(front_end.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    front_end
}

pub(crate) fn a_killed_front_end_leaves_nothing_though_an_agent_is_guarded() {
    let mut front_end = front_end(&[]);
    let member = others().into_iter().find(|pid| words(*pid).get(1).is_some_and(|word| word == "member")).unwrap();
    kill_process(parent(member).unwrap(), Signal::KILL).unwrap();
    front_end.kill().unwrap();
    front_end.wait().unwrap();
    assert_alone(SPARE);
}

pub(crate) fn a_front_end_that_counts_as_lost_ends_everything_when_it_goes_on() {
    let network = one_host::network();
    let mut front_end = front_end(&[&String::from_utf8(network.note()).unwrap()]);
    let members = here(&network, 6);
    network.ask("meet");
    kill_process(Pid::from_child(&front_end), Signal::STOP).unwrap();
    for line in network.lines("alone ", 5) {
        assert_says(&line, &["the node above this agent is gone"]);
    }
    assert!(members.iter().all(|member| others().contains(member)), "{}", describe(&others()));
    front_end.stdin.take().unwrap().write_all(b"end\n").unwrap();
    kill_process(Pid::from_child(&front_end), Signal::CONT).unwrap();
    assert!(front_end.wait().unwrap().success());
    assert_alone(SPARE);
}
