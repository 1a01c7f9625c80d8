//! Agents that one command starts, which behaves like Slurm's: it waits for hosts, and its allocation can be cancelled.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use banyan_boot::{Launcher, ProblemKind, Session};

use crate::losses::SPARE;
use crate::relatives::assert_alone;
use crate::setup::{assert_says, listen, options, shell};

/// Starts agents for two hosts here once it may, and ends them when it is told so.
const STARTER: &str = "#!/bin/sh
cd \"$(dirname \"$0\")\"
echo 'srun: job 7 queued and waiting for resources' >&2
until [ -e granted ]; do sleep 0.02; done
echo 'srun: job 7 has been allocated resources' >&2
SLURMD_NODENAME=host1 \"$@\" & first=$!
SLURMD_NODENAME=host2 \"$@\" & second=$!
until [ -e cancelled ]; do sleep 0.02; done
echo 'slurmstepd: error: *** STEP 7.0 ON host1 CANCELLED AT 2026-01-02T03:04:05 ***' >&2
echo 'srun: error: host1: task 0: Exited with exit code 143' >&2
echo 'srun: error: host2: task 1: Exited with exit code 143' >&2
kill $first $second
wait
";

/// Where the starter is.
static PLACE: OnceLock<PathBuf> = OnceLock::new();

static NOTICES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Hosts are given when it is known that they are waited for.
fn notice(text: &str) {
    NOTICES.lock().unwrap().push(text.to_owned());
    fs::write(PLACE.get().unwrap().join("granted"), "").unwrap();
}

pub(crate) fn who_waits_in_a_queue_is_told_and_a_cancelled_allocation_is_named() {
    let directory = tempfile::tempdir().unwrap();
    PLACE.set(directory.path().to_owned()).unwrap();
    let starter = directory.path().join("starter");
    fs::write(&starter, STARTER).unwrap();
    fs::set_permissions(&starter, fs::Permissions::from_mode(0o755)).unwrap();
    let launcher = Launcher::Command { template: format!("{} {{agent}}", starter.display()) };
    let options = options().launcher(launcher).notice(Some(notice));
    let session = Session::launch(&[shell("sleep 1000").on("host1", 1).on("host2", 1)], &options).unwrap();
    let told = NOTICES.lock().unwrap().join("\n");
    assert_eq!(told, "srun: job 7 queued and waiting for resources\nsrun: job 7 has been allocated resources");

    fs::write(directory.path().join("cancelled"), "").unwrap();
    let problems = listen(&session).problems;
    for problem in &problems {
        assert_eq!(problem.kind, ProblemKind::AgentLost);
        assert_says(&problem.to_string(), &["its keeper was asked to end", "STEP 7.0 ON host1 CANCELLED AT"]);
    }
    let mut hosts: Vec<&str> = problems.iter().map(|problem| &*problem.host).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["host1", "host2"], "each agent is reported once");
    session.kill().unwrap();
    assert_alone(SPARE);
}
