//! `cargo xtask`: the project's chores, each one command. `cargo xtask test` checks everything there is to check.
//!
//! Built from the standard library alone, so that it is there in a second on a fresh machine.

#![forbid(unsafe_code)]

mod bench;
mod chaos;
mod hosts;
mod install;
mod manifest;
mod options;
mod report;
mod run;
mod steps;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
The project's chores.

Usage: cargo xtask <COMMAND>

Commands:
  test    Checks everything: format, lints, tests, other architectures, Miri, fuzzing, documents
  bench   Measures Banyan and its rivals in one run
  chaos   Disturbs networks on this machine in rounds that follow from a seed
  soak    Does so in one front-end for a long time, and looks whether it grows
  hosts   Makes hosts for tests on this machine, with sshd and on demand with Slurm
  help    Shows this text

`cargo xtask test --help` says more.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("test") => test(&arguments[1..]),
        Some("bench") => bench::run(&root(), &arguments[1..]),
        Some("chaos") => chaos::chaos(&root(), &arguments[1..]),
        Some("soak") => chaos::soak(&root(), &arguments[1..]),
        Some("hosts") => hosts::run(&root(), &arguments[1..]),
        Some("help" | "--help" | "-h") => report::say(HELP),
        None => report::refuse(HELP),
        Some(other) => report::refuse(&format!("no chore is called {other}\n\n{HELP}")),
    }
}

fn test(arguments: &[String]) -> ExitCode {
    match options::Options::parse(arguments) {
        Ok(options::Request::Help) => report::say(&options::help()),
        Ok(options::Request::List) => report::say(&options::list()),
        Ok(options::Request::Run(options)) => steps::run_all(&root(), &options),
        Err(wrong) => report::refuse(&format!("{wrong}\n\n{}", options::help())),
    }
}

/// The top directory of the repository.
fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the repository").to_owned()
}
