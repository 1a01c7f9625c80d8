//! Programs of a later protocol: whoever meets one says which numbers there are, which host it is, and whom to update.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use banyan_boot::{Member, ProblemKind, ProcessDistribution, Session};
use banyan_link::{Capabilities, Event, Frame, Kind, Link, LinkOptions, PROTOCOL_VERSION};

use crate::relatives::{assert_alone, wait_until};
use crate::setup::{
    PATIENCE, all_succeed, assert_says, deadline, launch_error, listen, options, outcome, shell, this_program,
    wait_for_problem,
};
use crate::starts::{script, with_agent};

/// What a process of the next protocol says first on a link, as `printf` takes it. Only where the number stands is the same in
/// every protocol.
fn hello() -> String {
    let mut hello = [0xee; 96];
    hello[..5].copy_from_slice(&[64, 0, 0, 0, 1]);
    hello[32..34].copy_from_slice(&(PROTOCOL_VERSION + 1).to_le_bytes());
    hello.iter().map(|byte| format!("\\\\{byte:03o}")).collect()
}

/// What an agent calls its frames: see the table in `src/message.rs`.
const WELCOME: Kind = Kind::control(128);
const ENTER: Kind = Kind::control(129);
const GO: Kind = Kind::control(130);
const SHARED: Kind = Kind::control(134);

/// A member of another release, with this capability or none: enters a barrier, and says what came until it is over. The
/// script that starts it makes the socket to its agent its standard input.
#[expect(clippy::print_stdout, reason = "a member speaks to its test by its output")]
pub(crate) fn run(capability: &str) -> ExitCode {
    let capabilities = capability.parse().map_or(Capabilities::NONE, Capabilities::of_user);
    let max_payload = 128 << 10;
    let options = LinkOptions::inherited().max_payload(max_payload).capabilities(capabilities);
    let mut link = Link::inherited(std::io::stdin().as_fd().try_clone_to_owned().unwrap(), &options);
    let mut kinds = Vec::new();
    while let Some(event) = link.wait(deadline()) {
        let Event::Frame(Frame { kind, .. }) = event else { continue };
        kinds.push(kind.number());
        match kind {
            WELCOME => link.send(Frame::new(ENTER, 0, 0, vec![1, 0])),
            GO => break,
            _ => {}
        }
    }
    println!("{kinds:?}");
    ExitCode::SUCCESS
}

pub(crate) fn a_member_without_a_capability_is_not_offered_what_it_is_for() {
    for (capability, expected) in [("none", vec![WELCOME, GO]), ("0", vec![WELCOME, SHARED, GO])] {
        let member = shell(&format!("exec {} bare-member {capability} <&3 3<&-", this_program().display()));
        let heard = all_succeed(Session::launch(&[member.on("host0", 1)], &options()).unwrap());
        let expected: Vec<u8> = expected.into_iter().map(Kind::number).collect();
        assert_eq!(heard.text(0), format!("{expected:?}\n"));
    }
}

/// A script that says so on a descriptor, and waits until nobody listens any more.
fn speaks_on(descriptor: u32) -> String {
    format!("printf \"{}\" >&{descriptor}; cat <&{descriptor} >/dev/null; exit 3", hello())
}

pub(crate) fn an_agent_of_a_later_protocol_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let agent = script(directory.path(), &speaks_on(3));
    let begin = Instant::now();
    let error = launch_error(&[shell("true").on("host0", 1).on("host1", 1)], &with_agent(agent));
    assert_says(
        &error,
        &[
            "hosts host[0-1]: its agent speaks protocol 2 of Banyan, the node above it protocol 1",
            "update the program of the session: build it with a release of Banyan that speaks protocol 2",
        ],
    );
    assert!(begin.elapsed() < Duration::from_secs(10), "it was waited for");
    assert_alone(Duration::from_secs(1));
}

pub(crate) fn a_member_of_a_later_protocol_is_named_and_ended() {
    let images = [shell(&speaks_on(3)).on("host1", 1), shell("true").on("host0", 1)];
    // It may say so while others are still started, or later.
    let said = match Session::launch(&images, &options()) {
        Err(error) => error.to_string(),
        Ok(session) => {
            let problem = wait_for_problem(&session);
            assert_eq!((&*problem.host, problem.kind, &*problem.members), ("host1", ProblemKind::Broken, "0"));
            listen(&session);
            assert_eq!(outcome(&session).failures().map(|(rank, _)| rank).collect::<Vec<_>>(), [0]);
            session.kill().unwrap();
            problem.to_string()
        }
    };
    assert_says(
        &said,
        &[
            "host host1: the program of member 0 speaks protocol 2 of Banyan, its agent protocol 1",
            "update the program of the session: build it with a release of Banyan that speaks protocol 2",
        ],
    );
    assert_alone(Duration::from_secs(1));
}

pub(crate) fn a_member_is_told_that_its_agent_speaks_a_later_protocol() {
    let joins = format!("BANYAN_JOIN=protocol:2,path:/somewhere exec {} member meet 2>&1", this_program().display());
    let session = Session::launch(&[shell(&joins).on("host0", 1)], &options()).unwrap();
    let heard = listen(&session);
    assert_says(
        &heard.text(0),
        &["the agent speaks protocol 2 of Banyan, this program protocol 1; update this program"],
    );
    session.kill().unwrap();
}

pub(crate) fn a_process_of_a_later_protocol_does_not_attach_and_is_counted() {
    let images = [shell("sleep 1000").on("host0", 1), ProcessDistribution::attached().on("host0", 1)];
    let session = Session::launch(&images, &options().attach_deadline(None)).unwrap();
    let ticket = session.ticket().unwrap();
    let name = format!("banyan-{}-1", ticket.session());
    let mut listener = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap();
    let mut first = [0xee; 200];
    first[..8].copy_from_slice(b"\x8bBanyan\n");
    first[8..10].copy_from_slice(&(PROTOCOL_VERSION + 1).to_le_bytes());
    listener.write_all(&first).unwrap();
    let mut answer = Vec::new();
    listener.set_read_timeout(Some(PATIENCE)).unwrap();
    // It is told the number, and then nothing more.
    let _ = listener.read_to_end(&mut answer);
    assert_eq!(answer, [&b"\x8bBanyan\n"[..], &PROTOCOL_VERSION.to_le_bytes(), &[0; 6]].concat());
    wait_until("it is counted", deadline().unwrap(), || (session.refused().wrong_version == 1).then_some(()));
    // Others are let in as before.
    let member = Member::attach(ticket).unwrap();
    assert_eq!(member.rank(), 1);
    drop(member);
    session.kill().unwrap();
}
