//! The command on test hosts, over ssh and through Slurm, as people use it.
//!
//! ```text
//! cargo xtask hosts up 8 --slurm --name NAME
//! BANYAN_TEST_CLUSTER=NAME cargo test -p banyan-cli --test hosts -- --ignored --test-threads=1
//! ```
//!
//! `cargo xtask test --only sessions` makes the hosts, runs these tests and removes the hosts.

mod absent;
mod clock;
mod copy;
mod doctor;
mod firewall;
mod job;
mod least;
#[path = "../command/look.rs"]
mod look;
mod outage;
#[path = "../command/pseudo_terminal.rs"]
#[expect(dead_code, reason = "the tests without hosts need more of it")]
mod pseudo_terminal;
mod run;
#[path = "../command/shape.rs"]
mod shape;
#[path = "../command/shown.rs"]
mod shown;
mod stack;
mod top;
mod topo;

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn cluster() -> String {
    std::env::var("BANYAN_TEST_CLUSTER").expect("run cargo xtask test --only sessions")
}

fn file(name: &str) -> String {
    format!("/run/banyan-hosts/{}/{name}", cluster())
}

/// The command without any configuration but that of the cluster.
fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(words).env("BANYAN_CONFIG", "").env("SLURM_CONF", file("slurm.conf")).stdin(Stdio::null());
    command
}

/// The same with hosts reached by ssh.
fn command_by_ssh(words: &[&str]) -> Command {
    let [verb, rest @ ..] = words else { panic!("no verb") };
    command(&[&[*verb, &format!("--ssh-arg=-F{}", file("ssh_config"))], rest].concat())
}

fn banyan(words: &[&str]) -> Output {
    command(words).output().expect("the command was built")
}

fn by_ssh(words: &[&str]) -> Output {
    command_by_ssh(words).output().expect("the command was built")
}

/// The command with hosts that Slurm starts agents on.
fn by_slurm(words: &[&str]) -> Output {
    let [verb, rest @ ..] = words else { panic!("no verb") };
    let mut output = banyan(&[&[*verb, "--launcher", "slurm"], rest].concat());
    output.stderr = without_queueing(&text(&output.stderr)).into_bytes();
    output
}

/// What a command says, without `srun: job 50 queued and waiting for resources`: whether a job waits depends on what else runs.
fn without_queueing(said: &str) -> String {
    let is_about_the_queue = |line: &&str| {
        let job = ["srun: job ", "banyan: salloc: job "].iter().find_map(|who| line.strip_prefix(who));
        let about = job.and_then(|job| job.split_once(' ')).map(|(_, about)| about.trim());
        matches!(about, Some("queued and waiting for resources" | "has been allocated resources"))
    };
    said.split_inclusive('\n').filter(|line| !is_about_the_queue(line)).collect()
}

/// The eight good hosts.
fn eight() -> Vec<String> {
    (1..=8).map(|number| format!("h{number}")).collect()
}

/// A directory that is the same on all hosts, as little else is: it lies in the repository.
fn shared() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("room")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One object a line.
fn objects(output: &Output) -> Vec<Value> {
    let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text(&output.stdout).lines().map(line).collect()
}
