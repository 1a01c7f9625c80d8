//! How long 100,000 host names take to parse and to fold, beside ClusterShell's `nodeset` where it is installed.
//!
//! `cargo run --release -p banyan-hosts --example hosts_speed`. The times are the best of several runs; those of
//! `nodeset` are of its whole process, less what it takes for a single name.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use banyan_hosts::HostSet;

const RUNS: usize = 25;
const NODESET_RUNS: usize = 3;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let sets = [
        ("one number", "n[1-100000]"),
        ("three numbers", "r[0-24]c[0-39]n[001-100]"),
        ("addresses", "10.1.[0-390].[0-255]"),
    ];
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:<28}{:>8}{:>12}{:>12}{:>14}{:>8}",
        "names", "hosts", "parse ms", "fold ms", "nodeset -f ms", "ratio"
    )?;
    for (what, folded) in sets {
        let hosts = HostSet::parse(folded)?;
        let in_order: Vec<&str> = hosts.iter().collect();
        row(&mut out, what, &in_order, folded)?;
        row(&mut out, &format!("{what}, shuffled"), &shuffled(&in_order), folded)?;
    }
    Ok(())
}

fn row(out: &mut impl Write, what: &str, names: &[&str], folded: &str) -> Result<(), Failure> {
    let text = names.join("\n");
    let hosts = HostSet::parse(&text)?;
    if hosts.to_string() != folded {
        return Err(format!("{what}: folded into {hosts}, not {folded}").into());
    }
    let parse = best(RUNS, || HostSet::parse(&text).map(|set| set.len()));
    let fold = best(RUNS, || hosts.to_string());
    write!(out, "{what:<28}{:>8}{:>12.2}{:>12.2}", hosts.len(), milliseconds(parse), milliseconds(fold))?;
    match nodeset(&text)? {
        None => writeln!(out, "{:>14}", "not installed")?,
        Some(rival) => {
            let ratio = rival.as_secs_f64() / (parse + fold).as_secs_f64();
            writeln!(out, "{:>14.0}{ratio:>7.0}x", milliseconds(rival))?;
        }
    }
    Ok(())
}

/// Parsing and folding by `nodeset`, without its start.
fn nodeset(text: &str) -> Result<Option<Duration>, Failure> {
    let run = |input: &str| -> std::io::Result<()> {
        let mut child = Command::new("nodeset").arg("-f").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let written = child.stdin.take().map_or(Ok(()), |mut stdin| writeln!(stdin, "{input}"));
        let status = child.wait()?;
        written.and(if status.success() { Ok(()) } else { Err(std::io::Error::other("nodeset failed")) })
    };
    match run("n1") {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    }
    let start = best(NODESET_RUNS, || run("n1"));
    Ok(Some(best(NODESET_RUNS, || run(text)).saturating_sub(start)))
}

fn best<T>(runs: usize, mut work: impl FnMut() -> T) -> Duration {
    let time = |_| {
        let start = Instant::now();
        std::hint::black_box(work());
        start.elapsed()
    };
    (0..runs).map(time).min().unwrap_or_default()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The same names in an order that is always the same and looks like none.
fn shuffled<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut keyed: Vec<(u64, &str)> =
        (0_u64..).zip(names).map(|(i, name)| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23), *name)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, name)| name).collect()
}
