//! Verbs where some hosts do not answer, or cannot start others.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::job::{Job, ranks_program, until};
use crate::pseudo_terminal::PseudoTerminal;
use crate::{banyan, by_ssh, command_by_ssh, file, objects, shared, text};

/// A host that answers nothing.
const DEAD: &str = "h12";

/// Those, one that refuses the key and one that accepts the connection and says nothing.
const BAD: [&str; 3] = ["h9", "h10", DEAD];

/// Starts a command that waits for hosts, with both outputs in pipes.
fn start(words: &[&str]) -> Child {
    command_by_ssh(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("built")
}

/// Interrupts a command that runs, as ^C does.
fn interrupted(child: Child) -> Output {
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "it runs");
    child.wait_with_output().expect("our child")
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_living_hosts_run_while_others_are_awaited_and_an_interrupt_names_these() {
    // Nobody waits for an hour: the others run at once, and an interrupt ends the waiting.
    let words =
        ["run", "-w", &format!("{DEAD},h[1-2]"), "--host-timeout", "1h", "--", "sh", "-c", "echo here; sleep 2"];
    let mut child = start(&words);
    let output = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let mut lines: Vec<String> = output.take(2).collect();
    lines.sort();
    assert_eq!(lines, ["1 h1: here", "2 h2: here"]);
    std::thread::park_timeout(Duration::from_secs(2));
    let output = interrupted(child);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains(&format!("banyan: {DEAD} has not answered yet\n")), "{said}");
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_hosts_that_cannot_be_reached_are_told_together_and_give_status_3() {
    // In a chain, those below the dead one are started by the front-end.
    let hosts = format!("{DEAD},h1,no-such-host,h[9,13],h2");
    let output = by_ssh(&["run", "-w", &hosts, "--fanout", "1", "--host-timeout", "3s", "-b", "--", "echo", "alike"]);
    let said = text(&output.stderr);
    assert_eq!(text(&output.stdout), "=== h[1-2] (2 of 2)\nalike\n", "{said}");
    assert_eq!(output.status.code(), Some(3), "{said}");
    let parts = [
        "banyan: 4 hosts could not be reached\n",
        &format!("host {DEAD}: no agent answered within 3 s (member 0)"),
        "host no-such-host: ",
        "host h9: ",
        "host h13: ",
    ];
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
    let output = by_ssh(&["run", "-w", "no-such-host,h1", "--json", "--", "true"]);
    let objects = objects(&output);
    let (summary, events) = objects.split_last().expect("a summary");
    let kinds: Vec<_> = events.iter().map(|event| (event["event"].as_str(), event["host"].as_str())).collect();
    assert!(kinds.contains(&(Some("problem"), Some("no-such-host"))) && kinds.contains(&(Some("exited"), Some("h1"))));
    assert!(!kinds.contains(&(Some("exited"), Some("no-such-host"))), "{kinds:?}");
    assert_eq!((&summary["succeeded"], &summary["left_out"][0]["host"]), (&1.into(), &"no-such-host".into()));
    assert_eq!((&summary["exit_status"], output.status.code()), (&3.into(), Some(3)));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_standard_input_reaches_hosts_that_come_late() {
    let hosts = format!("{DEAD},h[1-3]");
    let words = ["run", "-w", &hosts, "--fanout", "1", "--host-timeout", "3s", "-b", "--", "wc", "-c"];
    let mut command = command_by_ssh(&words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("built");
    child.stdin.take().expect("a pipe").write_all(&[b'x'; 100_000]).expect("it reads");
    let output = child.wait_with_output().expect("our child");
    assert_eq!(text(&output.stdout), "=== h[1-3] (3 of 3)\n100000\n", "{}", text(&output.stderr));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_all_or_nothing_and_shares_of_hosts_can_be_asked_for() {
    let place = shared();
    let touched = |least: &str| {
        let path = place.path().join(least.trim_end_matches('%')).display().to_string();
        let hosts = ["-w", "h[1-3],no-such-host", "--min-hosts", least, "--", "touch", &path];
        let output = by_ssh(&[&["run"], &hosts[..]].concat());
        (std::path::Path::new(&path).exists(), output.status.code(), text(&output.stderr))
    };
    let (exists, status, said) = touched("100%");
    assert_eq!((exists, status), (false, Some(3)), "{said}");
    assert!(said.contains("at least 4 hosts are needed"), "{said}");
    let (exists, status, said) = touched("75%");
    assert_eq!((exists, status), (true, Some(0)), "{said}");
    assert!(said.contains("banyan: 1 host left out\n  host no-such-host: "), "{said}");
    let (exists, status, said) = touched("most");
    assert_eq!((exists, status), (false, Some(2)), "{said}");
    assert!(said.contains("write a number of hosts such as 60, or a share of them such as 90%"), "{said}");
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_hosts_that_others_cannot_start_run_all_the_same() {
    // Hosts have temporary directories of their own.
    let place = tempfile::tempdir().expect("a directory");
    let config = place.path().join("ssh_config");
    std::fs::copy(file("ssh_config"), &config).expect("room");
    let argument = format!("--ssh-arg=-F{}", config.display());
    let output = banyan(&["run", &argument, "-w", "h[1-8]", "--fanout", "2", "-b", "--", "echo", "alike"]);
    let said = (text(&output.stdout), text(&output.stderr), output.status.code());
    assert_eq!(said, ("=== h[1-8] (8 of 8)\nalike\n".into(), String::new(), Some(0)));
    let output = banyan(&["top", &argument, "-w", "h[1-8]", "--fanout", "2", "--once", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_every_verb_does_its_work_on_living_hosts_and_tells_the_others_together() {
    let place = shared();
    let path = |name: &str| place.path().join(name).display().to_string();
    std::fs::write(path("file"), "content").expect("room");
    let program = ranks_program(place.path());
    let _job = Job::over_ssh(&program, &["h1", "h2"].map(String::from), 0);
    let (from, there, program) = (path("file"), path("{host}/"), program.display().to_string());
    let verbs: [(&str, &[&str], &str); 5] = [
        ("run", &["-b", "--", "echo", "alike"], "=== h[1-2] (2 of 2)\nalike\n"),
        ("copy", &[&from, &there], "on 2 of 5 hosts: 14 B delivered\n"),
        ("copy", &["--gather", &path("{host}/file"), &path("all")], "h[1-2]: 1 file, 7 B each: 7 B came\n"),
        ("top", &["--once", "--every", "200ms"], "banyan top  2 hosts"),
        ("stack", &["--match", &program], "2 processes on 2 hosts"),
    ];
    for (verb, rest, shown) in verbs {
        let hosts = format!("{},h[1-2]", BAD.join(","));
        let output = by_ssh(&[&[verb, "-w", &hosts, "--host-timeout", "3s"], rest].concat());
        let (out, said) = (text(&output.stdout), text(&output.stderr));
        assert!(out.contains(shown), "{verb}: {out}{said}");
        assert_eq!(output.status.code(), Some(3), "{verb}: {said}");
        assert!(said.contains("banyan: 3 hosts could not be reached\n"), "{verb}: {said}");
        for told in ["\n  host h9: no agent could be started", "\n  hosts h[10,12]: no agent answered within 3 s"] {
            assert_eq!(said.matches(told).count(), 1, "{verb}, {told}: {said}");
        }
        let output = by_ssh(&[&[verb, "-w", DEAD, "--host-timeout", "1s"], rest].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{verb}: {said}");
        assert!(said.starts_with("banyan: 1 of 1 hosts had problems"), "{verb}: {said}");
    }
    for host in ["h1", "h2"] {
        assert_eq!(std::fs::read(path(&format!("all/{host}/file"))).expect("a file"), b"content");
    }
    let left: Vec<_> = std::fs::read_dir(path("all")).expect("a directory").collect();
    assert_eq!(left.len(), 2, "hosts that were not reached have no directory: {left:?}");
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_files_reach_living_hosts_while_others_are_awaited() {
    let place = shared();
    let path = |name: &str| place.path().join(name).display().to_string();
    std::fs::write(path("file"), vec![b'x'; 3_000_000]).expect("room");
    // In a chain, the second host waits for the dead one, which is below it.
    let hosts = format!("h1,h2,{DEAD},h3");
    let child =
        start(&["copy", "-w", &hosts, "--fanout", "1", "--host-timeout", "1h", &path("file"), &path("{host}/")]);
    let is_there = |host: &str| Path::new(&path(&format!("{host}/file"))).exists();
    until(|| ["h1", "h2"].map(is_there), |are_there| *are_there == [true; 2]);
    // The second host names those that it waits for after a second.
    std::thread::park_timeout(Duration::from_secs(2));
    let output = interrupted(child);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("banyan: h[3,12] have not answered yet\n"), "{said}");
    // Those that come late get what the others have.
    let words =
        ["copy", "--json", "-w", &hosts, "--fanout", "1", "--host-timeout", "3s", &path("file"), &path("{host}/")];
    let objects = objects(&by_ssh(&words));
    let copied = objects.iter().find(|object| object["event"] == "copied").expect("a result");
    let amounts = ["delivered_bytes", "had_bytes", "hosts", "failed"].map(|name| copied[name].as_u64());
    assert_eq!(amounts, [3_000_000, 6_000_000, 3, 1].map(Some), "{copied}");
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_a_line_says_who_has_not_answered_and_so_does_an_interrupt() {
    let verbs: [(&str, &[&str]); 4] = [
        ("run", &["--", "true"]),
        ("copy", &["/etc/passwd", "copied"]),
        ("top", &[]),
        ("stack", &["--match", "nothing"]),
    ];
    for (verb, rest) in verbs {
        let hosts = ["-w", &format!("{DEAD},h1"), "--host-timeout", "1h"];
        let words = [&[verb], &hosts[..], rest].concat();
        let mut terminal = PseudoTerminal::start(&mut command_by_ssh(&words), 120, 30);
        terminal.wait_for(&format!("{DEAD} has not answered yet"));
        drop(terminal);
        let once: &[&str] = if verb == "top" { &["--once"] } else { rest };
        let child = start(&[&[verb], &hosts[..], once].concat());
        std::thread::park_timeout(Duration::from_secs(2));
        let output = interrupted(child);
        let said = text(&output.stderr);
        assert!(!output.status.success(), "{verb}: {said}");
        assert!(said.contains(&format!("banyan: {DEAD} has not answered yet\n")), "{verb}: {said}");
    }
}
