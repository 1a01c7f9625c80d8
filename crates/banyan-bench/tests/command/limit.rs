//! `--timeout` of a bench.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing here takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Limits of more and more seconds: a busy machine may not come far enough within the first.
const LIMITS: [u64; 4] = [2, 6, 20, 60];

/// Waits until something is so.
fn wait_until(what: &str, is: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < end, "{what}: never");
        thread::park_timeout(Duration::from_millis(2));
    }
}

#[test]
fn a_limit_ends_the_processes_of_a_bench() {
    let mark = format!("BANYAN_TEST_LIMIT={}", std::process::id());
    let (name, value) = mark.split_once('=').expect("a name and a value");
    let marked = || {
        let processes =
            fs::read_dir("/proc").expect("Linux").filter_map(|entry| Some(entry.ok()?.path().join("environ")));
        let has_it = |environment: &Vec<u8>| environment.split(|byte| *byte == 0).any(|word| word == mark.as_bytes());
        processes.filter_map(|path| fs::read(path).ok()).filter(has_it).count()
    };
    let is_cut_while_it_runs = |seconds: u64| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_banyan-bench"));
        let limit = format!("{seconds}s");
        command.args(["tree", "--op", "round_trip", "--shape", "2x4", "--timeout", &limit]).env(name, value);
        let mut bench = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command was built");
        let mut has_run = false;
        while bench.try_wait().expect("it is ours").is_none() {
            has_run |= marked() > 5;
            thread::park_timeout(Duration::from_millis(20));
        }
        assert_eq!(bench.wait().expect("it has ended").code(), Some(4));
        wait_until("all of them have ended", || marked() == 0);
        has_run
    };
    assert!(LIMITS.into_iter().any(is_cut_while_it_runs), "no process of a tree was seen");
}
