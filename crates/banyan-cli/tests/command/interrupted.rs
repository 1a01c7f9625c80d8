//! Signals that end a command in the middle of what it writes, and what it says on the terminal meanwhile.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::workshop::{Workshop, json_lines};

/// Nothing here takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A conversion whose input does not end, once it has begun to write.
fn conversion(shop: &Workshop) -> (Child, ChildStdin) {
    // Signals that are ignored here, as under `nohup`, would be there, too.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_banyan")]);
    command.args(["records", "convert", "-", "out.bny", "--from", "jsonl", "--schema", "reading.json"]);
    let mut child = command.current_dir(shop.path("")).stdin(Stdio::piped()).spawn().expect("the command was built");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(&shop.read("readings.jsonl")).expect("it listens");
    let end = Instant::now() + PATIENCE;
    while !shop.files().iter().any(|name| name.ends_with(".unfinished")) {
        assert!(Instant::now() < end, "it never wrote anything");
        thread::park_timeout(Duration::from_millis(2));
    }
    (child, input)
}

/// How it ended, in time.
fn ended(child: &mut Child) -> ExitStatus {
    let end = Instant::now() + PATIENCE;
    loop {
        match child.try_wait().expect("it is ours") {
            Some(status) => return status,
            None if Instant::now() < end => thread::park_timeout(Duration::from_millis(2)),
            None => panic!("it goes on: {:?}", child.kill()),
        }
    }
}

#[test]
fn a_signal_leaves_no_unfinished_file_and_ends_the_command() {
    let shop = Workshop::with_readings(100);
    let files = shop.files();
    for (name, number) in [("HUP", 1), ("INT", 2), ("TERM", 15)] {
        let (mut child, _input) = conversion(&shop);
        let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "it runs");
        assert_eq!(ended(&mut child).signal(), Some(number));
        assert_eq!(shop.files(), files, "nothing was left behind");
    }
}

#[test]
fn what_prints_on_and_on_ends_by_a_signal_as_shells_expect() {
    for (name, number) in [("INT", 2), ("TERM", 15)] {
        let mut command = Command::new("env");
        command.args([
            "--default-signal=INT,TERM",
            env!("CARGO_BIN_EXE_banyan"),
            "top",
            "--json",
            "--interval",
            "100ms",
        ]);
        command.env("BANYAN_CONFIG", "").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command was built");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("text");
        let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "it runs");
        let status = ended(&mut child);
        // A shell says the same of both.
        assert!(status.code() == Some(128 + number) || status.signal() == Some(number), "{status}: {line}");
    }
}

#[test]
fn a_signal_during_a_launch_ends_with_an_object_and_leaves_nothing() {
    let shop = Workshop::new();
    // A stand-in for ssh that says when it was started, and never answers.
    shop.write("ssh", "#!/bin/sh\necho >started\nexec cat >/dev/null\n");
    shop.shell("chmod +x ssh; mkfifo started");
    let files = shop.files();
    let path = format!("{}:{}", shop.path("").display(), std::env::var("PATH").unwrap_or_default());
    for words in [&["run", "--", "true"][..], &["copy", "ssh", "there"], &["copy", "--gather", "ssh", "here"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
        command
            .arg(words[0])
            .args(["--json", "--launcher", "ssh", "-w", "a", "--host-timeout", "1h"])
            .args(&words[1..]);
        command.current_dir(shop.path("")).env("PATH", &path).env("BANYAN_CONFIG", "").stdin(Stdio::null());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command was built");
        shop.read("started");
        let sent = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "it runs");
        let ended = child.wait_with_output().expect("it ends");
        let objects = json_lines(&String::from_utf8_lossy(&ended.stdout));
        let last = objects.last().expect("the end is told");
        assert_eq!(last["exit_status"], 143, "{words:?}");
        if words[0] == "run" {
            assert_eq!(last["error"], "interrupted while it launched; what was started ends with it");
            assert_eq!(objects.len(), 1);
        } else {
            // A copy goes on with the hosts that are there, so it ends with its summary.
            assert_eq!((&last["event"], &last["interrupted"]), (&json!("summary"), &json!(true)), "{words:?}");
        }
        if words.contains(&"--gather") {
            assert_eq!((&objects[0]["host"], &objects[0]["failed"]), (&json!("a"), &json!(true)));
            assert_eq!(last["failed_hosts"], json!(["a"]));
        }
        assert_eq!(ended.status.code(), Some(143));
        assert_eq!(shop.files(), files, "nothing was left behind");
    }
}

/// The process below this one whose last word this is.
fn process_below(process: u32, word: &str) -> Option<u32> {
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let parent = |pid: u32| stat(pid).rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok();
    let is_below = |pid: &u32| std::iter::successors(Some(*pid), |pid| parent(*pid)).any(|above| above == process);
    let ending = format!("\0{word}\0");
    let is_it =
        |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.ends_with(ending.as_bytes()));
    let all = std::fs::read_dir("/proc").expect("/proc");
    all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(is_it).find(is_below)
}

/// Starts a command, and ends it when a member of it runs: every process of it has its standard error, so the end of that is
/// the end of the last one.
fn ends_with_all_it_started(words: &[&str], member: &str, end: impl FnOnce(&mut Child)) {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_banyan")]).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command was built");
    let begin = Instant::now();
    while process_below(child.id(), member).is_none() {
        assert!(begin.elapsed() < PATIENCE, "{words:?} has started no member");
        thread::park_timeout(Duration::from_millis(2));
    }
    let mut errors = child.stderr.take().expect("a pipe");
    end(&mut child);
    let (ended_all, all_ended) = mpsc::channel();
    thread::spawn(move || ended_all.send(errors.read_to_end(&mut Vec::new()).is_ok()));
    assert_eq!(all_ended.recv_timeout(SILENCE / 2), Ok(true), "a process of {words:?} is still there");
    ended(&mut child);
}

/// After so long agents give up a front-end of whom they hear nothing: whoever waits for that did not see the front-end's end.
const SILENCE: Duration = Duration::from_secs(20);

#[test]
fn whatever_ends_a_command_that_watches_hosts_ends_all_it_started_at_once() {
    let seen = Command::new("sleep").arg("3600.19").spawn().expect("sleep");
    let mut seen = Seen(seen);
    let top = ["top", "--json", "--every", "100ms", "-w", "left,right", "--launcher", "local"];
    let stack = ["stack", "--json", "--samples", "1000000", "--every", "50ms", "--match", "^sleep 3600.19$"];
    let stack = [&stack[..], &["-w", "left,right", "--launcher", "local"]].concat();
    for (words, member) in [(&top[..], "top-member"), (&stack, "--member")] {
        for name in ["INT", "TERM", "HUP", "KILL"] {
            ends_with_all_it_started(words, member, |child| {
                let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
                assert!(sent.is_ok_and(|status| status.success()), "it runs");
            });
        }
    }
    ends_with_all_it_started(&top, "top-member", |child| drop(child.stdout.take()));
    assert!(seen.0.try_wait().expect("it is ours").is_none());
}

/// What is looked at, which ends with the test.
struct Seen(Child);

impl Drop for Seen {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
