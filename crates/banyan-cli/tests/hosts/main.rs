//! The command on test hosts, over ssh and through Slurm, as people use it.
//!
//! ```text
//! cargo xtask hosts up 8 --slurm --name NAME
//! BANYAN_TEST_CLUSTER=NAME cargo test -p banyan-cli --test hosts -- --ignored --test-threads=1
//! ```
//!
//! `cargo xtask test --only sessions` makes the hosts, runs these tests and removes the hosts.

mod copy;
mod doctor;
mod job;
mod run;
mod stack;
mod top;

use std::process::{Command, Output};

use serde_json::Value;

fn cluster() -> String {
    std::env::var("BANYAN_TEST_CLUSTER").expect("run cargo xtask test --only sessions")
}

fn file(name: &str) -> String {
    format!("/run/banyan-hosts/{}/{name}", cluster())
}

/// The command without any configuration but that of the cluster.
fn banyan(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(words).env("BANYAN_CONFIG", "").env("SLURM_CONF", file("slurm.conf"));
    command.stdin(std::process::Stdio::null()).output().expect("the command was built")
}

/// The command with hosts reached by ssh.
fn by_ssh(words: &[&str]) -> Output {
    let [verb, rest @ ..] = words else { panic!("no verb") };
    banyan(&[&[*verb, &format!("--ssh-arg=-F{}", file("ssh_config"))], rest].concat())
}

/// The command with hosts that Slurm starts agents on.
fn by_slurm(words: &[&str]) -> Output {
    let [verb, rest @ ..] = words else { panic!("no verb") };
    banyan(&[&[*verb, "--launcher", "slurm"], rest].concat())
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

/// Fails unless an object has exactly these fields, each of its kind: `number`, `text`, `flag`, `list`, or `any`.
fn check_shape(object: &Value, shape: &[(&str, &str)]) {
    let fields = object.as_object().unwrap_or_else(|| panic!("no object: {object}"));
    let mut names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let mut expected: Vec<&str> = shape.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected, "{object}");
    for (name, kind) in shape {
        let value = &object[*name];
        let is_so = match *kind {
            "number" => value.is_number(),
            "text" => value.is_string(),
            "flag" => value.is_boolean(),
            "list" => value.is_array(),
            _ => true,
        };
        assert!(is_so, "{name} is no {kind}: {object}");
    }
}
