//! `banyan clock`: on hosts that are this machine, and on some that see other times.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::blocks::listed_block;
use crate::shape::assert_shape;
use crate::workshop::Workshop;

/// Starts the agents of three hosts here; two see other times.
const STARTER: &str = "#!/bin/sh
SLURMD_NODENAME=node1 unshare --time --monotonic 3600 \"$@\" &
SLURMD_NODENAME=node2 unshare --time --monotonic 5400 \"$@\" &
SLURMD_NODENAME=node3 \"$@\" &
wait
";

/// How far the clock of each host is ahead, in nanoseconds.
fn ahead(host: &str) -> i64 {
    match host {
        "node1" => 3_600_000_000_000,
        "node2" => 5_400_000_000_000,
        _ => 0,
    }
}

/// A directory with the starter, if this process may start others that see other times.
fn shifted() -> Option<Workshop> {
    let tried = Command::new("unshare").args(["--time", "--monotonic", "1000", "true"]).output();
    let shop = tried.is_ok_and(|tried| tried.status.success()).then(Workshop::new)?;
    shop.write("starter", STARTER);
    fs::set_permissions(shop.path("starter"), fs::Permissions::from_mode(0o755)).expect("a file of this test");
    Some(shop)
}

const SHIFTED: [&str; 5] = ["clock", "-w", "node[1-3]", "--launcher", "command:./starter {agent}"];

/// The numbers of figures replaced, and one space where there were several.
fn words(table: &str) -> String {
    let word = |word: &str| match word.trim_start_matches(['+', '-']).parse::<f64>() {
        Ok(_) if word.contains('.') => "#".to_owned(),
        _ => word.replace("µs", "time").replace("ms", "time"),
    };
    let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ");
    table.lines().map(|text| line(text) + "\n").collect()
}

fn edges(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn hosts_that_are_one_machine_have_one_clock() {
    let shop = Workshop::new();
    let hosts = ["clock", "-w", "n[1-3]", "--launcher", "local", "--measure", "300ms"];
    let table = shop.well(&hosts);
    let [head, rows @ ..] = &table.lines().collect::<Vec<_>>()[..] else { panic!("{table}") };
    assert!(head.starts_with("host  parent ") && head.ends_with(" to this machine"), "{table}");
    assert_eq!(rows.len(), 3, "members have the clocks of their agents: {table}");
    for (row, host) in rows.iter().zip(["n1", "n2", "n3"]) {
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words[..4], [host, "localhost", "same", "clock"], "{table}");
        assert_eq!(words[words.len() - 6..], ["0", "+0", "ns", "±", "0", "ns"], "{table}");
    }
    let edges = edges(&shop.well(&[&hosts[..], &["--json"]].concat()));
    let edge = json!({
        "event": "text", "node": "count", "host": "text", "rank": "count|nothing", "parent": "count",
        "parent_host": "text", "same_clock": "flag", "offset_ns": "number", "drift_ppm": "number", "bound_ns": "count",
        "round_trip_ns": "count", "exchanges": "count", "steps": "count", "front_end_offset_ns": "number",
        "front_end_bound_ns": "count",
    });
    assert_shape(&json!(edges), &json!([edge]));
    assert_eq!(edges.iter().filter(|edge| edge["rank"].is_null()).count(), 3);
    assert_eq!(edges.len(), 6, "an agent and a member on each host");
}

#[test]
fn hosts_that_see_other_times_are_as_far_ahead_as_they_are() {
    let Some(shop) = shifted() else { return };
    let edges = edges(&shop.well(&[&SHIFTED[..], &["--json", "--measure", "1s"]].concat()));
    assert_eq!(edges.len(), 6);
    for edge in edges {
        let number = |name: &str| edge[name].as_i64().unwrap_or_else(|| panic!("{name}: {edge}"));
        let truth = ahead(edge["host"].as_str().unwrap_or_default());
        let off = (number("front_end_offset_ns") - truth).abs();
        assert!(off <= number("front_end_bound_ns"), "{edge}");
        let is_same = truth == 0 || !edge["rank"].is_null();
        assert_eq!((edge["same_clock"].as_bool(), number("steps")), (Some(is_same), 0), "{edge}");
        let off = number("offset_ns") - if is_same { 0 } else { truth };
        assert!(off.abs() <= number("bound_ns"), "{edge}");
    }
}

#[test]
fn the_chapter_on_clocks_shows_a_table_as_it_is() {
    let Some(shop) = shifted() else { return };
    let shown = listed_block(crate::chapters::COMPARED, "command-clock.md", "text", "host ");
    assert_eq!(words(&shop.well(&SHIFTED)), words(&shown));
}

#[test]
fn watching_shows_one_table_after_the_other() {
    let hosts = "-w n1 --launcher local --measure 100ms --every 100ms";
    let ran = Workshop::new().shell(&format!("banyan clock --watch {hosts} | head -n 5"));
    let heads = ran.out.lines().filter(|line| line.starts_with("host ")).count();
    assert_eq!(heads, 2, "{} {}", ran.out, ran.err);
}

#[test]
fn what_cannot_be_compared_is_refused_or_told() {
    let shop = Workshop::new();
    let ran = shop.run(&["clock", "--every", "2s"]);
    assert!(ran.status == 2 && ran.err.contains("--watch"), "{}", ran.err);
    let ran = shop.run(&["clock", "--watch", "--every", "1ms"]);
    assert!(ran.status == 2 && ran.err.contains("would show nothing new"), "{}", ran.err);
    let ran = shop.run(&["clock", "--measure", "60s", "--timeout", "300ms"]);
    assert!(ran.status == 4 && ran.err.contains("the time of --timeout has passed"), "{} {}", ran.status, ran.err);
    let launcher = "command:false {hosts} {agent}";
    let ran = shop.run(&["clock", "-w", "n1", "--launcher", launcher, "--host-timeout", "2s"]);
    assert_eq!(ran.status, 3, "{}", ran.err);
}
