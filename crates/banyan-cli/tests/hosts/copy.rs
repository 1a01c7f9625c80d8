//! `banyan copy` to hosts and from them.

use std::process::Output;

use serde_json::json;

use crate::shape::assert_shape;
use crate::{by_slurm, by_ssh, eight, objects, shared, text};

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_files_reach_eight_hosts_and_come_back() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| place.path().join(name).display().to_string();
    std::fs::create_dir(path("data")).expect("room");
    std::fs::write(path("data/numbers"), vec![7; 3_000_000]).expect("room");
    let there = path("{host}/");
    let output = by_ssh(&["copy", "-w", "h[1-8]", &path("data"), &there]);
    let expected = format!("{}: 1 file, 3.0 MB, on 8 hosts: 24.0 MB delivered\n", path("data"));
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    let output = by_ssh(&["copy", "-w", "h[1-8]", "--gather", &path("{host}/data"), &path("all")]);
    assert_eq!(text(&output.stdout), "h[1-8]: 1 file, 3.0 MB each: 3.0 MB came\n", "{}", text(&output.stderr));
    assert_eq!(std::fs::read(path("all/h8/data/numbers")).expect("a file"), vec![7; 3_000_000]);
    let output = by_ssh(&["copy", "-w", "h1,no-such-host", &path("data"), &there]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_what_is_copied_and_gathered_is_told_to_machines() {
    check_objects(by_ssh);
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_what_is_copied_and_gathered_is_told_to_machines() {
    check_objects(by_slurm);
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_files_reach_eight_nodes_and_come_back() {
    let place = shared();
    let path = |name: &str| place.path().join(name).display().to_string();
    std::fs::write(path("numbers"), vec![7; 300_000]).expect("room");
    let output = by_slurm(&["copy", "-w", "h[1-8]", &path("numbers"), &path("{host}/")]);
    let expected = format!("{}: 1 file, 300.0 kB, on 8 hosts: 2.4 MB delivered\n", path("numbers"));
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    let output = by_slurm(&["copy", "-w", "h[1-8]", "--gather", &path("{host}/numbers"), &path("all")]);
    assert_eq!(text(&output.stdout), "h[1-8]: 1 file, 300.0 kB each: 300.0 kB came\n", "{}", text(&output.stderr));
    assert_eq!(std::fs::read(path("all/h8/numbers")).expect("a file"), vec![7; 300_000]);
}

/// A file that goes to all hosts and comes back, told with `--json`.
fn check_objects(banyan: fn(&[&str]) -> Output) {
    let place = shared();
    let path = |name: &str| place.path().join(name).display().to_string();
    std::fs::write(path("numbers"), vec![7; 300_000]).expect("room");
    let output = banyan(&["copy", "--json", "-w", "h[1-8]", &path("numbers"), &path("{host}/")]);
    let [copied, summary] = &objects(&output)[..] else { panic!("{}", text(&output.stderr)) };
    let shape = json!({
        "event": "text", "source": "text", "bytes": "count", "delivered_bytes": "count", "had_bytes": "count",
        "files": "count", "hosts": "count", "failed": "count",
    });
    assert_shape(copied, &shape);
    assert_eq!((&copied["hosts"], &copied["delivered_bytes"]), (&8.into(), &2_400_000.into()));
    check_summary(summary);
    let output = banyan(&["copy", "--json", "-w", "h[1-8]", "--gather", &path("{host}/numbers"), &path("all")]);
    let objects = objects(&output);
    let [gathered @ .., summary] = &objects[..] else { panic!("{}", text(&output.stderr)) };
    check_summary(summary);
    let shape = json!({
        "event": "text", "host": "text", "files": "count", "failed": "flag", "bytes": "count",
        "delivered_bytes": "count", "had_bytes": "count",
    });
    assert_shape(&json!(gathered), &json!([shape]));
    let mut hosts: Vec<&str> = gathered.iter().filter_map(|object| object["host"].as_str()).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, eight());
}

fn check_summary(summary: &serde_json::Value) {
    let shape = json!({
        "event": "text", "delivered_bytes": "count", "had_bytes": "count", "seconds": "number", "hosts": "count",
        "failed_hosts": "list", "left_out": "list", "timed_out": "flag", "interrupted": "flag",
        "exit_status": "count",
    });
    assert_shape(summary, &shape);
    assert_eq!((&summary["hosts"], &summary["exit_status"]), (&8.into(), &0.into()), "{summary}");
}
