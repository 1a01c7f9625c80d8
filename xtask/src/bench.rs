//! `cargo xtask bench records`: Banyan and its rivals in one run.
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
Measures Banyan and other record formats in one run, on the same records.

Usage: cargo xtask bench records [--quick] [--json]

  --quick  Fewer and shorter batches
  --json   One JSON object instead of a table";

/// Installing packages may take this long.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs the bench with these arguments.
pub(crate) fn run(root: &Path, arguments: &[String]) -> ExitCode {
    let known = |flag: &String| matches!(flag.as_str(), "--quick" | "--json");
    match arguments.split_first() {
        Some((name, flags)) if name == "records" && flags.iter().all(known) => records(root, flags),
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
