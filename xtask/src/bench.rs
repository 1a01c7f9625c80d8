//! `cargo xtask bench records|launch|collectives`: Banyan and its rivals in one run.
//!
//! The rivals live in a crate outside the workspace, built only here. What they need from Debian is installed where
//! that is possible; a rival that cannot be built is left out and named.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::install;
use crate::report::{self, Problem};
use crate::run::Runner;

const HELP: &str = "\
Measures Banyan and its rivals in one run: record formats on the same records, or launches and collectives with the same
member, linked dynamically and, where musl-gcc is there or can be installed, statically.

Usage: cargo xtask bench records|launch|collectives [--quick] [--json]

  --quick  Fewer and shorter batches
  --json   One JSON object instead of a table";

/// Installing packages may take this long.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs the bench with these arguments.
pub(crate) fn run(root: &Path, arguments: &[String]) -> ExitCode {
    let known = |flag: &String| matches!(flag.as_str(), "--quick" | "--json");
    match arguments.split_first() {
        Some((name, flags)) if name == "records" && flags.iter().all(known) => records(root, flags),
        Some((name, flags)) if matches!(name.as_str(), "launch" | "collectives") && flags.iter().all(known) => {
            launch(root, name, flags)
        }
        Some((name, _)) if matches!(name.as_str(), "-h" | "--help") => report::say(HELP),
        _ => report::refuse(HELP),
    }
}

fn records(root: &Path, flags: &[String]) -> ExitCode {
    let runner = Runner { verbose: false, limit: PATIENCE };
    let needs: [(&[&str], &[&str]); 2] =
        [(&["capnp"], &["capnproto"]), (&["mpicc"], &["openmpi-bin", "libopenmpi-dev"])];
    for (programs, packages) in needs {
        if let Err(Problem::LeftOut(why)) = install::programs(runner, programs, &[], packages) {
            report::warn(&format!("left out: {why}"));
        }
    }
    // The same target directory as the workspace's: what both depend on is built once.
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--manifest-path", "rivals/Cargo.toml", "--target-dir", "target", "--"])
        .args(flags)
        .current_dir(root)
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => report::refuse(&format!("cargo: {error}")),
    }
}

/// The target of members that need no dynamic loader.
const STATIC: &str = "x86_64-unknown-linux-musl";

fn launch(root: &Path, name: &str, flags: &[String]) -> ExitCode {
    let runner = Runner { verbose: false, limit: PATIENCE };
    let mut members = vec!["--member=dynamic=target/release/banyan-bench-member".to_owned()];
    if !cargo(root, &MEMBER) {
        return ExitCode::FAILURE;
    }
    match install::programs(runner, &["musl-gcc"], &[], &["musl-tools"]) {
        Ok(()) if cargo(root, &[&MEMBER[..], &["--target", STATIC]].concat()) => {
            members.push(format!("--member=static=target/{STATIC}/release/banyan-bench-member"));
        }
        Err(Problem::LeftOut(why)) => report::warn(&format!("left out: the static member: {why}")),
        _ => report::warn(&format!("left out: the static member; try: rustup target add {STATIC}")),
    }
    let mut command = vec!["run", "--quiet", "--release", "--package", "banyan-cli", "--", "bench", name];
    command.extend(members.iter().chain(flags).map(String::as_str));
    if cargo(root, &command) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How the member is built: apart from all else, so that it is as small as a user's.
const MEMBER: [&str; 8] = [
    "build",
    "--quiet",
    "--release",
    "--package",
    "banyan-bench",
    "--no-default-features",
    "--bin",
    "banyan-bench-member",
];

fn cargo(root: &Path, arguments: &[&str]) -> bool {
    // What the links' ciphers have in C must be compiled for the same target.
    let status = Command::new("cargo")
        .args(arguments)
        .env("CC_x86_64_unknown_linux_musl", "musl-gcc")
        .current_dir(root)
        .status();
    status.is_ok_and(|status| status.success())
}
