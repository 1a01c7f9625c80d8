//! Agents and front-ends that are gone without a word.

#![expect(clippy::print_stdout, reason = "a front-end speaks to its test by its output")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use banyan_boot::{Event, ExitState, ProblemKind, Session};
use rustix::process::{Pid, Signal, kill_process};

use crate::cluster::{GOOD, assert_clean, each, name, on};
use crate::setup::{assert_says, deadline, members, outcome, shell, this_program, wait_for_line, wait_for_problem};

pub(crate) fn a_killed_agent_on_a_host_is_reported_and_leaves_nothing() {
    let script = "(setsid sleep 1000 &); echo $PPID; while :; do sleep 1000; done";
    let session = Session::launch(&[shell(script).on("h3", 1).on("h4", 1)], &on(&name())).unwrap();
    let worker = loop {
        match session.recv_event_timeout(deadline()).expect("a line") {
            Event::Output(lines) if lines.rank == 1 => break String::from_utf8(lines.bytes.to_vec()).unwrap(),
            _ => {}
        }
    };
    // Hosts have no process namespaces of their own.
    let worker = Pid::from_raw(worker.trim().parse().unwrap()).unwrap();
    kill_process(worker, Signal::KILL).unwrap();
    let problem = wait_for_problem(&session);
    assert_eq!((problem.kind, &*problem.host, &*problem.members), (ProblemKind::AgentLost, "h4", "1"));
    assert_says(&problem.to_string(), &["host h4: its agent was lost", "log"]);
    session.signal(libc::SIGKILL, None).unwrap();
    let states = outcome(&session).states;
    assert!(matches!(states[0], ExitState::Signalled { signal: 9, .. }), "{states:?}");
    assert!(matches!(&states[1], ExitState::Lost(why) if why.contains("h4")), "{states:?}");
    session.kill().unwrap();
    assert_clean(&name());
}

/// A front-end that waits to be ended.
pub(crate) fn front_end() -> ExitCode {
    let heartbeat = Duration::from_millis(500);
    let options = on(&name()).fanout(2).heartbeat(heartbeat).silence(4 * heartbeat);
    let session = Session::launch(&[each(members(&["wait"]), &GOOD, 2)], &options).unwrap();
    wait_for_line(&session, "all are here");
    println!("ready");
    loop {
        let _ = session.recv_event();
    }
}

fn running_front_end() -> Child {
    let mut child = Command::new(this_program()).arg("front-end").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

pub(crate) fn a_killed_front_end_leaves_nothing_on_any_host() {
    let mut child = running_front_end();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_clean(&name());
}

pub(crate) fn a_stopped_front_end_leaves_nothing_on_any_host() {
    let mut child = running_front_end();
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    assert_clean(&name());
    child.kill().unwrap();
    child.wait().unwrap();
}
