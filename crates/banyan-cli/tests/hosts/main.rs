//! The command on test hosts, over ssh and through Slurm, as people use it.
//!
//! ```text
//! cargo xtask hosts up 8 --slurm --name NAME
//! BANYAN_TEST_CLUSTER=NAME cargo test -p banyan-cli --test hosts -- --ignored --test-threads=1
//! ```
//!
//! `cargo xtask test --only sessions` makes the hosts, runs these tests and removes the hosts.

mod absent;
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
#[expect(dead_code, reason = "the tests without hosts need more of it")]
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
        let about =
            line.strip_prefix("srun: job ").and_then(|line| line.split_once(' ')).map(|(_, about)| about.trim());
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

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_a_study_runs_as_a_job_and_leaves_its_report() {
    // Hosts have temporary directories of their own, but all see the repository.
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let path = |name: &str| place.path().join(name);
    let plan = "[study]\nname = \"s\"\nrepetitions = 2\n[[bench]]\nbench = \"tree\"\nop = \"instantiate\"\nshape = \"1x2\"\n\
                quick = true\n";
    std::fs::write(path("plan.toml"), plan).expect("room");
    let plan = path("plan.toml").display().to_string();
    let output = banyan(&["bench", &plan, "--submit", "slurm", "--time", "5", "--partition", "debug", "--json"]);
    let submitted: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let job = submitted["job"].as_str().expect("a job");
    // Its end is the beginning of one that depends on it.
    let mut srun = Command::new("srun");
    srun.args(["--partition=debug", "--time=1", &format!("--dependency=afterany:{job}"), "true"]);
    let after = srun.env("SLURM_CONF", file("slurm.conf")).output().expect("srun");
    assert!(after.status.success(), "{}", text(&after.stderr));
    let said = std::fs::read_to_string(path(&format!("s/job-{job}.out"))).expect("the job's output");
    let results = std::fs::read(path("s/results.json")).unwrap_or_else(|_| panic!("{said}"));
    let results: Value = serde_json::from_slice(&results).expect("results");
    assert_eq!((&results["runs"], results["figures"].as_array().map(Vec::len)), (&2.into(), Some(4)), "{said}");
    let page = std::fs::read_to_string(path("s/report.html")).expect("a report");
    assert!(page.contains("<tr><th>host</th><td>h"), "it ran on a node: {page}");
}
