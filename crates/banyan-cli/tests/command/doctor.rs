//! `doctor`: what it finds on this machine, and on hosts that this machine acts out.

use serde_json::Value;

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
    for name in ["open files", "processes", "tracing", "cache", "temporary files", "configuration", "ssh client"] {
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
