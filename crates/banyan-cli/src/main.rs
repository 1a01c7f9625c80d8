//! The `banyan` command.
//!
//! Exit status: 0 all well; 1 the work found a difference or failed; 2 wrong usage.

#![forbid(unsafe_code)]

mod bench;
mod demo;
mod failure;
mod output;
mod progress;
mod records;

use std::process::ExitCode;

use clap::Parser;

/// Grow a tree of processes over many machines, and let records travel on it in their sender's own layout.
///
/// Every command takes --json for programs. Errors say what happened, to what, and what to do next.
#[derive(Parser)]
#[command(
    name = "banyan",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  banyan demo                            what records can do, in a second
  banyan records dump FILE               the records in a file, whoever wrote it
  banyan bench records --quick           what they cost on this machine"
)]
enum Banyan {
    /// See in a second what records can do: three machines, one receiver, no agreement beforehand
    Demo(demo::Demo),
    /// Look at, convert and compare files of records (Banyan's own, and those of FFS and PBIO)
    #[command(subcommand)]
    Records(records::Records),
    /// Measure, side by side with what Banyan is compared with
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let outcome = match Banyan::parse() {
        Banyan::Demo(demo) => demo.run(),
        Banyan::Records(records) => records.run(),
        Banyan::Bench(bench) => bench.run(),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}
