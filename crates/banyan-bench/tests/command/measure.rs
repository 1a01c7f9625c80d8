//! `bench records`, `bench tree`, `bench layers`, `bench exchange` and `demo`: that they run and say what they should, not how fast they are.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::environment::environment;
use crate::fields::assert_documented;
use crate::shape::assert_shape;
use crate::workshop::{Workshop, json_lines};

/// So that nothing hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a bench says is what it measured where, and rows.
fn assert_bench_shape(object: &Value, row: &Value) {
    assert_shape(object, &json!({ "bench": "text", "environment": environment(), "rows": [row] }));
    assert_documented("command-bench.md", object);
}

#[test]
fn a_plot_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let shop = Workshop::new();
    let ran = shop.run(&["bench", "records", "--plot", "no/such/plot.svg"]);
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    assert!(ran.err.starts_with("banyan: --plot no/such/plot.svg: cannot be written: no such file"), "{}", ran.err);
}

#[test]
fn a_plot_that_nobody_asked_for_is_no_reason_to_fail() {
    let shop = Workshop::new();
    let bench = ["bench", "exchange", "--quick"];
    fs::create_dir(shop.path("banyan-bench-exchange.svg")).expect("room");
    let ran = shop.run(&bench);
    assert!(ran.status == 0 && !ran.out.is_empty(), "{}", ran.err);
    assert!(ran.err.starts_with("banyan: --plot banyan-bench-exchange.svg: cannot be written"), "{}", ran.err);
    fs::remove_dir(shop.path("banyan-bench-exchange.svg")).expect("it is empty");
    shop.well(&[&bench[..], &["--json"]].concat());
    assert!(shop.files().is_empty(), "programs get their object and nothing else");
}

#[test]
fn the_bench_gives_one_object_with_every_operation_at_every_size_and_a_plot() {
    let shop = Workshop::new();
    let told = shop.well(&["bench", "records", "--quick", "--json", "--plot", "plot.svg"]);
    let lines = json_lines(&told);
    let object = &lines[0];
    assert_eq!((lines.len(), object["bench"].as_str()), (1, Some("records")));
    assert_bench_shape(
        object,
        &json!({
            "system": "text", "op": "text", "record": "text", "bytes": "count", "ns": "number", "ns_median": "number",
        }),
    );
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
            ran.err.starts_with("banyan: no/such/member: no such program; build one with `cargo build"),
            "{}",
            ran.err
        );
    }
    assert!(shop.files().is_empty(), "nothing was left behind");
}

#[test]
fn the_plots_of_trees_may_be_asked_for_as_those_of_other_benches() {
    let shop = Workshop::new();
    let bench = |plot: &str| {
        let words = ["bench", "tree", "--quick", "--shape", "1x1", "--op", "instantiate", "--json", "--plot", plot];
        shop.well(&words);
    };
    bench("none");
    assert!(shop.files().is_empty(), "{:?}", shop.files());
    bench("plots");
    assert_eq!(shop.files(), ["plots"]);
    assert!(shop.read("plots/tree-instantiate.svg").starts_with(b"<svg "));
}

#[test]
fn the_bench_of_trees_gives_a_row_for_every_operation_and_a_plot_of_each() {
    let shop = Workshop::new();
    let told = shop.well(&["bench", "tree", "--quick", "--shape", "2x3", "--json", "--plot", "plots"]);
    let object = &json_lines(&told)[0];
    assert_eq!(object["bench"], "tree");
    assert_bench_shape(
        object,
        &json!({
            "system": "text", "op": "text", "shape": "text", "members": "count", "value": "number", "unit": "text",
            "times_floor?": "number",
        }),
    );
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

/// Whether a drawing has an end for every beginning.
fn is_well_formed(drawing: &str) -> bool {
    let mut open = Vec::new();
    for tag in drawing.split('<').skip(1) {
        let Some((tag, _)) = tag.split_once('>') else { return false };
        match (tag.strip_prefix('/'), tag.ends_with('/')) {
            (Some(name), _) if open.pop() != Some(name) => return false,
            (None, false) => open.extend(tag.split_whitespace().next()),
            _ => {}
        }
    }
    open.is_empty() && drawing.starts_with("<svg ")
}

#[test]
fn the_bench_of_layers_measures_every_layer_and_says_what_each_adds_to_the_one_below() {
    let shop = Workshop::new();
    let told = shop.well(&["bench", "layers", "--quick", "--size", "64", "--json", "--plot", "plot.svg"]);
    let object = &json_lines(&told)[0];
    assert_eq!(object["bench"], "layers");
    assert_bench_shape(
        object,
        &json!({
            "layer": "text", "measure": "text", "bytes": "count", "value": "number", "unit": "text", "low": "number",
            "high": "number", "over?": "text", "adds_us?": "number", "within_noise": "flag",
        }),
    );
    let rows = object["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 24, "{told}");
    for (layer, over) in [
        ("copy", None),
        ("unix", Some("copy")),
        ("link", Some("unix")),
        ("hop", Some("link")),
        ("filter", Some("hop")),
        ("typed", Some("filter")),
        ("tcp", Some("unix")),
        ("tcp_link", Some("tcp")),
        ("tcp_encrypted", Some("tcp_link")),
        ("tcp_hop", Some("tcp_encrypted")),
        ("tcp_filter", Some("tcp_hop")),
        ("tcp_typed", Some("tcp_filter")),
    ] {
        for (measure, unit) in [("latency", "µs"), ("throughput", "MB/s")] {
            let find = |layer| rows.iter().find(|row| row["layer"] == layer && row["measure"] == measure);
            let row = find(layer).expect(layer);
            let number = |row: &Value, name: &str| row[name].as_f64().expect(name);
            assert_eq!((row["bytes"].as_u64(), row["unit"].as_str()), (Some(64), Some(unit)), "{row}");
            assert!(number(row, "value") > 0.0 && number(row, "low") <= number(row, "high"), "{row}");
            assert_eq!(row["over"].as_str(), over, "{row}");
            let microseconds = |row: &Value| match measure {
                "latency" => number(row, "value"),
                _ => 64.0 / number(row, "value"),
            };
            let adds = over.and_then(find).map(|below| microseconds(row) - microseconds(below));
            assert_eq!(adds.is_some(), row["adds_us"].is_f64(), "{row}");
            assert!(adds.is_none_or(|adds| (adds - number(row, "adds_us")).abs() < 1e-6), "{row}");
        }
    }
    let plot = String::from_utf8(shop.read("plot.svg")).expect("text");
    assert!(is_well_formed(&plot) && plot.contains("typed value") && plot.contains("Throughput"), "{plot}");
}

#[test]
fn the_bench_of_exchanges_times_every_part_there_and_back() {
    let shop = Workshop::new();
    let told = shop.well(&["bench", "exchange", "--quick", "--json", "--plot", "plot.svg"]);
    let object = &json_lines(&told)[0];
    assert_eq!(object["bench"], "exchange");
    assert_bench_shape(
        object,
        &json!({
            "layout": "text", "part": "text", "way": "text", "bytes": "count", "value": "number", "unit": "text",
            "low": "number", "high": "number",
        }),
    );
    let rows = object["rows"].as_array().expect("rows");
    for bytes in [96, 992, 10_016, 99_872] {
        for layout in ["bytes", "same", "byte_order", "byte_order_and_layout"] {
            let rows = rows.iter().filter(|row| row["bytes"] == bytes && row["layout"] == layout);
            let parts: Vec<(&str, &str, f64)> = rows
                .filter_map(|row| Some((row["part"].as_str()?, row["way"].as_str()?, row["value"].as_f64()?)))
                .collect();
            let names: Vec<(&str, &str)> = parts.iter().map(|(part, way, _)| (*part, *way)).collect();
            let wanted = match layout {
                "bytes" => vec![("network", "there"), ("network", "back"), ("round_trip", "both")],
                _ => vec![
                    ("encode", "there"),
                    ("network", "there"),
                    ("decode", "there"),
                    ("encode", "back"),
                    ("network", "back"),
                    ("decode", "back"),
                    ("round_trip", "both"),
                ],
            };
            assert_eq!(names, wanted, "{bytes} {layout}");
            let none = parts.iter().any(|(part, _, value)| *value < 0.0 || (*part != "encode" && *value == 0.0));
            assert!(!none, "{bytes} {layout}: {parts:?}");
        }
    }
    let plot = String::from_utf8(shop.read("plot.svg")).expect("text");
    assert!(is_well_formed(&plot) && plot.contains("other byte order"), "{plot}");
}

#[test]
fn messages_that_no_layer_can_carry_are_refused() {
    let shop = Workshop::new();
    for size in ["0", "7", "63", "1048584", "much"] {
        let ran = shop.run(&["bench", "layers", "--size", size]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{size}");
        assert!(ran.err.contains("give a multiple of 8 up to 1048576"), "{}", ran.err);
    }
    assert!(shop.files().is_empty(), "nothing was left behind");
}

#[test]
fn nothing_is_left_of_a_bench_that_is_killed() {
    ends_with_everything_it_started(&["tree", "--shape", "2x3", "--op", "waves"], "banyan: keeper");
    ends_with_everything_it_started(&["layers", "--plot", "none"], "bench-layers-");
    ends_with_everything_it_started(&["exchange", "--plot", "none"], "bench-exchange-peer");
}

/// Kills the bench once it has a child with this word in its command line. Every process of the bench has its standard
/// error, so that its end is the end of the last of them.
fn ends_with_everything_it_started(arguments: &[&str], role: &str) {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_banyan-bench"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built");
    let deadline = Instant::now() + PATIENCE;
    let has_begun = loop {
        let has_begun = has_child(bench.id(), role);
        if has_begun || Instant::now() >= deadline {
            break has_begun;
        }
        std::thread::park_timeout(Duration::from_millis(1));
    };
    let mut stderr = bench.stderr.take().expect("a pipe");
    bench.kill().expect("it runs");
    bench.wait().expect("it ends");
    assert!(has_begun, "{arguments:?} has started no {role}");
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(std::io::copy(&mut stderr, &mut std::io::sink()).is_ok()));
    assert_eq!(end.recv_timeout(PATIENCE), Ok(true), "a process of the bench is still there");
}

/// Whether a process has a child with this word in its command line: one that is not this program yet has none.
fn has_child(process: u32, word: &str) -> bool {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<String> =
        children.flat_map(|it| it.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    let command = |child: &String| fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
    children.iter().any(|child| String::from_utf8_lossy(&command(child)).contains(word))
}
