//! Signals that end a command in the middle of what it writes, and what it says on the terminal meanwhile.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
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
