//! Launches that do not come to an end: what starts the agents hangs, and ends with the front-end when that is ended, or when
//! its time is over.

#![expect(clippy::print_stdout, reason = "a front-end speaks to its test by its output")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use banyan_boot::{Launcher, Session, SshOptions};
use rustix::process::{Pid, Signal, kill_process};

use crate::losses::SPARE;
use crate::relatives::{assert_alone, wait_until};
use crate::setup::{assert_says, deadline, launch_error, options, shell, this_program};

/// A command in the place of `ssh` that says nothing, nor does its child, which ignores requests to end.
const HANGS: &str =
    "#!/bin/sh\n(trap '' TERM; exec sleep 1000) &\ntouch \"$(dirname \"$0\")/started-$$\"\nexec sleep 1000\n";

/// Launches on two hosts by ssh, or by the command that it names, and does not come further.
pub(crate) fn run(launcher: &str) -> ExitCode {
    let launcher = match launcher {
        "ssh" => Launcher::Ssh(SshOptions::default()),
        template => Launcher::Command { template: template.into() },
    };
    let launched = Session::launch(&[shell("true").on("host1", 1).on("host2", 1)], &options().launcher(launcher));
    panic!("what starts agents here hangs: {launched:?}");
}

/// A command in the place of `ssh` that runs agents here, but for the one of the second host.
const LATE: &str = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\n\
    if [ \"$2\" = host2 ]; then echo 'still at breakfast' >&2; exec sleep 1000; fi\nexec sh -c \"$3\"\n";

/// Launches on two hosts, one below the other, and says why that did not end in time.
pub(crate) fn run_hurried() -> ExitCode {
    let launcher = Launcher::Ssh(SshOptions::default());
    let (host_deadline, deadline) = (Duration::from_secs(1000), Some(Duration::from_secs(10)));
    // It is there already: what is in time is in time on a slow machine, too.
    let installed_agent = this_program().display().to_string();
    let options = options()
        .launcher(launcher)
        .host_deadline(host_deadline)
        .deadline(deadline)
        .installed_agent(installed_agent)
        .fanout(1);
    println!("{}", launch_error(&[shell("true").on("host1", 1).on("host2", 2)], &options));
    ExitCode::SUCCESS
}

/// A front-end for which this script is in the place of `ssh`.
fn front_end(directory: &Path, script: &str) -> Command {
    let ssh = directory.join("ssh");
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let mut front_end = Command::new(this_program());
    front_end.env("PATH", path).env("HOME", directory).env_remove("XDG_RUNTIME_DIR").env_remove("XDG_CACHE_HOME");
    front_end
}

pub(crate) fn a_launch_whose_time_is_over_names_who_did_not_answer() {
    let directory = tempfile::tempdir().unwrap();
    let output = front_end(directory.path(), LATE).arg("hurried-front-end").output().unwrap();
    let error = String::from_utf8_lossy(&output.stdout);
    assert_says(&error, &["the launch did not end in time: 1 of 2 hosts did not answer, 0 of 3 members started"]);
    let cause =
        "host host2: no agent answered before the time for the launch was over (last words: \"still at breakfast\")";
    assert_says(&error, &[cause, "(members 1-2)", "check with: ssh -o BatchMode=yes host2 true"]);
    assert_alone(SPARE);
}

/// Ends a front-end with this signal when so many commands hang.
fn end_while_launching(launcher: &str, directory: &Path, hanging: usize, signal: Signal) {
    let mut front_end = front_end(directory, HANGS).args(["launching-front-end", launcher]).spawn().unwrap();
    // Beside these there is the stand-in.
    let started = || (fs::read_dir(directory).unwrap().count() > hanging).then_some(());
    wait_until("commands are started", deadline().unwrap(), started);
    kill_process(Pid::from_child(&front_end), signal).unwrap();
    front_end.wait().unwrap();
    assert_alone(SPARE);
}

pub(crate) fn a_front_end_killed_while_it_launches_leaves_nothing() {
    end_while_launching("ssh", tempfile::tempdir().unwrap().path(), 2, Signal::KILL);
}

pub(crate) fn a_front_end_asked_to_end_while_it_launches_leaves_nothing() {
    end_while_launching("ssh", tempfile::tempdir().unwrap().path(), 2, Signal::TERM);
}

pub(crate) fn a_front_end_killed_before_any_agent_came_leaves_no_roster() {
    let directory = tempfile::tempdir().unwrap();
    // The harness looks for files that are left where the roster is.
    end_while_launching("ssh {hosts} {agent}", directory.path(), 1, Signal::KILL);
}
