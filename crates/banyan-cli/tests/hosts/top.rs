//! `banyan top` of hosts, once and live.

use std::process::Output;

use serde_json::{Value, json};

use crate::job::{Job, ranks_program};
use crate::look::{HOSTS, PROCESSES, assert_page, assert_screen, host, process};
use crate::pseudo_terminal::PseudoTerminal;
use crate::shape::assert_shape;
use crate::{by_slurm, by_ssh, command_by_ssh, eight, shared, text};

/// The names in the rows of a look at hosts, sorted, if everyone has told everything.
fn watched(output: &Output) -> Vec<String> {
    let object: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_shape(&object, &shape());
    assert_eq!((&object["silent"], output.status.code()), (&Value::Array(Vec::new()), Some(0)));
    let rows = object["rows"].as_array().expect("rows");
    let mut names: Vec<String> = rows.iter().map(|row| row["host"].as_str().expect("a name").to_owned()).collect();
    names.sort();
    names
}

/// The shape of a look at hosts. Some kernels do not tell how long processes wait.
fn shape() -> Value {
    let at = json!({ "host": "text", "value": "number" });
    let quantity = json!({
        "min": at, "median": "number", "p99": "number", "max": at, "top": [at], "unit": "text",
    });
    let names = ["cpu", "memory", "run_queue", "network_in", "network_out", "disk_read", "disk_write"];
    let (mut row, mut summary) = (json!({ "host": "text" }), json!({}));
    for name in names {
        row[name] = "number".into();
        summary[name] = quantity.clone();
    }
    for name in ["pressure_cpu", "pressure_memory", "pressure_io"] {
        row[name] = "number|nothing".into();
        summary[format!("{name}?")] = quantity.clone();
    }
    let cost = json!({
        "front_end_bytes_per_second": "number", "front_end_cpu_percent": "number", "host_cpu_percent_max": "number",
        "host_memory_bytes_max": "number",
    });
    json!({
        "event": "text", "by": "text", "of": "nothing", "hosts": "count", "interval_seconds": "number", "silent": "list",
        "others": "nothing", "cost": cost, "rows": [row], "summary": summary,
    })
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

/// A page of eight hosts, as a whole.
fn check_page(output: &Output) {
    let rows: String = eight().iter().map(|name| host(name)).collect();
    let first = "banyan top  8 hosts  by host  every 0.2 s";
    assert_page(&text(&output.stdout), first, 8, &format!("{HOSTS}\n{rows}"));
    assert_eq!((text(&output.stderr).as_str(), output.status.code()), ("", Some(0)));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_a_page_has_a_row_for_every_host_and_users_are_told_of_all_together() {
    let once = ["top", "-w", "h[1-8]", "--once", "--every", "200ms"];
    check_page(&by_ssh(&[&once[..], &["--sort", "host"]].concat()));
    // All hosts are this machine, on which the test runs as root.
    let output = by_ssh(&[&once[..], &["--by", "user", "--filter", "root"]].concat());
    let heading = format!("{:<40} processes     hosts      CPU▼    memory", "user");
    let root = format!("{:<40}         #         8         #         #", "root");
    let first = "banyan top  8 hosts  by user  every 0.2 s  only \"root\"";
    assert_page(&text(&output.stdout), first, 8, &format!("{heading}\n{root}\n"));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_a_page_has_a_row_for_every_node() {
    check_page(&by_slurm(&["top", "-w", "h[1-8]", "--once", "--every", "200ms", "--sort", "host"]));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_the_processes_of_a_job_are_found_on_its_nodes() {
    let place = shared();
    let program = ranks_program(place.path());
    let (_job, number) = Job::by_slurm(&program, "watched", 6);
    let once = ["top", "-w", "h[2-3]", "--once", "--every", "200ms", "--sort", "host"];
    let output = by_slurm(&[&once[..], &["--job", &number]].concat());
    // All nodes are this machine, so each has the eight ranks, which alone are of the job.
    let rows: String = ["h2", "h3"].iter().flat_map(|node| vec![process("ranks", "root", node); 8]).collect();
    let first = format!("banyan top  2 hosts  processes of job slurm {number}  every 0.2 s");
    assert_page(&text(&output.stdout), &first, 2, &format!("{PROCESSES}\n{rows}"));
    assert_eq!((text(&output.stderr).as_str(), output.status.code()), ("", Some(0)));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_the_live_screen_has_a_row_for_every_host() {
    let mut command = command_by_ssh(&["top", "-w", "h[1-8]", "--sort", "host", "--every", "200ms"]);
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    let mut terminal = PseudoTerminal::start(&mut command, 120, 30);
    let rows: String = eight().iter().map(|name| host(name)).collect();
    let first = "banyan top  8 hosts  by host  every 0.2 s";
    assert_screen(&mut terminal, first, 8, ("h", 9), (&format!("{HOSTS}\n{rows}"), None));
    terminal.press("\x1b[B\r");
    terminal.wait_for("processes of h2");
    terminal.press("q");
    let (status, restored, _) = terminal.end();
    assert!(status.success() && restored, "{status}, settings restored: {restored}");
}
