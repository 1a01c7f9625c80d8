//! `cargo xtask`: the project's chores, each one command. `cargo xtask test` checks everything there is to check.

#![forbid(unsafe_code)]

mod bench;
mod chaos;
mod hosts;
mod install;
mod interrupted;
mod manifest;
mod mutants;
mod report;
mod run;
mod steps;
mod surface;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

/// The project's chores
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
enum Chore {
    Test(steps::Options),
    /// Measure Banyan and its rivals in one run
    #[command(subcommand)]
    Bench(bench::Bench),
    Chaos(chaos::Chaos),
    Soak(chaos::Soak),
    Worst(chaos::Worst),
    Mutants(mutants::Mutants),
    Hosts(hosts::Hosts),
    Surface(surface::Surface),
}

fn main() -> ExitCode {
    let root = root();
    let chore = Chore::parse();
    if matches!(chore, Chore::Test(_) | Chore::Bench(_)) {
        interrupted::remove_hosts_at_a_signal();
    }
    match chore {
        Chore::Test(options) => steps::run_all(&root, &options),
        Chore::Bench(bench) => bench::run(&root, &bench),
        Chore::Chaos(chaos) => chaos.run(&root),
        Chore::Soak(soak) => soak.run(&root),
        Chore::Worst(worst) => worst.run(&root),
        Chore::Mutants(mutants) => mutants.run(&root),
        Chore::Hosts(hosts) => hosts.run(&root),
        Chore::Surface(surface) => surface.run(&root),
    }
}

/// The top directory of the repository.
fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the repository").to_owned()
}
