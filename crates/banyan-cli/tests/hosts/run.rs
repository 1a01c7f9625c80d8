//! `banyan run` on hosts: outputs folded, compared, labelled and told to machines; what is typed, and limits.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::shape::assert_shape;
use crate::{banyan, by_slurm, by_ssh, command, command_by_ssh, file, objects, text, without_queueing};

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_identical_outputs_of_eight_hosts_are_one() {
    let output = by_ssh(&["run", "-w", "h[1-8]", "--fold", "--", "echo", "alike"]);
    assert_eq!(text(&output.stdout), "=== h[1-8] (8 of 8)\nalike\n", "{}", text(&output.stderr));
    let script = "seq 1 3; [ $(hostname) != h5 ] || echo four; [ $(hostname) != h7 ] || exit 9";
    let output = by_ssh(&["run", "-w", "h[1-8]", "--diff", "--", "sh", "-c", script]);
    let expected = "=== h[1-4,6-8] (7 of 8)\n1\n2\n3\n=== h5 (1 of 8)\n@@ -1,3 +1,4 @@\n 1\n 2\n 3\n+four\n";
    assert_eq!(text(&output.stdout), expected);
    assert_eq!(text(&output.stderr), "banyan: 1 of 8 members failed\n  6 on h7: exited with status 9\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_a_partition_is_a_group() {
    let output = banyan(&["run", "--launcher", "slurm", "-w", "@slurm:debug!h[5-8]", "-b", "--", "echo", "alike"]);
    assert_eq!(text(&output.stdout), "=== h[1-4] (4 of 4)\nalike\n", "{}", text(&output.stderr));
}

/// The jobs that Slurm has, each with its name, but for those that are over and only tidied up.
fn jobs() -> BTreeSet<String> {
    let mut squeue = Command::new("squeue");
    squeue.args(["--noheader", "--format=%i %j", "--states=pending,running"]).env("SLURM_CONF", file("slurm.conf"));
    text(&squeue.output().expect("squeue").stdout).lines().map(str::to_owned).collect()
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_a_number_of_nodes_is_an_allocation_that_ends_with_the_command() {
    let before = jobs();
    let output = banyan(&["run", "--nodes", "3", "-b", "--", "echo", "alike"]);
    let out = text(&output.stdout);
    let err = without_queueing(&text(&output.stderr));
    assert!(out.ends_with(" (3 of 3)\nalike\n") && err.is_empty(), "{out}{err}");
    assert!(jobs().is_subset(&before), "{:?}, before {before:?}", jobs());
    let output = banyan(&["run", "-N", "100", "--timeout", "1s", "--", "true"]);
    let err = text(&output.stderr);
    let told = "banyan: Slurm gave no 100 nodes within 1 s (--timeout); check with: sinfo, squeue\n";
    assert!(err.ends_with(told) && output.status.code() == Some(4), "{err}");
    assert!(jobs().is_subset(&before), "{:?}, before {before:?}", jobs());
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_the_nodes_of_a_killed_command_are_given_back() {
    let before = jobs();
    for (nodes, is_there) in [("2", "here"), ("100", "queued and waiting for resources")] {
        let mut command = command(&["run", "--nodes", nodes, "--", "sh", "-c", "echo here >&2; sleep 1000"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command was built");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line.contains(is_there))), "{nodes} nodes");
        child.kill().expect("it runs");
        child.wait().expect("it was killed");
        let deadline = Instant::now() + Duration::from_secs(30);
        while !jobs().is_subset(&before) {
            assert!(Instant::now() < deadline, "jobs are left: {:?}, before {before:?}", jobs());
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_what_sets_one_of_eight_nodes_apart_is_shown() {
    let script = "seq 1 3; [ $SLURMD_NODENAME != h5 ] || echo four; [ $SLURMD_NODENAME != h7 ] || exit 9";
    let output = by_slurm(&["run", "-w", "h[1-8]", "--diff", "--", "sh", "-c", script]);
    let expected = "=== h[1-4,6-8] (7 of 8)\n1\n2\n3\n=== h5 (1 of 8)\n@@ -1,3 +1,4 @@\n 1\n 2\n 3\n+four\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "banyan: 1 of 8 members failed\n  6 on h7: exited with status 9\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_every_line_and_every_end_is_told_to_machines() {
    check_objects(by_ssh);
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_every_line_and_every_end_is_told_to_machines() {
    check_objects(by_slurm);
}

/// A line from each of eight hosts, of which one fails.
fn check_objects(banyan: fn(&[&str]) -> Output) {
    let output = banyan(&["run", "--json", "-w", "h[1-8]", "--", "sh", "-c", "echo here; [ $BANYAN_HOST != h3 ]"]);
    let objects = objects(&output);
    let [events @ .., summary] = &objects[..] else { panic!("{}", text(&output.stderr)) };
    let of = |event: &str| -> Vec<&Value> { events.iter().filter(|object| object["event"] == event).collect() };
    let line = json!({ "event": "text", "host": "text", "rank": "count", "stream": "text", "line": "text" });
    let end = json!({ "event": "text", "host": "text", "rank": "count", "state": "text", "status": "count" });
    assert_shape(&json!(of("output")), &json!([line]));
    assert_shape(&json!(of("exited")), &json!([end]));
    let failed = json!({ "hosts": "text", "members": "text", "state": "text", "status": "count" });
    let shape = json!({
        "event": "text", "members": "count", "succeeded": "count", "failed": [failed], "left_out": "list",
        "refused": {}, "seconds": "number", "timed_out": "flag", "unknown": "count", "exit_status": "count",
    });
    assert_shape(summary, &shape);
    assert_eq!((of("output").len(), of("exited").len(), &summary["succeeded"]), (8, 8, &7.into()), "{summary}");
    assert_eq!((summary["failed"][0]["hosts"].as_str(), output.status.code()), (Some("h3"), Some(1)), "{summary}");
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_what_is_typed_reaches_every_host_and_lines_are_labelled() {
    let mut command = command_by_ssh(&["run", "-w", "h[1-3]", "--", "cat"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the command was built");
    child.stdin.take().expect("a pipe").write_all(b"one\ntwo\n").expect("it listens");
    let output = child.wait_with_output().expect("it is our child");
    let shown = text(&output.stdout);
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0 h1: one", "0 h1: two", "1 h2: one", "1 h2: two", "2 h3: one", "2 h3: two"]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_a_limit_of_time_ends_what_runs_on_all_hosts() {
    let output = by_ssh(&["run", "-w", "h[1-3]", "--timeout", "5s", "--", "sleep", "1000"]);
    let expected = "\
banyan: the time limit has passed; the members were ended (--timeout sets it)
banyan: 3 of 3 members failed
  0-2 on h[1-3]: killed by signal 15 (SIGTERM)
";
    assert_eq!((text(&output.stderr).as_str(), output.status.code()), (expected, Some(4)));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_from_a_container_whose_session_began_outside_it_runs_as_anywhere() {
    let inside = command_by_ssh(&["run", "-w", "h[1-2]", "-b", "--", "echo", "alike"]);
    let mut outside = Command::new("unshare");
    outside.args(["--pid", "--fork", "--mount-proc", "--kill-child"]).arg(inside.get_program()).args(inside.get_args());
    let output = outside.output().expect("a part of util-linux");
    assert_eq!(text(&output.stdout), "=== h[1-2] (2 of 2)\nalike\n", "{}", text(&output.stderr));
}
