//! `banyan top` of hosts, once.

use std::process::Output;

use serde_json::Value;

use crate::{by_slurm, by_ssh, eight, text};

/// The names in the rows of a look at hosts, sorted, if everyone has told everything.
fn watched(output: &Output) -> Vec<String> {
    let object: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!((&object["silent"], output.status.code()), (&Value::Array(Vec::new()), Some(0)));
    let rows = object["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["cpu"].is_number() && row["memory"].is_number()), "{object}");
    let mut names: Vec<String> = rows.iter().map(|row| row["host"].as_str().expect("a name").to_owned()).collect();
    names.sort();
    names
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_top_shows_every_host_and_names_those_that_cannot_be_reached() {
    assert_eq!(watched(&by_ssh(&["top", "-w", "h[1-8]", "--once", "--json"])), eight());
    let output = by_ssh(&["top", "-w", "h[1-2],no-such-host", "--min-hosts", "2", "--once", "--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!((&object["hosts"], &object["silent"][0]), (&2.into(), &"no-such-host".into()));
    assert_eq!(output.status.code(), Some(0), "the others are enough: {}", text(&output.stderr));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_top_shows_every_node() {
    let output = by_slurm(&["top", "-w", "h[1-8]", "--once", "--json"]);
    assert_eq!(watched(&output), eight());
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_a_page_has_a_row_for_every_host_and_users_are_told_of_all_together() {
    let output = by_ssh(&["top", "-w", "h[1-8]", "--once", "--sort", "host", "--interval", "200ms"]);
    let page = text(&output.stdout);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(page.lines().next(), Some("banyan top  8 hosts  by host  every 0.2 s"), "{}", text(&output.stderr));
    let table = page.split("\n\n").last().expect("a table");
    let names: Vec<String> = table.lines().skip(1).map(|line| words(line).remove(0)).collect();
    assert_eq!(names, eight());
    let output = by_ssh(&["top", "-w", "h[1-8]", "--once", "--by", "user", "--sort", "memory", "--interval", "200ms"]);
    let page = text(&output.stdout);
    let table = page.split("\n\n").last().expect("a table");
    assert_eq!(words(table.lines().next().expect("a heading")), ["user", "processes", "hosts", "CPU", "memory▼"]);
    // All hosts are this machine, on which the test runs as root.
    let root = table.lines().map(words).find(|row| row[0] == "root").expect("root");
    assert_eq!(root[2], "8", "{table}");
}
