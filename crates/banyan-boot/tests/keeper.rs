//! A keeper, its worker and what they started, as real processes: whoever of them dies, nothing is left.
//!
//! This program is the test and, started again by itself with a variable set, the agent under test; it has its own
//! `main` because a keeper is made in a process of one thread. Every process of an agent holds the same pipe open but
//! the keeper, so the pipe ends when the last of them has.

#![expect(clippy::print_stdout, reason = "an agent under test speaks through a pipe, a test by its output")]

#[path = "harness/mod.rs"]
mod harness;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use banyan_boot::process::{ChildDescriptors, Command, Spawner, end_descendants, keep};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal};

/// Set for the agent under test.
const ROLE: &str = "BANYAN_TEST_KEEPER";

/// Nothing here takes a tenth of it.
const DEADLINE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// A member with a child, a daemon in a session of its own, and a daemon's child.
const MEMBER: &str = "sleep 1000 & setsid sh -c 'sleep 1000 & exec sleep 1000' & \
    (setsid sh -c 'trap \"\" TERM HUP; echo daemon $$; sleep 1000; sleep 1000' &); echo member $$; wait";

/// What a worker whose keeper is gone exits with.
const KEEPER_GONE: i32 = 3;

fn main() -> ExitCode {
    if let Ok(role) = std::env::var(ROLE) {
        std::process::exit(agent(&role).unwrap());
    }
    harness::run(TESTS, None, &[harness::ONE])
}

const TESTS: &[harness::Test] = &[
    ("a_worker_killed_leaves_nothing", a_worker_killed_leaves_nothing),
    ("a_worker_that_exits_leaves_nothing_and_gives_its_status", a_worker_that_exits_leaves_nothing),
    ("a_keeper_killed_leaves_nothing", a_keeper_killed_leaves_nothing),
    ("a_keeper_passes_signals_on", a_keeper_passes_signals_on),
    ("a_keeper_is_refused_to_a_process_of_many_threads", a_keeper_is_refused_to_many_threads),
];

/// The agent: a worker with a member, which waits for its keeper's end or exits by itself.
fn agent(role: &str) -> io::Result<i32> {
    let keeper = keep()?;
    println!("worker {}", std::process::id());
    let (null, output) = (File::open("/dev/null")?, io::stdout());
    let command = Command::new("sh", ["-c", MEMBER], std::env::vars_os(), None).map_err(io::Error::other)?;
    let (stdin, stdout, stderr) = (null.as_fd(), output.as_fd(), null.as_fd());
    let descriptors = ChildDescriptors { stdin, stdout, stderr, control: None, extension: None };
    let member = Spawner::new()?.spawn(&command, descriptors).map_err(io::Error::other)?;
    let watched = if role == "exits" { member.pidfd.as_fd() } else { keeper.as_fd() };
    if role == "exits" {
        rustix::process::pidfd_send_signal(&member.pidfd, Signal::KILL)?;
    }
    rustix::event::poll(&mut [PollFd::from_borrowed_fd(watched, PollFlags::IN)], Some(&DEADLINE))?;
    if role == "exits" {
        return Ok(7);
    }
    let ended = end_descendants(&[]).map_err(io::Error::other)?;
    assert!(ended >= 4, "{ended} processes are too few");
    Ok(KEEPER_GONE)
}

/// An agent under test.
struct Agent {
    keeper: std::process::Child,
    output: BufReader<std::process::ChildStdout>,
    worker: Pid,
    started: Vec<Pid>,
}

impl Agent {
    /// One whose member and daemon have begun to run.
    fn start(role: &str) -> Agent {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let mut keeper = command.env(ROLE, role).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(keeper.stdout.take().unwrap());
        let mut agent = Agent { worker: Pid::from_child(&keeper), keeper, output, started: Vec::new() };
        agent.worker = agent.announced().expect("a worker").1;
        if role != "exits" {
            agent.started = (0..2).map(|_| agent.announced().expect("a process").1).collect();
        }
        agent
    }

    fn announced(&mut self) -> Option<(String, Pid)> {
        self.wait_for_output();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let (name, number) = line.trim().split_once(' ')?;
        Some((name.into(), Pid::from_raw(number.parse().ok()?)?))
    }

    fn wait_for_output(&self) {
        if self.output.buffer().is_empty() {
            let pipe = self.output.get_ref();
            let ready = rustix::event::poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&DEADLINE)).unwrap();
            if ready == 0 {
                let left = self.started.iter().filter(|pid| rustix::process::kill_process(**pid, Signal::KILL).is_ok());
                panic!("these processes were left: {:?}", left.collect::<Vec<_>>());
            }
        }
    }

    /// Waits until the last process that holds the pipe has ended, then for the keeper.
    fn end(mut self) -> ExitStatus {
        let mut rest = Vec::new();
        loop {
            self.wait_for_output();
            let mut piece = [0; 4096];
            match self.output.read(&mut piece).unwrap() {
                0 => return self.keeper.wait().unwrap(),
                length => rest.extend_from_slice(&piece[..length]),
            }
        }
    }
}

fn a_worker_killed_leaves_nothing() {
    let agent = Agent::start("waits");
    rustix::process::kill_process(agent.worker, Signal::KILL).unwrap();
    assert_eq!(agent.end().code(), Some(128 + 9));
}

fn a_worker_that_exits_leaves_nothing() {
    assert_eq!(Agent::start("exits").end().code(), Some(7));
}

fn a_keeper_killed_leaves_nothing() {
    let mut agent = Agent::start("waits");
    agent.keeper.kill().unwrap();
    agent.end();
}

fn a_keeper_passes_signals_on() {
    let agent = Agent::start("waits");
    rustix::process::kill_process(Pid::from_child(&agent.keeper), Signal::TERM).unwrap();
    // The worker has no handler for it.
    assert_eq!(agent.end().code(), Some(128 + 15));
}

fn a_keeper_is_refused_to_many_threads() {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || stopped.recv_timeout(Duration::from_secs(60)));
    let refused = keep().unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    drop(stop);
    let _ = thread.join().unwrap();
}
