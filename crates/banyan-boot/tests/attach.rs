//! Members that attach: processes that no agent started, among them those of `mpirun`.
//!
//! This program is its own agent and its own member, so it has no usual test harness.

#![expect(clippy::print_stdout, reason = "members write to their standard output")]

#[path = "harness/mod.rs"]
mod harness;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use banyan_boot::{
    Event, ExitState, JoinError, Launcher, Member, MemberError, ProblemKind, ProcessDistribution, Session,
    SessionError, SessionOptions, Ticket, become_agent_if_asked,
};
use bytes::Bytes;
use tempfile::TempDir;

/// Nothing here takes so long.
const DEADLINE: Duration = Duration::from_secs(60);

/// Set in members: what they do.
const ROLE: &str = "BANYAN_TEST_ATTACH";

fn main() -> ExitCode {
    become_agent_if_asked();
    match std::env::var(ROLE).as_deref() {
        Ok("collectives") => collectives(),
        Ok("outlives") => outlives(),
        Ok("leaves") => leaves(),
        Ok("stays") => stays(),
        Ok("fails") => ends(1),
        Ok("hangs" | "leaves-on") => ends(0),
        Ok("impatient") => impatient(),
        Ok(other) => panic!("no role {other}"),
        Err(_) => return harness::run(TESTS, None, &[harness::ONE]),
    }
    ExitCode::SUCCESS
}

const TESTS: &[harness::Test] = &[
    ("attached_and_started_members_share_collectives", attached_and_started_members_share_collectives),
    ("a_ticket_is_read_from_a_descriptor", a_ticket_is_read_from_a_descriptor),
    ("processes_of_mpirun_attach", processes_of_mpirun_attach),
    ("a_rank_is_given_once_and_others_are_sent_away", a_rank_is_given_once),
    ("a_wrong_secret_changes_nothing", a_wrong_secret_changes_nothing),
    ("members_that_do_not_come_in_time_are_named", members_that_do_not_come_in_time_are_named),
    ("an_attached_member_outlives_the_session", an_attached_member_outlives_the_session),
    ("how_attached_members_end_is_known_or_said_to_be_unknown", how_attached_members_end),
    ("user_data_is_not_waited_for_beyond_a_deadline", user_data_has_a_deadline),
    ("members_go_on_when_the_front_end_detaches", members_go_on_when_the_front_end_detaches),
];

/// A member that takes part in every sort of collective and checks what it gets.
fn collectives() {
    let mut member = Member::join().unwrap();
    member.set_timeout(Some(DEADLINE));
    let word = member.is_master().then(|| member.recv_user_data().unwrap());
    let word = member.broadcast(word).unwrap();
    let parts = (0..member.size()).map(|rank| Bytes::copy_from_slice(&rank.to_le_bytes())).collect();
    let own = member.scatter(member.is_master().then_some(parts)).unwrap();
    assert_eq!(own[..], member.rank().to_le_bytes());
    let gathered = member.gather(own).unwrap();
    member.barrier().unwrap();
    if let Some(parts) = gathered {
        let in_order = parts.iter().zip(0u32..).all(|(part, rank)| part[..] == rank.to_le_bytes());
        let word = String::from_utf8_lossy(&word);
        member.send_user_data(format!("{} heard {word}, in order: {in_order}", parts.len())).unwrap();
    }
}

/// A member that waits for the end of its session and says so.
fn outlives() {
    let file = std::env::var_os("BANYAN_TEST_FILE").unwrap();
    let mut member = Member::join().unwrap();
    std::fs::write(&file, "attached").unwrap();
    // Nobody sends anything: only the end of the session ends this.
    let error = member.recv_user_data().unwrap_err();
    assert!(matches!(error, MemberError::Ended), "{error}");
    std::fs::write(&file, "went on").unwrap();
}

fn options() -> SessionOptions {
    SessionOptions::default().launcher(Launcher::Local)
}

fn deadline() -> Option<Instant> {
    Some(Instant::now() + DEADLINE)
}

fn this_program() -> std::path::PathBuf {
    std::env::current_exe().unwrap()
}

fn next_problem(session: &Session) -> banyan_boot::Problem {
    loop {
        match session.recv_event_timeout(deadline()).expect("a problem") {
            Event::Problem(problem) => return problem,
            Event::Output(_) | Event::Exited { .. } => {}
            other => panic!("{other}"),
        }
    }
}

fn attached_and_started_members_share_collectives() {
    let started = ProcessDistribution::new(this_program(), [""; 0]).env(ROLE, "collectives").on("n1", 2);
    // Two hosts: their agents are asked one after the other until all ranks are given.
    let attached = ProcessDistribution::attached().on("n1", 1).on("n2", 3);
    let session = Session::launch(&[started, attached], &options()).unwrap();
    assert_eq!(session.attaching().to_string(), "2-5");
    let agents: Vec<u32> = (0..).map_while(|rank| session.agent_of(rank)).collect();
    assert_eq!(agents, [1, 1, 1, 2, 2, 2]);
    let place = TempDir::new().unwrap();
    let path = place.path().join("ticket");
    session.ticket().unwrap().write(&path).unwrap();
    let by_file =
        |_| Command::new(this_program()).env(ROLE, "collectives").env("BANYAN_TICKET", &path).spawn().unwrap();
    let members: Vec<Child> = (0..4).map(by_file).collect();
    session.send_user_data(b"hello");
    let answer = session.recv_user_data_timeout(deadline()).unwrap();
    assert_eq!(String::from_utf8(answer).unwrap(), "6 heard hello, in order: true");
    for mut member in members {
        assert!(member.wait().unwrap().success());
    }
    assert_eq!(session.wait_timeout(deadline()).unwrap().exit_status(), 0);
}

fn a_ticket_is_read_from_a_descriptor() {
    let session = Session::launch(&[ProcessDistribution::attached().on("n1", 2)], &options()).unwrap();
    let (name, text) = session.ticket().unwrap().to_env();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text.expose()).unwrap();
    let (pipe, mut writer) = std::io::pipe().unwrap();
    writer.write_all(text.expose()).unwrap();
    drop(writer);
    let by_descriptor = |descriptor: Stdio| {
        Command::new(this_program()).env(ROLE, "collectives").env(name, "fd:0").stdin(descriptor).spawn().unwrap()
    };
    let members = [by_descriptor(file.into()), by_descriptor(pipe.into())];
    session.send_user_data(b"hello");
    let answer = session.recv_user_data_timeout(deadline()).unwrap();
    assert_eq!(String::from_utf8(answer).unwrap(), "2 heard hello, in order: true");
    for mut member in members {
        assert!(member.wait().unwrap().success());
    }
    assert_eq!(session.wait_timeout(deadline()).unwrap().exit_status(), 0);
}

fn processes_of_mpirun_attach() {
    if Command::new("mpirun").arg("--version").output().is_err() {
        return println!("skipped, since there is no mpirun:");
    }
    let session = Session::launch(&[ProcessDistribution::attached().on("localhost", 4)], &options()).unwrap();
    let (name, value) = session.ticket().unwrap().to_env();
    let mut mpirun = Command::new("mpirun")
        .args(["--oversubscribe", "-n", "4"])
        .arg(this_program())
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env(ROLE, "collectives")
        .env(name, value)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    session.send_user_data(b"mpirun");
    let answer = session.recv_user_data_timeout(deadline()).unwrap();
    assert_eq!(String::from_utf8(answer).unwrap(), "4 heard mpirun, in order: true");
    assert!(mpirun.wait().unwrap().success());
    assert_eq!(session.wait_timeout(deadline()).unwrap().exit_status(), 0);
}

fn a_rank_is_given_once() {
    let session = Session::launch(&[ProcessDistribution::attached().on("n1", 3)], &options()).unwrap();
    let ticket = session.ticket().unwrap();
    let second = Member::attach_as(ticket, 1).unwrap();
    assert_eq!((second.rank(), second.size()), (1, 3));
    let error = Member::attach_as(ticket, 1).unwrap_err();
    assert!(matches!(error, JoinError::NotAdmitted { .. }), "{error}");
    let problem = next_problem(&session);
    assert_eq!(problem.kind, ProblemKind::NotAttached);
    assert!(problem.cause.contains("member 1"), "{problem}");
    let mut ranks = [Member::attach(ticket).unwrap(), Member::attach(ticket).unwrap()].map(|member| member.rank());
    ranks.sort_unstable();
    assert_eq!(ranks, [0, 2]);
    let error = Member::attach(ticket).unwrap_err();
    assert!(matches!(error, JoinError::NotAdmitted { .. }), "{error}");
    drop(second);
    assert_eq!(session.wait_timeout(deadline()).unwrap().exit_status(), 0);
}

fn a_wrong_secret_changes_nothing() {
    let session = Session::launch(&[ProcessDistribution::attached().on("n1", 1)], &options()).unwrap();
    let other = Session::launch(&[ProcessDistribution::attached().on("n1", 1)], &options()).unwrap();
    let place = TempDir::new().unwrap();
    let path = place.path().join("ticket");
    let text = |session: &Session| session.ticket().unwrap().to_env().1.expose_text().unwrap().to_owned();
    // The right session and address with the secret of another session.
    let secret = |text: &str| text.split(',').nth(2).unwrap().to_owned();
    let (text, wrong) = (text(&session), text(&other));
    session.ticket().unwrap().write(&path).unwrap();
    std::fs::write(&path, text.replace(&secret(&text), &secret(&wrong))).unwrap();
    let error = Member::attach(&Ticket::read(&path).unwrap()).unwrap_err();
    assert!(matches!(error, JoinError::NotAdmitted { .. }), "{error}");
    assert_eq!(Member::attach(session.ticket().unwrap()).unwrap().rank(), 0);
}

fn members_that_do_not_come_in_time_are_named() {
    let options = options().attach_deadline(Duration::from_secs(3));
    let session = Session::launch(&[ProcessDistribution::attached().on("n1", 1).on("n2", 3)], &options).unwrap();
    let mut member = Member::attach_as(session.ticket().unwrap(), 0).unwrap();
    let problem = next_problem(&session);
    assert_eq!((&*problem.host, problem.kind, &*problem.members), ("n2", ProblemKind::NotAttached, "1-3"));
    member.set_timeout(Some(DEADLINE));
    let error = member.barrier().unwrap_err();
    assert!(error.to_string().contains("did not attach in time"), "{error}");
    drop(member);
    let outcome = session.wait_timeout(deadline()).unwrap();
    assert_eq!(outcome.states[0], ExitState::Left, "it lives on");
    assert_eq!(outcome.failures().count(), 3);
}

fn an_attached_member_outlives_the_session() {
    let place = TempDir::new().unwrap();
    let file = place.path().join("file");
    let session = Session::launch(&[ProcessDistribution::attached().on("n1", 1)], &options()).unwrap();
    let ticket = session.ticket().unwrap().clone();
    let (name, value) = ticket.to_env();
    let member =
        Command::new(this_program()).env(ROLE, "outlives").env("BANYAN_TEST_FILE", &file).env(name, value).spawn();
    let mut member = member.unwrap();
    wait_until("the member has attached", || file.exists());
    session.kill().unwrap();
    assert!(member.wait().unwrap().success());
    assert_eq!(std::fs::read(&file).unwrap(), b"went on");
    assert!(matches!(Member::attach(&ticket), Err(JoinError::NotAdmitted { .. })), "the session is over");
}

/// A member that ends, or hangs, or leaves its session and lives on.
fn ends(status: i32) {
    let member = Member::join().unwrap();
    match std::env::var(ROLE).as_deref() {
        Ok("leaves-on") => drop(member),
        Ok("hangs") => println!("here"),
        _ => std::process::exit(status),
    }
    // Nobody writes to it: it ends when the test does.
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn how_attached_members_end() {
    let session = Session::launch(&[ProcessDistribution::attached().on("n1", 3)], &options()).unwrap();
    let (name, ticket) = session.ticket().unwrap().to_env();
    let attach = |role: &str| {
        let mut command = Command::new(this_program());
        command.env(ROLE, role).env(name, &ticket).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut members = ["fails", "hangs", "leaves-on"].map(attach);
    let mut line = String::new();
    BufReader::new(members[1].stdout.take().unwrap()).read_line(&mut line).unwrap();
    members[1].kill().unwrap();
    let outcome = session.wait_timeout(deadline()).unwrap();
    let mut states: Vec<String> = outcome.states.iter().map(ToString::to_string).collect();
    states.sort_unstable();
    let left = "left the session; how its process ended is not known";
    assert_eq!(states, ["exited with status 1", "killed by signal 9 (SIGKILL)", left]);
    assert_eq!((outcome.exit_status(), outcome.failures().count()), (137, 2));
    let mut pids: Vec<u32> = session.processes().members.iter().filter_map(|member| member.pid).collect();
    let mut expected: Vec<u32> = members.iter().map(Child::id).collect();
    pids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(pids, expected);
    for mut member in members {
        drop(member.stdin.take());
        member.wait().unwrap();
    }
}

/// A member that the front-end has nothing to say to.
fn impatient() {
    let mut member = Member::join().unwrap();
    let error = member.recv_user_data_timeout(Instant::now()).unwrap_err();
    assert!(error.to_string().starts_with("recv_user_data did not complete within"), "{error}");
}

fn user_data_has_a_deadline() {
    let member = ProcessDistribution::new(this_program(), [""; 0]).env(ROLE, "impatient").on("n1", 1);
    let session = Session::launch(&[member], &options()).unwrap();
    let error = session.recv_user_data_timeout(Instant::now()).unwrap_err();
    assert!(matches!(error, SessionError::TimedOut | SessionError::MasterEnded { .. }), "{error}");
    assert_eq!(session.wait_timeout(deadline()).unwrap().exit_status(), 0);
}

/// A front-end that leaves at once.
fn leaves() {
    let place = std::env::var_os("BANYAN_TEST_FILE").unwrap();
    let members = ProcessDistribution::new(this_program(), [""; 0]).env(ROLE, "stays").env("BANYAN_TEST_FILE", place);
    let hosts = (0..5).fold(members, |all, host| all.on(format!("n{host}"), 1));
    let options = options().fanout(2);
    Session::launch(&[hosts], &options).unwrap().detach().unwrap();
}

/// A member that goes on until it is told to end, by a file.
fn stays() {
    let place = std::path::PathBuf::from(std::env::var_os("BANYAN_TEST_FILE").unwrap());
    let mut member = Member::join().unwrap();
    let rank = member.rank();
    wait_until("told to go on", || place.join("go").exists());
    member.set_timeout(Some(DEADLINE));
    let error = member.barrier().unwrap_err();
    assert!(error.to_string().contains("detached"), "{error}");
    let agent = std::os::unix::process::parent_id();
    println!("what nobody reads any more");
    std::fs::write(place.join(format!("{rank}.part")), agent.to_string()).unwrap();
    std::fs::rename(place.join(format!("{rank}.part")), place.join(rank.to_string())).unwrap();
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

fn members_go_on_when_the_front_end_detaches() {
    let place = TempDir::new().unwrap();
    let mut front_end = Command::new(this_program());
    let front_end = front_end.env(ROLE, "leaves").env("BANYAN_TEST_FILE", place.path()).status().unwrap();
    assert!(front_end.success());
    std::fs::write(place.path().join("go"), "").unwrap();
    for rank in 0..5 {
        let file = place.path().join(rank.to_string());
        wait_until("a member ended", || file.exists());
        let agent = std::fs::read_to_string(file).unwrap();
        wait_until("its agent ended", || !std::path::Path::new("/proc").join(&agent).exists());
    }
}
