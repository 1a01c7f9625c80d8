//! `bench records`, `bench tree` and `demo`: that they run and say what they should, not how fast they are.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::workshop::{Workshop, json_lines};

/// So that nothing hangs.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_plot_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let shop = Workshop::new();
    let ran = shop.run(&["bench", "records", "--plot", "no/such/plot.svg"]);
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    assert!(ran.err.starts_with("banyan: --plot no/such/plot.svg: cannot be written: no such file"), "{}", ran.err);
}

#[test]
fn the_bench_gives_one_object_with_every_operation_at_every_size_and_a_plot() {
    let shop = Workshop::new();
    let told = shop.well(&["bench", "records", "--quick", "--json", "--plot", "plot.svg"]);
    let lines = json_lines(&told);
    let object = &lines[0];
    assert_eq!((lines.len(), object["bench"].as_str()), (1, Some("records")));
    assert!(object["environment"]["cpu"].is_string());
    let rows = object["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["ns"].as_f64().is_some_and(|ns| ns > 0.0)), "{told}");
    let of = |record: &str, op: &str| -> BTreeSet<u64> {
        let rows = rows.iter().filter(|row| row["op"] == op && row["record"] == record);
        rows.filter_map(|row| row["bytes"].as_u64()).collect()
    };
    let (plain, mixed) = (of("plain", "copy"), of("mixed", "copy"));
    assert_eq!((plain.len(), plain.last()), (4, Some(&99_872)));
    assert_eq!((mixed.len(), mixed.first()), (3, Some(&160)));
    for op in [
        "encode",
        "decode_same",
        "decode_extra_field",
        "decode_foreign",
        "decode_foreign_layout",
        "decode_foreign_interpreted",
    ] {
        assert_eq!((of("plain", op), of("mixed", op)), (plain.clone(), mixed.clone()), "{op}");
    }
    for op in ["lookup_1000", "compile"] {
        assert!(rows.iter().any(|row| row["op"] == op && row["bytes"] == 0), "{op}");
    }
    let plot = String::from_utf8(shop.read("plot.svg")).expect("text");
    assert!(plot.starts_with("<svg ") && plot.contains("a plain record") && plot.contains("a mixed record"), "{plot}");
}

#[test]
fn a_member_program_that_is_not_there_is_refused_with_the_command_that_builds_it() {
    let shop = Workshop::new();
    for bench in ["launch", "collectives"] {
        let ran = shop.run(&["bench", bench, "--member", "mine=no/such/member"]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{bench}");
        assert!(
            ran.err.starts_with("banyan: no/such/member: no such program; build it with `cargo build"),
            "{}",
            ran.err
        );
    }
    assert!(shop.files().is_empty(), "nothing was left behind");
}

#[test]
fn the_bench_of_trees_gives_a_row_for_every_operation_and_a_plot_of_each() {
    let shop = Workshop::new();
    let told = shop.well(&["bench", "tree", "--quick", "--shape", "2x3", "--json", "--svg", "plots"]);
    let object = &json_lines(&told)[0];
    assert_eq!(object["bench"], "tree");
    assert!(object["environment"]["cpu"].is_string());
    for (op, unit) in [
        ("instantiate", "ms"),
        ("round_trip", "µs"),
        ("waves", "waves/s"),
        ("array_sum", "GB/s"),
        ("broadcast", "GB/s"),
        ("recovery", "ms"),
        ("memory", "MB"),
    ] {
        for system in ["floor", "banyan"].into_iter().filter(|system| (*system, op) != ("floor", "recovery")) {
            let is_there = |row: &Value| row["system"] == system && row["op"] == op && row["unit"] == unit;
            let row = object["rows"].as_array().expect("rows").iter().find(|row| is_there(row)).expect(op);
            assert_eq!((&row["shape"], &row["members"]), (&"2x3".into(), &6.into()), "{op}");
            assert!(row["value"].as_f64().is_some_and(|value| value > 0.0), "{told}");
        }
        let plot = String::from_utf8(shop.read(&format!("plots/tree-{op}.svg"))).expect("text");
        assert!(plot.starts_with("<svg ") && plot.contains(unit), "{plot}");
    }
}

#[test]
fn trees_and_operations_that_cannot_be_measured_are_refused() {
    let shop = Workshop::new();
    for arguments in [["--shape", "4x"], ["--shape", "fanout:4:16"], ["--shape", "9999x9999"], ["--op", "dance"]] {
        let ran = shop.run(&["bench", "tree", arguments[0], arguments[1]]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments:?}");
    }
}

/// Every process of the bench has its standard error, so that its end is the end of the last of them.
#[test]
fn nothing_is_left_of_a_bench_that_is_killed() {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_banyan"))
        .args(["bench", "tree", "--shape", "2x3", "--op", "waves"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built");
    let children = format!("/proc/{0}/task/{0}/children", bench.id());
    let deadline = Instant::now() + PATIENCE;
    while fs::read_to_string(&children).is_ok_and(|children| children.is_empty()) && Instant::now() < deadline {
        std::thread::yield_now();
    }
    let mut stderr = bench.stderr.take().expect("a pipe");
    bench.kill().expect("it runs");
    bench.wait().expect("it ends");
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(std::io::copy(&mut stderr, &mut std::io::sink()).is_ok()));
    assert_eq!(end.recv_timeout(PATIENCE), Ok(true), "a process of the bench is still there");
}

#[test]
fn the_demo_names_the_rank_that_hangs_and_misses_nothing() {
    let shop = Workshop::new();
    let story = shop.well(&["demo"]);
    assert!(story.lines().count() <= 60 && story.lines().all(|line| line.chars().count() <= 100), "{story}");
    assert!(story.contains("The one to look at is rank 37") && story.contains("no process is left"), "{story}");
    assert!(story.contains("1,920,000 records emitted = 1,920,000 delivered"), "{story}");
    let facts = &json_lines(&shop.well(&["demo", "--json"]))[0];
    assert_eq!(facts["hung"]["ranks"], "37", "{facts}");
    assert_eq!(facts["healed"]["emitted"], facts["healed"]["delivered"], "{facts}");
    assert_eq!((&facts["grown"]["members"], &facts["left"]), (&64.into(), &0.into()), "{facts}");
}
