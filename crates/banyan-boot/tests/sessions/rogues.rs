//! Agents that say what they should not: they are cut off, and nobody is taken in. And what a session shows of its secrets.

use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use banyan_boot::{ProcessDistribution, Session};
use banyan_link::{Event, Frame, Kind, Link, LinkOptions};

use crate::harness::processes::{environment, words};
use crate::losses::SPARE;
use crate::one_host;
use crate::relatives::{assert_alone, others};
use crate::setup::{assert_says, launch_error, options, shell, this_program, wait_for_line};
use crate::starts::{script, with_agent};

/// What a session calls its frames, and how long their payloads are: see the table in `src/message.rs`.
const WORK: Kind = Kind::control(140);
const PROGRESS: Kind = Kind::control(141);
const ATTACH_ADDRESSES: Kind = Kind::control(150);
const USER: Kind = Kind::data(22);
const OUTPUT: Kind = Kind::data(23);
const TUNNEL_OPEN: Kind = Kind::control(161);
const TUNNEL_BYTES: Kind = Kind::control(162);
const TUNNEL_TAKEN: Kind = Kind::control(163);
const LONGEST: usize = 8 << 20;

/// How long a rogue that nobody cuts off goes on.
const STAYS: Duration = Duration::from_secs(2);

/// What a rogue sends when it has its work. Of two hosts with a member each, the first has member 0 and is node 1.
fn lies(about: &str) -> Vec<Frame> {
    match about {
        "output" => (0..2).map(|rank| Frame::new(OUTPUT, rank, 0, "I am somebody else\n")).collect(),
        "user" => vec![Frame::new(USER, 0, 0, "I am the master")],
        "listener" => (1..3).map(|node| Frame::new(ATTACH_ADDRESSES, node, 0, "127.0.0.1:1")).collect(),
        "progress" => vec![Frame::new(PROGRESS, 0, 0, vec![0xff; 16])],
        "tunnel" => vec![open_tunnel(1), Frame::new(TUNNEL_BYTES, 2, 0, "for nobody")],
        "tunnels" => (1..=5).map(open_tunnel).collect(),
        "window" => {
            let pieces = (0..17).map(|_| Frame::new(TUNNEL_BYTES, 1, 0, vec![0; 64 << 10]));
            std::iter::once(open_tunnel(1)).chain(pieces).collect()
        }
        "taken" => vec![open_tunnel(1), Frame::new(TUNNEL_TAKEN, 1, 1, "")],
        _ => Vec::new(),
    }
}

fn open_tunnel(number: u32) -> Frame {
    Frame::new(TUNNEL_OPEN, number, 0, "")
}

/// An agent that takes its work, lies, and waits to be cut off. The script that starts it makes the socket to its parent
/// its standard input.
pub(crate) fn run(about: &str) -> ExitCode {
    let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let options = LinkOptions::default().max_payload(LONGEST).window(3 * LONGEST);
    let mut link = Link::inherited(socket, &options);
    let deadline = Instant::now() + STAYS;
    while let Some(event) = link.wait(Some(deadline)) {
        match event {
            Event::Frame(frame) if frame.kind == WORK => lies(about).into_iter().for_each(|lie| link.send(lie)),
            Event::Closed | Event::Lost(_) => break,
            _ => {}
        }
    }
    ExitCode::SUCCESS
}

/// Why a launch fails whose agents all lie about this.
fn error_of(about: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let rogue = script(directory.path(), &format!("exec {} rogue {about} <&3 3<&-", this_program().display()));
    let error = launch_error(&[shell("true").on("host0", 1).on("host1", 1)], &with_agent(rogue));
    assert_alone(Duration::from_secs(1));
    error
}

pub(crate) fn an_agent_that_writes_in_the_name_of_other_members_is_cut_off() {
    let error = error_of("output");
    let cause = "was cut off because it sent something in the name of others that are not below it";
    assert_says(&error, &[&format!("hosts host[0-1]: {cause}")]);
}

pub(crate) fn an_agent_that_speaks_for_a_master_it_does_not_have_is_cut_off() {
    let error = error_of("user");
    assert_says(&error, &["host host1: was cut off because it sent something in the name of others"]);
    assert!(!error.contains("host host0: was cut off"), "the master is there: {error}");
}

pub(crate) fn an_agent_that_opens_the_doors_of_others_is_cut_off() {
    let error = error_of("listener");
    assert_says(&error, &["hosts host[0-1]: was cut off because it sent something in the name of others"]);
}

pub(crate) fn an_agent_that_claims_more_than_its_members_is_cut_off() {
    let error = error_of("progress");
    assert_says(&error, &["hosts host[0-1]: was cut off because it sent a progress report that cannot be"]);
}

/// What becomes of a session where one of two agents lies about tunnels: it is cut off for this, and nothing else is lost.
fn expect_cut_off(about: &str, cause: &str) {
    let directory = tempfile::tempdir().unwrap();
    let program = this_program();
    let (first, program) = (directory.path().join("first"), program.display());
    let rogue = format!("mkdir {} 2>/dev/null && exec {program} rogue {about} <&3 3<&-", first.display());
    let agent = script(directory.path(), &format!("{rogue}\nexec {program} \"$@\""));
    let network = one_host::network();
    let options = with_agent(agent).min_hosts(1).extension(network.note());
    let script = "echo here; while :; do sleep 1000; done";
    let session = Session::launch(&[shell(script).on("host0", 1).on("host1", 1)], &options).unwrap();
    let missing = session.missing();
    assert_eq!(missing[0].cause, format!("was cut off because it sent {cause}"));
    assert!(missing.iter().all(|problem| problem.host == missing[0].host), "{missing:?}");
    wait_for_line(&session, "here");
    session.kill().unwrap();
    drop(network);
    assert_alone(SPARE);
}

pub(crate) fn an_agent_that_sends_bytes_for_a_tunnel_it_never_opened_is_cut_off_and_nobody_else() {
    expect_cut_off("tunnel", "something for a tunnel that it never opened");
}

pub(crate) fn an_agent_that_opens_too_many_tunnels_is_cut_off_and_nobody_else() {
    expect_cut_off("tunnels", "the beginning of more than 4 tunnels at once");
}

pub(crate) fn an_agent_that_sends_more_than_the_window_of_a_tunnel_is_cut_off_and_nobody_else() {
    expect_cut_off("window", "more than the window of a tunnel");
}

pub(crate) fn an_agent_that_acknowledges_bytes_of_a_tunnel_that_it_was_not_sent_is_cut_off_and_nobody_else() {
    expect_cut_off("taken", "an acknowledgement of bytes of a tunnel that it was not sent");
}

pub(crate) fn an_agent_that_opens_a_tunnel_where_there_is_no_extension_is_cut_off() {
    let error = error_of("tunnels");
    assert_says(&error, &["hosts host[0-1]: was cut off because it sent the beginning of a tunnel, though"]);
}

/// The longest run of characters of which a secret could be written.
fn longest_word(text: &[u8]) -> usize {
    text.split(|byte| !byte.is_ascii_alphanumeric()).map(<[u8]>::len).max().unwrap_or(0)
}

pub(crate) fn no_secret_stands_in_arguments_or_in_an_environment() {
    let images = [
        shell("echo up; while :; do sleep 1000; done").on("host0", 1).on("host1", 1),
        ProcessDistribution::attached().on("host0", 1),
    ];
    let options = options().fanout(1);
    let session = Session::launch(&images, &options).unwrap();
    let (_, ticket) = session.ticket().unwrap().to_env();
    let secret = ticket.expose_text().unwrap().split(',').nth(2).unwrap();
    assert!(secret.len() >= 32 && longest_word(secret.as_bytes()) == secret.len(), "a secret is one word");
    for _ in 0..2 {
        wait_for_line(&session, "up");
    }
    let ours = environment(rustix::process::getpid());
    let ours: Vec<&[u8]> = ours.split(|byte| *byte == 0).collect();
    let all = others();
    assert!(all.len() > 5, "two agents of two processes each, and their members");
    for pid in all {
        for word in words(pid) {
            assert!(longest_word(word.as_bytes()) < 32, "an argument of {pid:?}: {word}");
        }
        let given = environment(pid);
        for variable in given.split(|byte| *byte == 0).filter(|variable| !ours.contains(variable)) {
            assert!(longest_word(variable) < 32, "a variable of {pid:?}: {}", String::from_utf8_lossy(variable));
        }
    }
    session.kill().unwrap();
}
