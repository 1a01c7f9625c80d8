//! The command on test hosts, over ssh and through Slurm, as people use it.
//!
//! ```text
//! cargo xtask hosts up 8 --slurm --name NAME
//! BANYAN_TEST_CLUSTER=NAME cargo test -p banyan-cli --test hosts -- --ignored --test-threads=1
//! ```
//!
//! `cargo xtask test --only sessions` makes the hosts, runs these tests and removes the hosts.

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

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn findings(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
}

/// What a finding says of a host.
fn level<'f>(findings: &'f [Value], host: &str, name: &str) -> &'f str {
    let found = findings.iter().find(|finding| finding["host"] == host && finding["name"] == name);
    found.and_then(|finding| finding["level"].as_str()).unwrap_or_else(|| panic!("{name} of {host}: {findings:#?}"))
}

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
fn over_ssh_doctor_looks_at_each_host_and_names_those_it_cannot_reach() {
    let output = by_ssh(&["doctor", "--json", "--host-timeout", "20s", "-w", "h[1-3],no-such-host"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let findings = findings(&output);
    for host in ["h1", "h2", "h3"] {
        // All hosts are this machine, and have its time.
        for name in ["reached", "clock"] {
            assert_eq!(level(&findings, host, name), "ok", "{name} of {host}");
        }
        assert!(findings.iter().any(|finding| finding["host"] == host && finding["name"] == "cache"));
    }
    assert_eq!(level(&findings, "no-such-host", "reached"), "problem");
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_doctor_says_when_the_key_of_a_host_is_not_known() {
    let nobody = "--ssh-arg=-oUserKnownHostsFile=/dev/null";
    let config = format!("--ssh-arg=-F{}", file("ssh_config"));
    let output = banyan(&["doctor", "--json", "-w", "h1", &config, nobody]);
    let findings = findings(&output);
    assert_eq!(level(&findings, "h1", "reached"), "problem");
    assert_eq!(level(&findings, "h1", "ssh host key"), "problem");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_a_partition_is_a_group() {
    let output = banyan(&["run", "--launcher", "slurm", "-w", "@slurm:debug!h[5-8]", "-b", "--", "echo", "alike"]);
    assert_eq!(text(&output.stdout), "=== h[1-4] (4 of 4)\nalike\n", "{}", text(&output.stderr));
    let output = banyan(&["doctor", "--json"]);
    let findings = findings(&output);
    let slurm = findings.iter().find(|finding| finding["name"] == "Slurm").expect("a finding");
    assert_eq!((&slurm["level"], &slurm["state"]), (&"ok".into(), &"partitions debug".into()));
}

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

/// The names in the rows of a look at hosts, sorted, if everyone has told everything.
fn watched(output: &Output) -> Vec<String> {
    let object: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!((&object["silent"], output.status.code()), (&Value::Array(Vec::new()), Some(0)));
    let rows = object["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["cpu"].is_number() && row["memory"].is_number()), "{object}");
    let mut names: Vec<String> = rows.iter().map(|row| row["host"].as_str().expect("a name").to_owned()).collect();
    names.sort();
    names
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_top_shows_every_host_and_names_those_that_cannot_be_reached() {
    let eight: Vec<String> = (1..=8).map(|number| format!("h{number}")).collect();
    assert_eq!(watched(&by_ssh(&["top", "-w", "h[1-8]", "--once", "--json"])), eight);
    let output = by_ssh(&["top", "-w", "h[1-2],no-such-host", "--min-hosts", "2", "--once", "--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!((&object["hosts"], &object["silent"][0]), (&2.into(), &"no-such-host".into()));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_top_shows_every_node() {
    let output = banyan(&["top", "--launcher", "slurm", "-w", "h[1-4]", "--once", "--json"]);
    assert_eq!(watched(&output), ["h1", "h2", "h3", "h4"]);
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
