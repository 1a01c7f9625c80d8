//! Agents, keepers and front-ends that are gone without a word.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use banyan_boot::{ExitState, ProblemKind, Session};
use rustix::process::{Pid, Signal, kill_process};

use crate::front_end::SILENCE;
use crate::harness::processes::{describe, wait_until_gone, words};
use crate::one_host::launch;
use crate::relatives::{agents, assert_alone, others, parent};
use crate::setup::{
    assert_says, deadline, listen, members, options, outcome, shell, this_program, wait_for_line, wait_for_problem,
};

/// A member with a daemon, both deaf to requests.
const WITH_DAEMON: &str = "(setsid sh -c 'trap \"\" TERM HUP; echo daemon; while :; do sleep 1000; done' &); \
    trap '' TERM; while :; do sleep 1000; done";

/// Beyond silence and grace: what a busy machine may need.
pub(crate) const SPARE: Duration = Duration::from_secs(10);

fn with_daemons() -> Session {
    let session = launch(shell(WITH_DAEMON), 2);
    for _ in 0..2 {
        wait_for_line(&session, "daemon");
    }
    session
}

pub(crate) fn a_killed_agent_takes_its_members_along_and_is_reported() {
    let session = with_daemons();
    let (_, worker) = agents()[0];
    kill_process(worker, Signal::KILL).unwrap();
    let problem = wait_for_problem(&session);
    assert_eq!((problem.kind, &*problem.host, &*problem.members), (ProblemKind::AgentLost, "localhost", "0-1"));
    assert_says(&problem.to_string(), &["host localhost: its agent was lost", "members 0-1", "log"]);
    let states = outcome(&session).states;
    assert!(
        states.iter().all(|state| matches!(state, ExitState::Lost(why) if why.contains("localhost"))),
        "{states:?}"
    );
    assert_alone(SPARE);
    session.kill().unwrap();
}

pub(crate) fn a_killed_keeper_takes_the_agent_and_its_members_along() {
    let session = with_daemons();
    let (keeper, _) = agents()[0];
    kill_process(keeper, Signal::KILL).unwrap();
    let problem = wait_for_problem(&session);
    assert_eq!((problem.kind, &*problem.host, &*problem.members), (ProblemKind::AgentLost, "localhost", "0-1"));
    assert_says(&problem.to_string(), &["host localhost: ", "its keeper is gone", "log"]);
    outcome(&session);
    assert_alone(SPARE);
    session.kill().unwrap();
}

/// The worker that started the member with this argument.
fn worker_of(argument: &str) -> Pid {
    let member = others().into_iter().find(|pid| words(*pid).contains(&argument.to_owned()));
    parent(member.expect("the member runs")).unwrap()
}

pub(crate) fn a_killed_agent_in_the_middle_takes_its_subtree_along() {
    // host0 to host3 are one subtree with host0 as its root, host4 to host7 the other.
    let images: Vec<_> = (0..8).map(|host| members(&["wait"]).env("WHERE", "x").on(format!("host{host}"), 2)).collect();
    let mut images = images;
    for (host, image) in images.iter_mut().enumerate() {
        image.exe = Some("/bin/sh".into());
        image.args =
            ["-c", "echo up; while :; do sleep 1000; done", &format!("on-host{host}")].map(Into::into).to_vec();
    }
    let session = Session::launch(&images, &options().fanout(2)).unwrap();
    kill_process(worker_of("on-host4"), Signal::KILL).unwrap();
    let problem = wait_for_problem(&session);
    assert_eq!((problem.kind, &*problem.host, &*problem.members), (ProblemKind::AgentLost, "host4", "8-15"));
    session.signal(libc::SIGKILL, None).unwrap();
    listen(&session);
    let states = outcome(&session).states;
    assert!(states[..8].iter().all(|state| matches!(state, ExitState::Signalled { signal: 9, .. })), "{states:?}");
    assert!(
        states[8..].iter().all(|state| matches!(state, ExitState::Lost(why) if why.contains("host4"))),
        "{states:?}"
    );
    session.kill().unwrap();
    assert_alone(SPARE);
}

pub(crate) fn members_of_a_lost_agent_are_missed_in_collectives() {
    // Member 0 never enters the barrier in which the others wait.
    let master = members(&["wait", "master"]).on("host0", 1);
    let others = (0..8).fold(members(&["wait"]), |members, host| members.on(format!("host{host}"), 2));
    let session = Session::launch(&[master, others], &options().fanout(2)).unwrap();
    wait_for_line(&session, "all are here");
    kill_process(worker_of("master"), Signal::KILL).unwrap();
    let heard = listen(&session);
    let states = outcome(&session).states;
    let is_lost = |rank: &u32| matches!(states[*rank as usize], ExitState::Lost(_));
    let (lost, rest): (Vec<u32>, Vec<u32>) = (0..17).partition(is_lost);
    assert!(lost.contains(&0) && !rest.is_empty(), "{states:?}");
    for rank in rest {
        assert_says(&heard.text(rank), &["was lost with the agent of host host0"]);
    }
    session.kill().unwrap();
}

/// A front-end in a process of its own, with members on seven hosts, three levels deep.
fn front_end(command: Command) -> (Child, BufReader<ChildStdout>) {
    front_end_that(command, &[])
}

/// The same with something else to do.
fn front_end_that(mut command: Command, does: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut child = command.args(["front-end", "7"]).args(does).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    assert!(others().len() > 7 * 4, "{} processes", others().len());
    (child, output)
}

pub(crate) fn a_killed_front_end_leaves_nothing() {
    let (mut child, _) = front_end(Command::new(this_program()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_alone(SPARE);
}

pub(crate) fn a_stopped_front_end_leaves_nothing_but_itself() {
    let (mut child, _) = front_end(Command::new(this_program()));
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::STOP).unwrap();
    // Its own children, the keepers that have ended, wait for it to take note.
    let rest = || others().into_iter().filter(|other| *other != pid).collect();
    let left = wait_until_gone(rest, deadline().unwrap());
    assert!(left.is_empty(), "{}", describe(&left));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A front-end that has been stopped, and has told its agents before.
fn paused_front_end() -> (Child, BufReader<ChildStdout>) {
    let (child, mut output) = front_end_that(Command::new(this_program()), &["pauses"]);
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "paused\n");
    (child, output)
}

pub(crate) fn a_front_end_that_has_said_so_may_be_stopped_for_longer_than_its_silence() {
    let (mut child, mut output) = paused_front_end();
    let left = wait_until_gone(others, Instant::now() + 3 * SILENCE);
    assert!(left.len() > 7 * 4, "{}", describe(&left));
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "resumed: Err(TimedOut)\n");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_alone(SPARE);
}

pub(crate) fn a_front_end_that_is_killed_in_its_pause_leaves_nothing() {
    let (mut child, _) = paused_front_end();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_alone(SPARE);
}

pub(crate) fn a_front_end_whose_terminal_is_closed_leaves_nothing() {
    let (terminal, other_end) = terminal();
    let program = this_program();
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(program).stdin(other_end);
    let (mut child, _) = front_end(command);
    drop(terminal);
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGHUP));
    assert_alone(SPARE);
}

/// A new terminal: the master's end and the other.
fn terminal() -> (OwnedFd, OwnedFd) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let other = rustix::fs::open(&name, flags, rustix::fs::Mode::empty()).unwrap();
    (master, other)
}
