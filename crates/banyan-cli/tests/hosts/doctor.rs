//! `banyan doctor` on hosts: what it finds out about each, and about Slurm.

use serde_json::Value;

use crate::{banyan, by_slurm, by_ssh, check_shape, eight, file, objects, text};

/// What a finding says of a host.
fn level<'f>(findings: &'f [Value], host: &str, name: &str) -> &'f str {
    let found = findings.iter().find(|finding| finding["host"] == host && finding["name"] == name);
    found.and_then(|finding| finding["level"].as_str()).unwrap_or_else(|| panic!("{name} of {host}: {findings:#?}"))
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_doctor_looks_at_each_host_and_names_those_it_cannot_reach() {
    let output = by_ssh(&["doctor", "--json", "--host-timeout", "20s", "-w", "h[1-8],no-such-host"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let findings = objects(&output);
    for host in &eight() {
        // All hosts are this machine, and have its time.
        for name in ["reached", "clock"] {
            assert_eq!(level(&findings, host, name), "ok", "{name} of {host}");
        }
        assert!(findings.iter().any(|finding| finding["host"] == **host && finding["name"] == "cache"));
    }
    assert_eq!(level(&findings, "no-such-host", "reached"), "problem");
    let output = by_ssh(&["doctor", "-w", "h[1-8]"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("ok       h[1-8]: reached: yes\n"), "hosts that are alike are one line: {shown}");
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
    let findings = objects(&output);
    let shape = ["event", "host", "name", "level", "state", "cause", "remedy"].map(|name| (name, "text"));
    findings.iter().filter(|finding| finding["name"] == "clock").for_each(|finding| check_shape(finding, &shape));
    for host in &eight() {
        for name in ["reached", "clock"] {
            assert_eq!(level(&findings, host, name), "ok", "{name} of {host}");
        }
    }
    let slurm = findings.iter().find(|finding| finding["name"] == "Slurm").expect("a finding");
    assert_eq!((&slurm["level"], &slurm["state"]), (&"ok".into(), &"partitions debug".into()));
}
