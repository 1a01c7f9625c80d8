//! A front-end in a process of its own, for tests that end it.

#![expect(clippy::print_stdout, reason = "it speaks to its test by its output")]

use std::process::ExitCode;
use std::time::Duration;

use banyan_boot::{Session, SessionOptions};

use crate::guards;
use crate::setup::{members, options, wait_for_line};

/// The silence after which a front-end counts as gone.
pub(crate) const SILENCE: Duration = Duration::from_millis(1200);

/// Launches members on this many hosts, says "ready" when all have joined, and waits to be ended.
pub(crate) fn run(arguments: &[&str]) -> ExitCode {
    let [hosts] = arguments else { panic!("front-end HOSTS") };
    let hosts: u32 = hosts.parse().unwrap();
    let options = SessionOptions { fanout: 2, heartbeat: Duration::from_millis(300), silence: SILENCE, ..options() };
    let distribution = (0..hosts).fold(members(&["wait"]), |members, host| members.on(format!("host{host}"), 2));
    let session = Session::launch(&[distribution], &options).unwrap();
    wait_for_line(&session, "all are here");
    println!("ready");
    loop {
        session.next_event(None);
    }
}

/// Launches members that the network asks, says "ready", and waits to be ended.
pub(crate) fn run_extended() -> ExitCode {
    let (_network, session, _members) = guards::chain();
    println!("ready");
    loop {
        session.next_event(None);
    }
}
