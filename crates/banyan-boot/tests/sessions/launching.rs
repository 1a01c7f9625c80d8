//! Front-ends that are ended while they launch: what starts their agents hangs, and ends with them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use banyan_boot::{Launcher, Session, SessionOptions, SshOptions};
use rustix::process::{Pid, Signal, kill_process};

use crate::losses::SPARE;
use crate::relatives::{assert_alone, wait_until};
use crate::setup::{deadline, options, shell, this_program};

/// A command in the place of `ssh` that says nothing, nor does its child, which ignores requests to end.
const HANGS: &str =
    "#!/bin/sh\n(trap '' TERM; exec sleep 1000) &\ntouch \"$(dirname \"$0\")/started-$$\"\nexec sleep 1000\n";

/// Launches on two hosts by ssh, or by the command that it names, and does not come further.
pub(crate) fn run(launcher: &str) -> ExitCode {
    let launcher = match launcher {
        "ssh" => Launcher::Ssh(SshOptions::default()),
        template => Launcher::Command { template: template.into() },
    };
    let launched =
        Session::launch(&[shell("true").on("host1", 1).on("host2", 1)], &SessionOptions { launcher, ..options() });
    panic!("what starts agents here hangs: {launched:?}");
}

/// Ends a front-end with this signal when so many commands hang.
fn end_while_launching(launcher: &str, directory: &Path, hanging: usize, signal: Signal) {
    let ssh = directory.join("ssh");
    fs::write(&ssh, HANGS).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let mut front_end = Command::new(this_program());
    front_end.args(["launching-front-end", launcher]).env("PATH", path).env_remove("XDG_RUNTIME_DIR");
    let mut front_end = front_end.spawn().unwrap();
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
