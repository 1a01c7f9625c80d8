//! `--timeout` of verbs that reach no hosts.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::workshop::Workshop;

#[test]
fn what_takes_too_long_ends_with_status_4() {
    let shop = Workshop::new();
    let ran = shop.run(&["sim", "--seeds", "100000000", "--timeout", "300ms"]);
    assert_eq!(ran.status, 4, "{}", ran.err);
    assert_eq!(ran.err, "banyan: not done within 0.3 s (--timeout); give it more time\n");
    let ran = shop.run(&["topo", "gen", "4x16", "--timeout", "60.5s"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
}

/// Limits of more and more seconds: a busy machine may not come far enough within the first.
const LIMITS: [u64; 4] = [2, 6, 20, 60];

#[test]
fn a_limit_leaves_no_unfinished_file() {
    let shop = Workshop::with_readings(100);
    let files = shop.files();
    let is_cut_while_it_writes = |seconds: u64| {
        // Its input never ends: nobody else has the other end of the pipe.
        let limit = format!("{seconds}s");
        let options = ["--from", "jsonl", "--schema", "reading.json", "--timeout", &limit];
        let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
        command.args(["records", "convert", "-", "out.bny"]).args(options).current_dir(shop.path(""));
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command was built");
        let mut input = child.stdin.take().expect("a pipe");
        // It is short enough for a pipe. If the command has ended before, there is another limit.
        let _ = input.write_all(&shop.read("readings.jsonl"));
        let mut has_written = false;
        while child.try_wait().expect("it is ours").is_none() {
            has_written |= shop.files().iter().any(|name| name.ends_with(".unfinished"));
            thread::park_timeout(Duration::from_millis(2));
        }
        assert_eq!(child.wait().expect("it has ended").code(), Some(4));
        assert_eq!(shop.files(), files, "nothing was left behind");
        has_written
    };
    assert!(LIMITS.into_iter().any(is_cut_while_it_writes), "it never wrote anything");
}
