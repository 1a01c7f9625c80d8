//! What the tests have in common: options, launches, and taking what a session says.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use banyan_boot::{
    Event, Launcher, Outcome, Output, Problem, ProcessDistribution, Session, SessionError, SessionOptions,
};

/// Nothing here takes a third of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Now and this much patience.
pub(crate) fn deadline() -> Option<Instant> {
    Some(Instant::now() + PATIENCE)
}

/// Agents of this program on this machine.
pub(crate) fn options() -> SessionOptions {
    SessionOptions::default()
        .launcher(Launcher::Local)
        .deadline(PATIENCE)
        .grace(Duration::from_millis(500))
        .agent(this_program())
}

/// This program.
pub(crate) fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Members of this program that behave like this, on no host yet.
pub(crate) fn members(behaviour: &[&str]) -> ProcessDistribution {
    ProcessDistribution::new(this_program(), ["member"].iter().chain(behaviour)).output(Output::Forward)
}

/// Members that are shell scripts, on no host yet.
pub(crate) fn shell(script: &str) -> ProcessDistribution {
    ProcessDistribution::new("/bin/sh", ["-c", script]).output(Output::Forward)
}

/// What a session said until it ended.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// By rank: standard output.
    pub(crate) output: BTreeMap<u32, Vec<u8>>,
    /// By rank: standard error.
    pub(crate) errors: BTreeMap<u32, Vec<u8>>,
    /// In the order in which they came.
    pub(crate) exits: Vec<u32>,
    pub(crate) problems: Vec<Problem>,
}

impl Heard {
    pub(crate) fn text(&self, rank: u32) -> String {
        String::from_utf8_lossy(self.output.get(&rank).map_or(&[], |bytes| &bytes[..])).into_owned()
    }
}

/// Listens until all members have ended.
pub(crate) fn listen(session: &Session) -> Heard {
    let mut heard = Heard::default();
    let end = loop {
        match session.recv_event_timeout(deadline()) {
            Ok(event) => hear(&mut heard, session, event),
            Err(error) => break error,
        }
    };
    assert!(matches!(end, SessionError::Ended), "{end}: {heard:?}");
    assert!(matches!(session.try_recv_event(), Err(SessionError::Ended)), "the end stays");
    let outcome = session.wait_timeout(Instant::now());
    assert!(outcome.is_ok(), "events ended before all members had: {heard:?}");
    heard
}

pub(crate) fn hear(heard: &mut Heard, session: &Session, event: Event) {
    match event {
        Event::Output(lines) => {
            assert!(!heard.exits.contains(&lines.rank), "member {} wrote after it had ended", lines.rank);
            assert_eq!(session.hosts().nth(lines.rank as usize), Some(&*lines.host));
            let streams = if lines.errors { &mut heard.errors } else { &mut heard.output };
            streams.entry(lines.rank).or_default().extend_from_slice(&lines.bytes);
        }
        Event::Exited { rank, host, .. } => {
            assert_eq!(session.hosts().nth(rank as usize), Some(&*host));
            heard.exits.push(rank);
        }
        Event::Problem(problem) => heard.problems.push(problem),
        _ => {}
    }
}

/// Listens until a member has written this line.
pub(crate) fn wait_for_line(session: &Session, line: &str) {
    let mut heard = Heard::default();
    let deadline = deadline();
    while let Ok(event) = session.recv_event_timeout(deadline) {
        hear(&mut heard, session, event);
        if heard.output.values().any(|bytes| String::from_utf8_lossy(bytes).lines().any(|found| found == line)) {
            return;
        }
    }
    panic!("nobody wrote {line:?}: {heard:?}");
}

/// Listens until something goes wrong at a host.
pub(crate) fn wait_for_problem(session: &Session) -> Problem {
    let deadline = deadline();
    loop {
        if let Event::Problem(problem) = session.recv_event_timeout(deadline).expect("something should go wrong") {
            return problem;
        }
    }
}

/// Listens to the end; every member succeeded.
pub(crate) fn all_succeed(session: Session) -> Heard {
    let heard = listen(&session);
    let outcome = outcome(&session);
    let failures: Vec<_> = outcome.failures().collect();
    assert!(failures.is_empty(), "{failures:?}\n{heard:?}");
    session.kill().unwrap();
    heard
}

/// How all members ended.
pub(crate) fn outcome(session: &Session) -> Outcome {
    session.wait_timeout(deadline()).unwrap()
}

/// Says that a message has these parts.
pub(crate) fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

/// Why a launch failed.
pub(crate) fn launch_error(members: &[ProcessDistribution], options: &SessionOptions) -> String {
    let begin = Instant::now();
    let error = Session::launch(members, options).map(drop).expect_err("the launch should fail");
    assert!(begin.elapsed() < PATIENCE, "it took {:?}: {error}", begin.elapsed());
    error.to_string()
}
