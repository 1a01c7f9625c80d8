//! A front-end in a process of its own, for tests that end it.

#![expect(clippy::print_stdout, reason = "it speaks to its test by its output")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use banyan_boot::Session;
use rustix::process::{Signal, getpid, kill_process};

use crate::guards;
use crate::one_host;
use crate::setup::{members, options, wait_for_line};

/// The silence after which a front-end counts as gone.
pub(crate) const SILENCE: Duration = Duration::from_millis(1200);

/// Launches members on this many hosts, says "ready" when all have joined, pauses if it is to, and waits to be ended.
pub(crate) fn run(arguments: &[&str]) -> ExitCode {
    let [hosts, rest @ ..] = arguments else { panic!("front-end HOSTS [pauses]") };
    let hosts: u32 = hosts.parse().unwrap();
    let options = options().fanout(2).heartbeat(Duration::from_millis(300)).silence(SILENCE);
    let distribution = (0..hosts).fold(members(&["wait"]), |members, host| members.on(format!("host{host}"), 2));
    let session = Session::launch(&[distribution], &options).unwrap();
    wait_for_line(&session, "all are here");
    println!("ready");
    if rest == ["pauses"] {
        pause(&session);
    }
    loop {
        let _ = session.recv_event();
    }
}

/// Stops with its members. When it goes on it listens for longer than anyone may be silent, and says what it heard.
fn pause(session: &Session) {
    session.pause();
    println!("paused");
    kill_process(getpid(), Signal::STOP).unwrap();
    session.resume();
    let heard = session.recv_event_timeout(Instant::now() + 2 * SILENCE);
    println!("resumed: {heard:?}");
}

/// Launches members that a network asks, its own or that of a note, says "ready", and ends everything when its standard input
/// has a line.
pub(crate) fn run_extended(note: Option<&str>) -> ExitCode {
    let (network, options) = match note {
        Some(note) => (None, guards::options().extension(note.to_owned())),
        None => {
            let network = one_host::network();
            let options = guards::options().extension(network.note());
            (Some(network), options)
        }
    };
    let session = Session::launch(&[guards::distribution()], &options).unwrap();
    if let Some(network) = &network {
        guards::here(network, 6);
    }
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    session.kill().unwrap();
    ExitCode::SUCCESS
}
