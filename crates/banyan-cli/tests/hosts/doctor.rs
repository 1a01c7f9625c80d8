//! `banyan doctor` on hosts: what it finds out about each, and about Slurm.

use std::process::Output;

use serde_json::{Value, json};

use crate::shape::assert_shape;
use crate::{banyan, by_slurm, by_ssh, eight, file, objects, text};

/// What a finding says of a host.
fn level<'f>(findings: &'f [Value], host: &str, name: &str) -> &'f str {
    let found = findings.iter().find(|finding| finding["host"] == host && finding["name"] == name);
    found.and_then(|finding| finding["level"].as_str()).unwrap_or_else(|| panic!("{name} of {host}: {findings:#?}"))
}

/// All findings, which say what findings say.
fn findings(output: &Output) -> Vec<Value> {
    let mut objects = objects(output);
    let summary = objects.pop().unwrap_or_else(|| panic!("{}", text(&output.stderr)));
    let finding = json!({
        "event": "text", "host": "text", "name": "text", "level": "text", "state": "text", "cause": "text",
        "remedy": "text",
    });
    assert_shape(&json!(objects), &json!([finding]));
    let counts = json!({
        "event": "text", "ok": "count", "warnings": "count", "problems": "count", "version": "text",
        "exit_status": "count",
    });
    assert_shape(&summary, &counts);
    objects
}

/// What people see of the eight hosts: one line for what is alike everywhere, without what is measured.
fn check_page(output: &Output) {
    let shown = text(&output.stdout);
    let names = ["open files", "processes", "process ids", "waiting connections", "tracing", "performance counters"];
    let rest = ["cache", "temporary files", "sensors", "version"];
    let alike = names.iter().chain(&rest).map(|name| format!("h[1-8],localhost: {name}: "));
    let of_hosts = ["reached", "networks", "clock"].map(|name| format!("h[1-8]: {name}: "));
    let expected: Vec<String> = alike.chain(of_hosts).collect();
    let line = |line: &str| {
        let (level, rest) = line.split_once(char::is_whitespace)?;
        let is_level = ["ok", "warning", "problem"].contains(&level);
        let found = expected.iter().find(|start| rest.trim_start().starts_with(&***start));
        found.filter(|_| is_level).cloned()
    };
    assert_eq!(shown.lines().filter_map(line).collect::<Vec<_>>(), expected, "{shown}");
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_doctor_looks_at_each_host_and_names_those_it_cannot_reach() {
    let output = by_ssh(&["doctor", "--json", "--host-timeout", "20s", "-w", "h[1-8],no-such-host"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let findings = findings(&output);
    for host in &eight() {
        // All hosts are this machine, and have its time.
        for name in ["reached", "networks", "clock"] {
            assert_eq!(level(&findings, host, name), "ok", "{name} of {host}");
        }
        assert!(findings.iter().any(|finding| finding["host"] == **host && finding["name"] == "cache"));
    }
    assert_eq!(level(&findings, "no-such-host", "reached"), "problem");
    check_page(&by_ssh(&["doctor", "-w", "h[1-8]"]));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_doctor_says_when_the_key_of_a_host_is_not_known() {
    let nobody = "--ssh-arg=-oUserKnownHostsFile=/dev/null";
    let config = format!("--ssh-arg=-F{}", file("ssh_config"));
    let output = banyan(&["doctor", "--json", "-w", "h1", &config, nobody]);
    let findings = objects(&output);
    assert_eq!(level(&findings, "h1", "reached"), "problem");
    assert_eq!(level(&findings, "h1", "ssh host key"), "problem");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_doctor_looks_at_each_node_and_at_slurm() {
    let output = by_slurm(&["doctor", "--json", "-w", "h[1-8]"]);
    let findings = findings(&output);
    for host in &eight() {
        for name in ["reached", "networks", "clock"] {
            assert_eq!(level(&findings, host, name), "ok", "{name} of {host}");
        }
    }
    let slurm = findings.iter().find(|finding| finding["name"] == "Slurm").expect("a finding");
    assert_eq!((&slurm["level"], &slurm["state"]), (&"ok".into(), &"partitions debug".into()));
    check_page(&by_slurm(&["doctor", "-w", "h[1-8]"]));
}
