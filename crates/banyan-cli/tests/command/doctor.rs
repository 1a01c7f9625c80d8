//! `doctor`: what it finds on this machine, and on hosts that this machine acts out.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::shape::assert_shape;
use crate::shown::assert_shown;
use crate::workshop::Workshop;

fn findings(shop: &Workshop, arguments: &[&str]) -> (Vec<Value>, Value, i32) {
    let ran = shop.run(&[&["doctor", "--json"], arguments].concat());
    let mut objects = ran.json();
    let summary = objects.pop().expect("a summary");
    (objects, summary, ran.status)
}

#[test]
fn every_finding_says_how_it_is_and_what_is_wrong_has_cause_and_remedy() {
    let (findings, summary, status) = findings(&Workshop::new(), &[]);
    let finding = json!({
        "event": "text", "host": "text", "name": "text", "level": "text", "state": "text", "cause": "text",
        "remedy": "text",
    });
    assert_shape(&json!(findings), &json!([finding]));
    assert_shape(
        &summary,
        &json!({
            "event": "text", "ok": "count", "warnings": "count", "problems": "count", "version": "text",
            "exit_status": "count",
        }),
    );
    for finding in &findings {
        let text = |name: &str| finding[name].as_str().unwrap_or_else(|| panic!("{name} is missing in {finding}"));
        assert_eq!((text("event"), text("host")), ("finding", "localhost"));
        assert!(!text("name").is_empty() && !text("state").is_empty(), "{finding}");
        let well = text("level") == "ok";
        assert!(well || ["warning", "problem"].contains(&text("level")), "{finding}");
        assert_eq!((text("cause").is_empty(), text("remedy").is_empty()), (well, well), "{finding}");
    }
    let count = |level: &str| findings.iter().filter(|finding| finding["level"] == level).count();
    assert_eq!(
        (&summary["ok"], &summary["warnings"], &summary["problems"]),
        (&count("ok").into(), &count("warning").into(), &count("problem").into())
    );
    assert_eq!(status, i32::from(count("ok") < findings.len()));
    assert_eq!((summary["event"].as_str(), summary["exit_status"].as_i64()), (Some("summary"), Some(status.into())));
    for name in
        ["open files", "processes", "tracing", "cache", "temporary files", "sensors", "configuration", "ssh client"]
    {
        assert!(findings.iter().any(|finding| finding["name"] == name), "{name}");
    }
}

#[test]
fn hosts_are_reached_and_asked_for_facts_and_time() {
    let (findings, ..) = findings(&Workshop::new(), &["-w", "n[1-3]", "--launcher", "local"]);
    let of = |host: &str, name: &str| {
        let found = findings.iter().find(|finding| finding["host"] == host && finding["name"] == name);
        found.unwrap_or_else(|| panic!("{name} on {host}: {findings:#?}")).clone()
    };
    for host in ["n1", "n2", "n3"] {
        assert_eq!((&of(host, "reached")["level"], &of(host, "reached")["state"]), (&"ok".into(), &"yes".into()));
        // The same machine has the same time.
        assert_eq!(of(host, "clock")["level"], "ok");
        assert_eq!(of(host, "open files")["state"], of("localhost", "open files")["state"]);
    }
}

#[test]
fn people_see_what_is_the_same_on_several_hosts_once() {
    let ran = Workshop::new().run(&["doctor", "-w", "n[1-3]", "--launcher", "local"]);
    assert!(ran.out.contains("ok       n[1-3]: reached: yes\n"), "{}", ran.out);
}

#[test]
fn a_host_that_cannot_be_reached_has_a_status_of_its_own() {
    let arguments = ["-w", "n1", "--launcher", "command:false {hosts} {agent}", "--host-timeout", "2s"];
    let (findings, summary, status) = findings(&Workshop::new(), &arguments);
    let reached = findings.iter().find(|finding| finding["name"] == "reached").expect("a finding");
    assert_eq!((&reached["level"], status, &summary["exit_status"]), (&"problem".into(), 3, &3.into()));
    assert!(reached["cause"].as_str().is_some_and(|cause| !cause.is_empty()), "{reached}");
}

#[test]
fn a_directory_for_temporary_files_that_is_not_there_is_a_finding() {
    let shop = Workshop::new();
    let ran = shop.shell("TMPDIR=\"$PWD/missing\" banyan doctor --json");
    let findings = ran.json();
    let found = findings.iter().find(|finding| finding["name"] == "temporary files").expect("a finding");
    assert_eq!(found["level"], "warning", "{found}");
    assert!(found["state"].as_str().is_some_and(|state| state.ends_with("/missing cannot be written")), "{found}");
}

#[test]
fn the_key_of_a_host_is_judged_as_ssh_does_with_the_arguments_it_gets() {
    let shop = Workshop::new();
    fs::create_dir_all(shop.path("bin")).expect("room");
    let settings = "hostname n1\nport 22\nuserknownhostsfile /dev/null\nstricthostkeychecking";
    let key = |strict: &str| {
        program(
            &shop,
            "ssh",
            &format!("case \"$*\" in '-Fcfg -G -- n1') printf '{settings} {strict}\\n';; *) exit 1; esac"),
        );
        let ran = shop.shell("PATH=\"$PWD/bin:$PATH\" banyan doctor --json -w n1 --ssh-arg=-Fcfg --host-timeout 2s");
        ran.json().into_iter().find(|finding| finding["name"] == "ssh host key").expect("a finding")
    };
    for trusting in ["false", "accept-new"] {
        assert_eq!(key(trusting)["level"], "ok");
    }
    let asked = key("ask");
    assert_eq!((&asked["level"], &asked["remedy"]), (&"problem".into(), &"once by hand: ssh -Fcfg n1 true".into()));
}

#[test]
fn a_configuration_that_cannot_be_read_is_a_finding() {
    let shop = Workshop::new();
    for (text, says) in [("[grou\n", "config.toml, line 1"), ("[groups]\na = \"n[\"\n", "config.toml, line 2")] {
        shop.write("config.toml", text);
        let (findings, _, status) = findings(&shop, &[]);
        let found = findings.iter().find(|finding| finding["name"] == "configuration").expect("a finding");
        assert_eq!((&found["level"], status), (&"problem".into(), 1));
        assert!(found["cause"].as_str().is_some_and(|cause| cause.contains(says)), "{found}");
    }
}

/// What the kernel and those who set up the machine decide.
pub(crate) const DECIDED: [&str; 7] =
    ["open files", "processes", "process ids", "waiting connections", "tracing", "performance counters", "sensors"];

/// Runs `doctor` below a shell that has said this before; only `bin` has programs, and all directories lie below HERE.
/// Of findings that are decided elsewhere only the names are left.
fn seen_by_people(shop: &Workshop, before: &str, decided: &[&str]) -> (String, i32) {
    let ran = shop.shell(&format!(
        "unset XDG_CACHE_HOME; export HOME=\"$PWD\" TMPDIR=\"$PWD\"; {before}\nPATH=\"$PWD/bin\" '{}' doctor",
        env!("CARGO_BIN_EXE_banyan")
    ));
    assert_eq!(ran.err, "");
    let is_decided = |line: &str| {
        let (_, rest) = line.split_once(" localhost: ")?;
        decided.iter().find(|name| rest.starts_with(&format!("{name}: ")))
    };
    let (mut text, mut details) = (String::new(), true);
    for line in ran.out.lines() {
        if let Some(name) = is_decided(line) {
            (text, details) = (text + &format!("LEVEL    localhost: {name}: STATE\n"), false);
        } else if details || !line.starts_with(' ') {
            (text, details) = (text + line + "\n", true);
        }
    }
    let here = shop.path("").display().to_string();
    let text = text.replace(here.trim_end_matches('/'), "HERE").replace(env!("CARGO_PKG_VERSION"), "VERSION");
    (["TiB", "MiB"].iter().fold(text, |text, unit| text.replace(&format!(" {unit} free"), " GiB free")), ran.status)
}

pub(crate) fn program(shop: &Workshop, name: &str, content: &str) {
    let name = format!("bin/{name}");
    shop.write(&name, format!("#!/bin/sh\n{content}\n"));
    fs::set_permissions(shop.path(&name), fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[test]
fn people_see_a_machine_that_is_well_in_a_line_for_each_thing() {
    let shop = Workshop::new();
    fs::create_dir_all(shop.path("bin")).expect("room");
    program(&shop, "ssh", "echo 'OpenSSH_9.2p1, OpenSSL 3.0.19' >&2");
    program(&shop, "ssh-add", "echo '256 SHA256:abc key (ED25519)'");
    program(&shop, "sinfo", "echo debug; echo long");
    shop.write("config.toml", "[groups]\ngpu = \"g[1-4]\"\nio = \"n[1-2]\"\n");
    let (text, _) = seen_by_people(&shop, "", &DECIDED);
    assert_shown(
        &text,
        "\
LEVEL    localhost: open files: STATE
LEVEL    localhost: processes: STATE
LEVEL    localhost: process ids: STATE
LEVEL    localhost: waiting connections: STATE
LEVEL    localhost: tracing: STATE
LEVEL    localhost: performance counters: STATE
ok       localhost: cache: HERE/.cache/banyan, # GiB free
ok       localhost: temporary files: HERE, # GiB free
LEVEL    localhost: sensors: STATE
ok       localhost: version: VERSION, not in PATH; sessions bring it along
ok       localhost: configuration: 2 groups in config.toml
ok       localhost: ssh client: OpenSSH_9.2p1, OpenSSL 3.0.19
ok       localhost: ssh keys: 1 in the agent
ok       localhost: Slurm: partitions debug, long
",
    );
}

#[test]
fn people_see_of_everything_that_is_not_well_the_cause_and_the_remedy() {
    let shop = Workshop::new();
    fs::create_dir_all(shop.path("bin")).expect("room");
    program(&shop, "banyan", "echo 'banyan 0.0.1'");
    program(&shop, "ssh", "echo 'OpenSSH_9.2p1, OpenSSL 3.0.19' >&2");
    program(&shop, "sinfo", "echo 'sinfo: fatal: no controller' >&2; exit 1");
    shop.write("config.toml", "[grou\n");
    let (text, status) = seen_by_people(&shop, "ulimit -n 1024; unset HOME", &DECIDED[1..]);
    assert_eq!(status, 1);
    assert_shown(
        &text,
        "\
warning  localhost: open files: 1024
         cause: a member takes about four descriptors of its agent: a thousand members on a host will not start
         remedy: as root: echo '* - nofile 4096' > /etc/security/limits.d/banyan.conf, and log in anew
LEVEL    localhost: processes: STATE
LEVEL    localhost: process ids: STATE
LEVEL    localhost: waiting connections: STATE
LEVEL    localhost: tracing: STATE
LEVEL    localhost: performance counters: STATE
problem  localhost: cache: none
         cause: neither XDG_CACHE_HOME nor HOME is set: the agent program and staged files have no place
         remedy: export XDG_CACHE_HOME=/some/directory
ok       localhost: temporary files: HERE, # GiB free
LEVEL    localhost: sensors: STATE
warning  localhost: version: 0.0.1 in PATH
         cause: this is VERSION: sessions bring their own program, but people get another there
         remedy: install the same version
problem  localhost: configuration: cannot be read
         cause: config.toml, line 1: unclosed table, expected `]`; the file is TOML, as in: gpu = \"node[1-8]\"
         remedy: repair the line, or set BANYAN_CONFIG= to go without
ok       localhost: ssh client: OpenSSH_9.2p1, OpenSSL 3.0.19
warning  localhost: ssh keys: none in an agent, none in ~/.ssh
         cause: hosts that want a key will refuse, unless ssh's configuration names one: nothing may ask for a password
         remedy: ssh-keygen -t ed25519, then ssh-copy-id HOST; or start an agent: eval $(ssh-agent); ssh-add
warning  localhost: Slurm: its commands are here, its controller does not answer
         cause: sinfo failed (exit status: 1): sinfo: fatal: no controller
         remedy: if this machine belongs to a cluster: scontrol ping, and look at SLURM_CONF
",
    );
}

/// The findings and the status of `doctor` below a shell that has said this before; programs of `bin` come first.
fn told(shop: &Workshop, before: &str, arguments: &str) -> (Vec<Value>, i32) {
    let ran = shop.shell(&format!("{before}\nPATH=\"$PWD/bin:$PATH\" banyan doctor --json {arguments}"));
    (ran.json(), ran.status)
}

fn find<'f>(findings: &'f [Value], host: &str, name: &str) -> Option<&'f Value> {
    findings.iter().find(|finding| finding["host"] == host && finding["name"] == name)
}

#[test]
fn the_time_limit_holds_for_this_machine_and_is_a_finding() {
    let shop = Workshop::new();
    fs::create_dir_all(shop.path("bin")).expect("room");
    // It would take minutes.
    program(&shop, "ssh", "exec sleep 300");
    let (findings, status) = told(&shop, "", "-w n[1-2] --launcher ssh --timeout 5s");
    assert_eq!(status, 4, "{findings:#?}");
    assert!(find(&findings, "localhost", "open files").is_some(), "what was found is told: {findings:#?}");
    let client = find(&findings, "localhost", "ssh client").expect("a finding");
    assert!(client["cause"].as_str().is_some_and(|cause| cause.starts_with("no answer in ")), "{client}");
    let limit = find(&findings, "localhost", "time limit").expect("a finding");
    assert_eq!((&limit["level"], &limit["state"]), (&"problem".into(), &"5 s have passed".into()));
    let n2 = find(&findings, "n2", "reached").expect("a finding");
    assert_eq!((&n2["state"], &n2["cause"]), (&"without an answer".into(), &"the time of --timeout has passed".into()));
}

#[test]
fn a_launch_that_takes_too_long_does_not_lose_what_was_found_here() {
    let shop = Workshop::new();
    fs::create_dir_all(shop.path("bin")).expect("room");
    program(&shop, "slow", "exec sleep 300");
    let launcher = "--launcher 'command:slow {hosts} {agent}'";
    let (findings, status) = told(&shop, "", &format!("-w n1 {launcher} --host-timeout 300s --timeout 3s"));
    assert_eq!(status, 4, "{findings:#?}");
    assert!(find(&findings, "localhost", "open files").is_some(), "{findings:#?}");
    assert!(find(&findings, "localhost", "time limit").is_some(), "{findings:#?}");
    assert_eq!(find(&findings, "n1", "reached").map(|finding| &finding["level"]), Some(&"problem".into()));
}

#[test]
fn with_a_broken_configuration_it_is_said_that_hosts_were_not_looked_at() {
    let shop = Workshop::new();
    shop.write("config.toml", "[grou\n");
    let (findings, status) = told(&shop, "", "-w n1 --timeout 100s");
    let hosts = find(&findings, "localhost", "hosts").expect("a finding");
    assert_eq!((&hosts["level"], &hosts["state"], status), (&"problem".into(), &"not looked at".into(), 1));
    let (findings, _) = told(&shop, "unset SLURM_JOB_NODELIST", "");
    assert!(find(&findings, "localhost", "hosts").is_none(), "none was named: {findings:#?}");
}

#[test]
fn in_an_allocation_its_nodes_are_looked_at() {
    let shop = Workshop::new();
    fs::create_dir_all(shop.path("bin")).expect("room");
    let refuses = "echo 'error: no controller' >&2; exit 1";
    ["srun", "scontrol", "sinfo"].iter().for_each(|name| program(&shop, name, refuses));
    let before = "export SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2]";
    let (findings, status) = told(&shop, before, "--host-timeout 5s");
    assert_eq!(status, 3, "{findings:#?}");
    assert!(find(&findings, "localhost", "open files").is_some(), "{findings:#?}");
    for node in ["n1", "n2"] {
        let reached = find(&findings, node, "reached").expect("a finding");
        assert!(reached["cause"].as_str().is_some_and(|cause| cause.contains("no controller")), "{reached}");
    }
}
