//! Starting agents and members, and what keeps them from starting.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use banyan_boot::{ExitState, ProcessDistribution, Session, SessionOptions};
use rustix::process::{Resource, Rlimit};

use crate::one_host::launch;
use crate::relatives::assert_alone;
use crate::setup::{all_succeed, assert_says, launch_error, listen, members, options, outcome, shell};

pub(crate) fn members_that_exit_at_once_are_all_reported() {
    let session = launch(ProcessDistribution::new("true", [] as [&str; 0]), 500);
    let heard = all_succeed(session);
    assert_eq!(heard.exits.len(), 500);
}

fn program(exe: impl Into<PathBuf>) -> ProcessDistribution {
    ProcessDistribution::new(exe, [] as [&str; 0]).on("host1", 2).on("host2", 1)
}

pub(crate) fn an_executable_that_is_missing_is_named_with_the_remedy() {
    let error = launch_error(&[program("/nowhere/program")], &options());
    assert_says(
        &error,
        &["2 of 2 hosts", "hosts host[1-2]: ", "(members 0-2)", "/nowhere/program does not exist", "install it"],
    );
    assert_alone(Duration::from_secs(1));
    let error = launch_error(&[program("no-such-program-anywhere")], &options());
    assert_says(&error, &["host[1-2]", "no-such-program-anywhere", "PATH"]);
}

pub(crate) fn a_file_that_may_not_be_executed_is_named_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("program");
    fs::write(&file, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let error = launch_error(&[program(&file)], &options());
    assert_says(&error, &["host[1-2]", &file.display().to_string(), "may not be executed", "chmod +x"]);
}

pub(crate) fn a_working_directory_that_is_missing_is_named() {
    let members = shell("true").on("host1", 1).cwd("/nowhere/at/all");
    let error = launch_error(&[members], &options());
    assert_says(&error, &["host host1", "working directory /nowhere/at/all", "create it on this host"]);
}

pub(crate) fn members_have_the_environment_and_directory_they_were_given() {
    let directory = tempfile::tempdir().unwrap();
    let script = "echo \"$GREETING:${HOME-none}:$(pwd):${BANYAN_JOIN}\"";
    let mut distribution = shell(script).env("GREETING", "hello world");
    distribution.env.push(("HOME".into(), None));
    distribution.cwd = Some(directory.path().to_owned());
    let heard = all_succeed(launch(distribution, 2));
    assert_says(&heard.text(1), &[&format!("hello world:none:{}:protocol:1,fd:3,socket:", directory.path().display())]);
}

pub(crate) fn several_images_share_one_session() {
    let images = [
        members(&["meet"]).on("host1", 2).on("host2", 1),
        members(&["meet"]).on("host2", 2),
        shell("echo $0").on("host1", 1),
    ];
    // The last image never joins, so that the others' barrier fails.
    let session = Session::launch(&images, &options()).unwrap();
    assert_eq!(session.hosts().collect::<Vec<_>>(), ["host1", "host1", "host2", "host2", "host2", "host1"]);
    let heard = listen(&session);
    let states = outcome(&session).states;
    assert!(states[5].is_success(), "{states:?}");
    for rank in 0..5 {
        assert_eq!(states[rank as usize], ExitState::Exited(101), "{heard:?}");
        let errors = String::from_utf8_lossy(&heard.errors[&rank]).into_owned();
        assert_says(&errors, &["member 5 on host host1 exited with status 0"]);
    }
}

pub(crate) fn script(directory: &Path, text: &str) -> PathBuf {
    let file = directory.join("agent");
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

pub(crate) fn with_agent(agent: impl Into<PathBuf>) -> SessionOptions {
    let host_deadline = Duration::from_secs(2);
    options().agent(agent).host_deadline(host_deadline)
}

pub(crate) fn programs_that_are_no_agents_are_an_error_that_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let garbage = script(directory.path(), "echo 'what is an agent?' >&2; head -c 100000 /dev/urandom >&3");
    for agent in [Path::new("/bin/true"), Path::new("/bin/cat"), &garbage] {
        let error = launch_error(&[shell("true").on("host1", 1)], &with_agent(agent));
        assert_says(&error, &["1 of 1 hosts", "host host1", "agent", "(member 0)", "check with: "]);
        if agent == garbage {
            assert_says(&error, &["what is an agent?"]);
        }
        assert_alone(Duration::from_secs(1));
    }
    let error = launch_error(&[shell("true").on("host1", 1)], &with_agent("/nowhere/agent"));
    assert_says(&error, &["the agent program /nowhere/agent"]);
}

pub(crate) fn an_agent_that_never_answers_is_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let silent = script(directory.path(), "exec sleep 1000");
    let error = launch_error(&[shell("true").on("host1", 1)], &with_agent(silent));
    assert_says(&error, &["host host1", "no agent answered within 2 s", "check with: "]);
    assert_alone(Duration::from_secs(1));
}

pub(crate) fn an_agent_that_ignores_requests_to_end_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let stubborn = script(directory.path(), "trap '' TERM HUP INT; while :; do sleep 1000; done");
    let error = launch_error(&[shell("true").on("host1", 1)], &with_agent(stubborn));
    assert_says(&error, &["host host1", "no agent answered within 2 s"]);
    assert_alone(Duration::from_secs(1));
}

pub(crate) fn an_agent_without_descriptors_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let poor = script(directory.path(), &format!("ulimit -n 60; exec {} \"$@\"", options().agent.unwrap().display()));
    let error = launch_error(&[shell("sleep 1000").on("host1", 100)], &with_agent(poor));
    assert_says(&error, &["host host1", "too many open descriptors", "ulimit -n"]);
    assert_alone(Duration::from_secs(1));
}

pub(crate) fn a_front_end_without_descriptors_says_so() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(30), ..limit }).unwrap();
    let distribution = (0..20).fold(shell("sleep 1000"), |members, host| members.on(format!("host{host}"), 1));
    let error = launch_error(&[distribution], &options());
    assert_says(&error, &["too many open descriptors", "ulimit -n"]);
    assert_alone(Duration::from_secs(1));
}

pub(crate) fn a_front_end_that_cannot_work_is_no_host_to_do_without() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(8), ..limit }).unwrap();
    let enough = options().min_hosts(1);
    let error = launch_error(&[shell("true").on("host1", 1).on("host2", 1)], &enough);
    assert_says(&error, &["the front-end had problems", "the front-end cannot go on: ", "ulimit -n"]);
    assert!(!error.contains("localhost"), "{error}");
}

pub(crate) fn enough_hosts_are_enough() {
    // The second agent that is started on this machine is none.
    let directory = tempfile::tempdir().unwrap();
    let marks = directory.path().join("marks");
    fs::create_dir(&marks).unwrap();
    let some = script(
        directory.path(),
        &format!(
            "if mkdir {marks}/1 2>/dev/null; then echo 'no room here' >&2; exit 5; fi; exec {agent} \"$@\"",
            marks = marks.display(),
            agent = options().agent.unwrap().display()
        ),
    );
    let distribution = (0..4).fold(members(&["meet"]), |members, host| members.on(format!("host{host}"), 1));
    let enough = with_agent(&some).min_hosts(3);
    let session = Session::launch(std::slice::from_ref(&distribution), &enough).unwrap();
    assert_eq!(session.size(), 3);
    let [missing] = session.missing() else { panic!("{:?}", session.missing()) };
    assert_says(&missing.to_string(), &[&missing.host, "no room here", "check with: "]);
    all_succeed(session);

    fs::remove_dir(marks.join("1")).unwrap();
    let too_few = with_agent(&some).min_hosts(4);
    let error = launch_error(std::slice::from_ref(&distribution), &too_few);
    assert_says(&error, &["1 of 4 hosts", "at least 4 hosts are needed", "no room here"]);

    // Two agents on each of two hosts: one that fails is half a host, and half a host is none.
    fs::remove_dir(marks.join("1")).unwrap();
    let halves = members(&["meet"]).on("host1", 2).on("host2", 2);
    let both = with_agent(&some).min_hosts(2).members_per_agent(1);
    let error = launch_error(&[halves], &both);
    assert_says(&error, &["1 of 2 hosts", "at least 2 hosts are needed", "no room here"]);

    fs::remove_dir(marks.join("1")).unwrap();
    let error = launch_error(&[distribution], &with_agent(some));
    assert_says(&error, &["1 of 4 hosts", "no room here"]);
}

pub(crate) fn nothing_runs_where_one_of_several_hosts_cannot_be_reached() {
    let directory = tempfile::tempdir().unwrap();
    let marks = directory.path().join("marks");
    fs::create_dir(&marks).unwrap();
    // One of the agents takes its time to fail: the others could have started their members long before.
    let agent = script(
        directory.path(),
        &format!(
            "if mkdir {first} 2>/dev/null; then sleep 1; exit 5; fi; exec {agent} \"$@\"",
            first = directory.path().join("first").display(),
            agent = options().agent.unwrap().display()
        ),
    );
    let mark = shell(&format!("touch {}/$BANYAN_RANK; sleep 1000", marks.display()));
    let error = launch_error(&[mark.on("host1", 1).on("host2", 1).on("host3", 1)], &with_agent(agent));
    assert_says(&error, &["1 of 3 hosts"]);
    assert_eq!(fs::read_dir(&marks).unwrap().count(), 0, "no member has run");
    assert_alone(Duration::from_secs(1));
}

pub(crate) fn members_that_do_not_need_each_other_go_on_without_one_that_cannot_be_started() {
    let missing = "/nowhere/program";
    for hosts in [["host1", "host2"], ["host1", "host1"]] {
        let members = [shell("echo here").on(hosts[0], 2), ProcessDistribution::new(missing, [""]).on(hosts[1], 2)];
        let session = Session::launch(&members, &options().independent(true)).unwrap();
        let heard = listen(&session);
        assert_eq!([heard.text(0), heard.text(1)], ["here\n", "here\n"]);
        let [problem] = &heard.problems[..] else { panic!("{heard:?}") };
        let cause = format!("cannot start {missing}: {missing} does not exist");
        let told = (&*problem.host, &*problem.cause, &*problem.remedy, &*problem.members);
        assert_eq!(told, (hosts[1], &*cause, "install it, correct its path, or stage it", "2-3"));
        let never = ExitState::NeverStarted(cause);
        assert_eq!(never.status(), 127);
        assert_eq!(outcome(&session).states, [ExitState::Exited(0), ExitState::Exited(0), never.clone(), never]);
        session.kill().unwrap();
    }
}

pub(crate) fn hosts_without_members_are_no_obstacle() {
    let session = Session::launch(&[members(&["meet"]).on("host1", 0).on("host2", 2).on("host3", 0)], &options());
    all_succeed(session.unwrap());
}

pub(crate) fn host_names_that_look_like_options_are_refused() {
    let error = launch_error(&[shell("true").on("-oProxyCommand=touch /tmp/x", 1)], &options());
    assert_says(&error, &["-oProxyCommand", "cannot be the name of a host"]);
}
