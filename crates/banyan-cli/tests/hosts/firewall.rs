//! Hosts behind firewalls that let nothing pass but ssh: networks go through that.

use std::process::{Command, Output};

use serde_json::Value;

use crate::job::{Job, ranks_program};
use crate::{by_ssh, cluster, eight, objects, shared, text};

/// Hosts that are reached by ssh and by nothing else, and reach nobody, until this is dropped.
struct Firewall(Vec<String>);

impl Firewall {
    fn around(hosts: &[&str]) -> Firewall {
        let namespaces = hosts.iter().map(|host| format!("--net=/run/netns/{}-{host}", cluster()));
        let firewall = Firewall(namespaces.collect());
        let chain = |hook: &str, accepted: &str| {
            format!("chain {hook} {{ type filter hook {hook} priority 0; policy drop; {accepted} }}")
        };
        let input = chain("input", "iif lo accept; tcp dport 22 accept;");
        let output = chain("output", "oif lo accept; tcp sport 22 accept;");
        firewall.nft(&format!("table inet firewall {{ {input}; {output}; }}"));
        firewall
    }

    fn nft(&self, what: &str) {
        for namespace in &self.0 {
            let done = Command::new("nsenter").args([namespace, "nft", what]).status().expect("a part of util-linux");
            assert!(done.success(), "nft {what}");
        }
    }
}

impl Drop for Firewall {
    fn drop(&mut self) {
        self.nft("delete table inet firewall");
    }
}

fn json(output: &Output) -> Value {
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{value}");
    value
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_top_and_stack_show_hosts_that_let_nothing_but_ssh_pass() {
    let _firewall = Firewall::around(&["h1", "h2", "h3"]);
    // One host that can be reached in any way is among them.
    let top = json(&by_ssh(&["top", "-w", "h[1-4]", "--once", "--json", "--timeout", "30s"]));
    let rows = top["rows"].as_array().expect("rows");
    assert_eq!((rows.len(), &top["silent"]), (4, &Value::Array(Vec::new())), "{top}");
    let place = shared();
    let program = ranks_program(place.path());
    let hosts: Vec<String> = eight().into_iter().take(3).collect();
    let _job = Job::over_ssh(&program, &hosts, 1);
    let program = format!("^{}", program.display());
    let stack = json(&by_ssh(&["stack", "-w", "h[1-3]", "--match", &program, "--json", "--timeout", "30s"]));
    let processes = stack["processes"].as_array().expect("a list");
    let mut found: Vec<&str> = processes.iter().filter_map(|process| process["host"].as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, hosts, "{stack}");
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_doctor_says_which_way_networks_take() {
    let _firewall = Firewall::around(&["h2"]);
    let output = by_ssh(&["doctor", "--json", "-w", "h[1-2]"]);
    let findings = objects(&output);
    let of = |host: &str| {
        let found = findings.iter().find(|finding| finding["host"] == host && finding["name"] == "networks");
        found.unwrap_or_else(|| panic!("{findings:#?}"))
    };
    assert_eq!((&of("h1")["level"], &of("h1")["state"]), (&"ok".into(), &"by TCP".into()));
    assert_eq!((&of("h2")["level"], &of("h2")["state"]), (&"warning".into(), &"through ssh".into()));
    let cause = of("h2")["cause"].as_str().expect("text");
    assert!(cause.contains("it cannot connect to this machine (10.213.") && cause.contains("timed out"), "{cause}");
    assert!(of("h2")["remedy"].as_str().is_some_and(|remedy| remedy.contains("by TCP")));
    assert_eq!(output.status.code(), Some(1), "a warning");
}
