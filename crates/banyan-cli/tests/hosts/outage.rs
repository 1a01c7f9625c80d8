//! Hosts that the network does not reach for some time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::{cluster, command_by_ssh, text};

/// A host that hears nothing from outside, until this is dropped.
struct Outage(String);

impl Outage {
    fn of(host: &str) -> Outage {
        let outage = Outage(format!("--net=/run/netns/{}-{host}", cluster()));
        outage.nft("table inet outage { chain in { type filter hook input priority 0; policy drop; }; }");
        outage
    }

    fn nft(&self, what: &str) {
        let done = Command::new("nsenter").args([&self.0, "nft", what]).status().expect("a part of util-linux");
        assert!(done.success(), "nft {what}");
    }
}

impl Drop for Outage {
    fn drop(&mut self) {
        self.nft("delete table inet outage");
    }
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_a_command_survives_some_seconds_without_network() {
    let mut command = command_by_ssh(&["run", "-w", "h[1-2]", "--", "sh", "-c", "echo begun; read line; echo $line"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("built");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let mut begun: Vec<String> = lines.by_ref().take(2).collect();
    begun.sort();
    assert_eq!(begun, ["0 h1: begun", "1 h2: begun"]);
    let outage = Outage::of("h2");
    // Longer than a library's session waits, much shorter than the command does.
    std::thread::park_timeout(Duration::from_secs(6));
    drop(outage);
    child.stdin.take().expect("a pipe").write_all(b"done\n").expect("it reads");
    let mut done: Vec<String> = lines.collect();
    done.sort();
    let output = child.wait_with_output().expect("our child");
    assert_eq!(done, ["0 h1: done", "1 h2: done"], "{}", text(&output.stderr));
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_a_host_that_is_silent_for_too_long_is_lost_and_the_network_may_be_the_cause() {
    let mut command =
        command_by_ssh(&["run", "-w", "h1", "--silence", "2s", "--", "sh", "-c", "echo begun; read line"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("built");
    let begun = BufReader::new(child.stdout.take().expect("a pipe")).lines().next();
    assert!(begun.is_some_and(|line| line.is_ok_and(|line| line == "0 h1: begun")));
    let outage = Outage::of("h1");
    let output = child.wait_with_output().expect("our child");
    drop(outage);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for part in ["host h1: its agent was lost: nothing was heard", "network", "longer silence"] {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
}
