//! Hosts that cannot be reached, and agents that cannot be started there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use banyan_boot::{Session, SessionOptions};

use crate::cluster::{
    ASKS, DEAD, GOOD, GREETS, REFUSES_KEYS, SILENT, assert_clean, each, impatient, name, on, run, small,
};
use crate::setup::{all_succeed, assert_says, launch_error, members, shell, this_program};

pub(crate) fn hosts_that_refuse_are_named_with_cause_and_remedy() {
    let hosts = ["h1", "nowhere", REFUSES_KEYS, ASKS];
    let error = launch_error(&[each(shell("true"), &hosts, 1)], &on(&name()));
    assert_says(&error, &["3 of 4 hosts had problems"]);
    let causes = [
        ("nowhere", "Could not resolve hostname"),
        (REFUSES_KEYS, "Permission denied (publickey)"),
        (ASKS, "Permission denied"),
    ];
    for (host, cause) in causes {
        let start = format!("host {host}: ");
        let line = error.lines().map(str::trim).find(|line| line.starts_with(&start)).expect(&error);
        assert_says(line, &[cause, "(member ", "check with: ssh -F ", &format!("-o BatchMode=yes {host} true")]);
    }
    assert_clean(&name());
}

pub(crate) fn hosts_that_stay_silent_are_given_up() {
    let error = launch_error(&[each(shell("true"), &[SILENT, DEAD], 1)], &impatient(&name(), 2));
    assert_says(&error, &["2 of 2 hosts", "hosts h[10,12]: no agent answered within 2 s", "check with: ssh -F "]);
    assert_clean(&name());
}

pub(crate) fn an_unreachable_host_below_another_is_named_and_those_below_it_are_not_lost() {
    // With one child each, the hosts are a chain: h2 is to start the host that refuses, and that one h3.
    let options = on(&name()).fanout(1);
    let error = launch_error(&[each(shell("true"), &["h1", "h2", REFUSES_KEYS, "h3"], 1)], &options);
    let parts = [&format!("host {REFUSES_KEYS}: "), "Permission denied (publickey)", "(member 2)", "check with: "];
    assert_says(&error, &["1 of 4 hosts had problems"]);
    assert_says(&error, &parts);
    assert_clean(&name());
}

pub(crate) fn one_dead_host_of_ten_is_an_error_unless_nine_are_enough() {
    let hosts: Vec<&str> = GOOD.into_iter().chain([DEAD, GREETS]).collect();
    let members = [each(members(&["meet"]), &hosts, 1)];
    let error = launch_error(&members, &impatient(&name(), 5));
    assert_says(&error, &["1 of 10 hosts", &format!("host {DEAD}: no agent answered within 5 s")]);
    assert_clean(&name());

    let enough = impatient(&name(), 5).min_hosts(9);
    let session = Session::launch(&members, &enough).unwrap();
    assert_eq!(session.size(), 9);
    let [missing] = session.missing() else { panic!("{:?}", session.missing()) };
    assert_eq!(missing.host, DEAD);
    all_succeed(session);
    assert_clean(&name());

    let too_few = impatient(&name(), 5).min_hosts(10);
    let error = launch_error(&members, &too_few);
    assert_says(&error, &["1 of 10 hosts", "at least 10 hosts are needed", DEAD]);
    assert_clean(&name());
}

/// A directory that hosts see, too.
fn shared_directory() -> tempfile::TempDir {
    tempfile::tempdir_in(this_program().parent().unwrap()).unwrap()
}

fn installed(path: PathBuf) -> SessionOptions {
    on(&name()).installed_agent(path.display().to_string())
}

pub(crate) fn an_agent_of_another_protocol_is_refused() {
    let directory = shared_directory();
    let agent = directory.path().join("agent");
    fs::write(&agent, "#!/bin/sh\necho BANYAN-AGENT-READY 2 of tomorrow\nexec cat >/dev/null\n").unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let error = launch_error(&[shell("true").on("h1", 1)], &installed(agent));
    let cause = "host h1: its agent speaks protocol 2 of Banyan, the node above it protocol 1";
    assert_says(&error, &[cause, "update the program of the session: ", "speaks protocol 2"]);
    assert_clean(&name());
}

pub(crate) fn an_installed_agent_that_is_missing_is_named() {
    let error = launch_error(&[shell("true").on("h1", 1)], &installed("/nowhere/agent".into()));
    assert_says(&error, &["host h1: ", "/nowhere/agent", "ssh itself works: "]);
    // One that is there is used by all, also by hosts that others start.
    let options = installed(this_program()).fanout(1);
    all_succeed(Session::launch(&[each(members(&["meet"]), &["h1", "h2", "h3"], 1)], &options).unwrap());
    assert_clean(&name());
}

pub(crate) fn a_full_disk_is_named_if_the_program_may_be_nowhere_else() {
    let options = on(&small()).agent_directory("$HOME/.cache/banyan/agents");
    let error = launch_error(&[shell("true").on("h1", 1)], &options);
    let parts =
        ["host h1: ", "No space left", "cannot keep the agent program in ", ".cache/banyan", "ssh itself works: "];
    assert_says(&error, &parts);
    assert_clean(&small());
}

pub(crate) fn a_host_whose_home_is_full_keeps_the_program_elsewhere() {
    let look = "ls ~/.cache/banyan/agents; readlink /proc/$PPID/exe";
    for _ in 0..2 {
        let heard = all_succeed(Session::launch(&[shell(look).on("h1", 1)], &on(&small())).unwrap());
        assert!(heard.text(0).starts_with("/tmp/.cache-banyan-"), "{}", heard.text(0));
    }
    let chosen = on(&small()).agent_directory("/dev/shm/chosen-$USER");
    let heard = all_succeed(Session::launch(&[shell(look).on("h1", 1)], &chosen).unwrap());
    assert!(heard.text(0).starts_with("/dev/shm/chosen-"), "{}", heard.text(0));
    let wrong = on(&small()).agent_directory("/tmp/$(reboot)");
    assert_says(&launch_error(&[shell("true").on("h1", 1)], &wrong), &["write a path from the root, such as "]);
    assert_clean(&small());
}

/// A directory of a host that is mounted with another option, until this goes.
struct Mounted(&'static str);

/// Which one.
const SPOILT: &str = "h7";

impl Mounted {
    fn with(option: &str, directory: &'static str) -> Mounted {
        run(
            SPOILT,
            &format!(
                "mkdir -p {directory} && mount --bind {directory} {directory} && mount -o remount,bind,{option} {directory}"
            ),
        );
        Mounted(directory)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What runs there ends soon.
        run(SPOILT, &format!("umount --lazy {}", self.0));
    }
}

pub(crate) fn a_host_whose_home_is_read_only_or_noexec_keeps_the_program_elsewhere() {
    let look = || {
        let heard = Session::launch(&[shell("readlink /proc/$PPID/exe").on(SPOILT, 1)], &on(&name()));
        all_succeed(heard.unwrap()).text(0)
    };
    for option in ["ro", "noexec"] {
        // One that is there may be started from a place that cannot be written to.
        run(SPOILT, "rm -rf $HOME/.cache/banyan /tmp/.cache-banyan-*");
        let spoilt = Mounted::with(option, "$HOME/.cache");
        let program = look();
        assert!(program.starts_with("/tmp/.cache-banyan-"), "{option}: {program}");
        drop(spoilt);
    }
    assert_clean(&name());
}

pub(crate) fn a_host_where_no_program_can_be_started_is_named_with_the_cause() {
    let spoilt = ["$HOME/.cache", "/tmp", "/dev/shm"].map(|directory| Mounted::with("noexec", directory));
    let error = launch_error(&[each(shell("true"), &["h1", SPOILT], 1)], &on(&name()));
    let cause = "no program can be started from there, it may be mounted noexec";
    assert_says(&error, &["1 of 2 hosts", &format!("host {SPOILT}: "), cause, "/tmp/.cache-banyan-", "/dev/shm"]);
    drop(spoilt);
    assert_clean(&name());
}

pub(crate) fn host_names_that_look_like_options_never_reach_ssh() {
    let error = launch_error(&[shell("true").on("-oProxyCommand=false", 1)], &on(&name()));
    assert_says(&error, &["-oProxyCommand", "cannot be the name of a host"]);
}
