//! `banyan stack` of jobs on hosts: of ranks started by ssh, of an Open MPI job, of a Slurm job.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::job::{Job, compiled, ranks_program, until};
use crate::shape::assert_shape;
use crate::{by_slurm, by_ssh, eight, file, shared, text};

/// Whether each stack of a class goes through a function.
fn goes_through(class: &Value, function: &str) -> bool {
    let stacks = class["stacks"].as_array().map(Vec::as_slice).unwrap_or_default();
    stacks.iter().all(|stack| stack.as_array().is_some_and(|names| names.iter().any(|name| name == function)))
}

/// The ranks of the only class that goes through a function.
fn class_of<'r>(report: &'r Value, function: &str) -> Option<&'r str> {
    let classes = report["classes"].as_array()?;
    let mut found = classes.iter().filter(|class| goes_through(class, function));
    let first = found.next()?["ranks"].as_str();
    first.filter(|_| found.next().is_none())
}

/// Ranks wait where they will stay.
fn all_wait(report: &Value) -> bool {
    report["classes"].as_array().is_some_and(|all| all.iter().all(|class| goes_through(class, "until_the_end")))
}

/// Which host each rank is on.
fn places(report: &Value) -> Vec<(u64, &str)> {
    let processes = report["processes"].as_array().expect("a list");
    let place = |process: &'_ Value| process["rank"].as_u64().expect("a rank");
    let mut places: Vec<(u64, &str)> =
        processes.iter().map(|process| (place(process), process["host"].as_str().expect("a name"))).collect();
    places.sort_unstable();
    places
}

/// One rank on each of the eight hosts.
const ONE_EACH: [(u64, &str); 8] =
    [(0, "h1"), (1, "h2"), (2, "h3"), (3, "h4"), (4, "h5"), (5, "h6"), (6, "h7"), (7, "h8")];

fn check_report(report: &Value) {
    let process = json!({
        "host": "text", "command": "text", "rank": "count", "pid": "count", "stacks": "count", "stopped_us": "number",
    });
    let shape = json!({
        "ranks": "text", "count": "count", "median_stop_us": "number", "longest_stop_us": "number", "classes": "list",
        "tree": "list", "processes": [process], "left_out": "list",
        "cut_short": "flag",
    });
    assert_shape(report, &shape);
}

/// What people see of eight ranks, of which this one on this host hangs elsewhere than the others.
fn page(rank: usize, host: &str, others: &str) -> String {
    // All of the column are as wide as the widest.
    let (wide, column) = (others.len(), " ".repeat(others.len()));
    format!(
        "\
8 processes on 8 hosts, 2 classes

     1  {rank:<wide$}  exchange → wait_for_neighbour → … → read  ({host} pid N)
     7  {others}  solve → wait_in_barrier → … → read

        {column}  main
     1  {rank:<wide$}  ├─ exchange
        {column}  │  wait_for_neighbour
        {column}  │  until_the_end
        {column}  │  read
     7  {others}  └─ solve
        {column}     wait_in_barrier
        {column}     until_the_end
        {column}     read
"
    )
}

/// The text from `main` on, without times and numbers of processes.
fn golden(text: &str) -> String {
    let replaced = |line: &str| {
        let line = line.split_once("; stopped for").map_or(line, |(heading, _)| heading);
        let (before, after) = line.split_once("pid ").unwrap_or((line, ""));
        let after = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
        if after.is_empty() { format!("{before}\n") } else { format!("{before}pid N{after}\n") }
    };
    text.lines().filter(|line| !line.contains("_start")).map(replaced).collect()
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_the_rank_of_eight_hosts_that_hangs_elsewhere_comes_first() {
    let place = shared();
    let program = ranks_program(place.path());
    let _job = Job::over_ssh(&program, &eight(), 5);
    let words = ["stack", "-w", "h[1-8]", "--match", &format!("^{}", program.display())];
    let take = || {
        let output = by_ssh(&[&words[..], &["--json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let report = until(take, all_wait);
    check_report(&report);
    assert_eq!(class_of(&report, "exchange"), Some("5"));
    assert_eq!(class_of(&report, "wait_in_barrier"), Some("0-4,6-7"));
    assert_eq!(places(&report), ONE_EACH);
    let output = by_ssh(&words);
    assert_eq!(golden(&text(&output.stdout)), page(5, "h6", "0-4,6-7"), "{}", text(&output.stderr));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
#[expect(clippy::print_stderr, reason = "whoever runs the tests wants to know what was left out")]
fn over_ssh_the_ranks_of_an_mpi_job_are_found_on_its_hosts() {
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !is_there("mpirun") || !is_there("mpicc") {
        eprintln!("left out: no Open MPI (packages openmpi-bin and libopenmpi-dev)");
        return;
    }
    let place = shared();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/hung.c");
    let program = compiled("mpicc", &source, place.path());
    let mut mpirun = Command::new("mpirun");
    mpirun.args(["--mca", "plm_rsh_agent", &format!("ssh -F {}", file("ssh_config"))]);
    mpirun.args(["--mca", "btl", "tcp,self", "--mca", "mpi_yield_when_idle", "1", "--host", "h1,h2,h3,h4", "-n", "4"]);
    mpirun.arg(program).env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let job = Job::start([mpirun].into_iter(), 4);
    let launcher = job.0[0].id().to_string();
    let take = || {
        let output = by_ssh(&["stack", "--json", "-w", "h[1-6]", "--mpi", &launcher]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let report = until(take, |report| class_of(report, "wait_for_neighbour").is_some());
    assert_eq!(class_of(&report, "exchange"), Some("2"), "{report}");
    assert_eq!(report["ranks"], "0-3");
    assert_eq!(places(&report), [(0, "h1"), (1, "h2"), (2, "h3"), (3, "h4")]);
    // The hosts are known from the launcher, too.
    let output = by_ssh(&["stack", "--json", "--mpi", &launcher]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(places(&report), [(0, "h1"), (1, "h2"), (2, "h3"), (3, "h4")]);
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_the_rank_of_a_job_that_hangs_elsewhere_is_named_with_its_host() {
    let place = shared();
    let program = ranks_program(place.path());
    let (_job, number) = Job::by_slurm(&program, "hung", 6);
    let words = ["stack", "--slurm", &number];
    let take = || {
        let output = by_slurm(&[&words[..], &["--json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let report = until(take, all_wait);
    check_report(&report);
    assert_eq!(class_of(&report, "exchange"), Some("6"));
    assert_eq!(places(&report), ONE_EACH);
    let output = by_slurm(&words);
    assert_eq!(golden(&text(&output.stdout)), page(6, "h7", "0-5,7"), "{}", text(&output.stderr));
}
