//! `--timeout` of verbs that reach no hosts.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::workshop::Workshop;

/// Nothing here takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so.
fn wait_until(what: &str, is: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < end, "{what}: never");
        thread::park_timeout(Duration::from_millis(2));
    }
}

#[test]
fn what_takes_too_long_ends_with_status_4() {
    let shop = Workshop::new();
    let ran = shop.run(&["sim", "--seeds", "100000000", "--timeout", "300ms"]);
    assert_eq!(ran.status, 4, "{}", ran.err);
    assert_eq!(ran.err, "banyan: not done within 0.3 s (--timeout); give it more time\n");
    let ran = shop.run(&["topo", "gen", "4x16", "--timeout", "60s"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
}

#[test]
fn a_limit_leaves_no_unfinished_file() {
    let shop = Workshop::with_readings(5000);
    let files = shop.files();
    // The input never ends.
    let line = "mkfifo in; exec 3<>in; cat readings.jsonl >&3 & \
                banyan records convert - out.bny --from jsonl --schema reading.json --timeout 5s <&3; \
                status=$?; rm in; exit $status";
    thread::scope(|scope| {
        let running = scope.spawn(|| shop.shell(line));
        wait_until("a file is being written", || shop.files().iter().any(|name| name.ends_with(".unfinished")));
        let ran = running.join().expect("it ends");
        assert_eq!(ran.status, 4, "{}", ran.err);
    });
    assert_eq!(shop.files(), files, "nothing was left behind");
}

#[test]
fn a_limit_ends_the_processes_of_a_bench() {
    let mark = format!("BANYAN_TEST_LIMIT={}", std::process::id());
    let (name, value) = mark.split_once('=').expect("a name and a value");
    let marked = || {
        let processes =
            fs::read_dir("/proc").expect("Linux").filter_map(|entry| entry.ok()?.path().join("environ").into());
        let has_it = |environment: &Vec<u8>| environment.split(|byte| *byte == 0).any(|word| word == mark.as_bytes());
        processes.filter_map(|path| fs::read(path).ok()).filter(has_it).count()
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(["bench", "tree", "--op", "round_trip", "--shape", "2x4", "--timeout", "4s"]).env(name, value);
    let mut bench = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command was built");
    wait_until("processes of a tree run", || marked() > 5);
    assert_eq!(bench.wait().expect("it ends").code(), Some(4));
    wait_until("all of them have ended", || marked() == 0);
}
