//! `cargo xtask mutants`: puts faults back that Banyan had, or could have, one after the other, and looks whether the
//! simulator finds them.
//!
//! The faults are in `list.txt`. Each is put into a copy of the sources below `target`, which is built and tested there.

mod list;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::report;
use crate::run::{Failure, Runner};
use list::Fault;

/// Put known faults back into a copy of the sources, one after the other, and look whether the simulator finds them
///
/// The faults are in xtask/src/mutants/list.txt. The command fails if one of them is not found.
#[derive(clap::Args)]
pub(crate) struct Mutants {
    /// List the faults
    #[arg(long)]
    list: bool,
    /// Try only faults whose names contain this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

/// Building one fault and running its tests may take this long.
const PATIENCE: Duration = Duration::from_secs(3600);

impl Mutants {
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        let mut faults = match list::faults() {
            Ok(faults) => faults,
            Err(wrong) => return report::refuse(&wrong),
        };
        faults.retain(|fault| fault.name.contains(&self.only));
        if faults.is_empty() {
            return report::refuse(&format!("no fault is called {}; --list names them", self.only));
        }
        if self.list {
            let names: Vec<&str> = faults.iter().map(|fault| fault.name.as_str()).collect();
            return report::say(&names.join("\n"));
        }
        let copy = root.join("target/mutants");
        let mut missed = 0;
        for fault in &faults {
            let begin = Instant::now();
            let prepared = copy_sources(root, &copy).and_then(|()| fault.put_into(&copy));
            let told = match prepared.and_then(|()| try_out(&copy, fault)) {
                Ok(Some(how)) => format!("found  {how}"),
                Ok(None) => {
                    missed += 1;
                    "NOT FOUND".to_owned()
                }
                Err(wrong) => return report::refuse(&format!("{}: {wrong}", fault.name)),
            };
            report::say(&format!("{:<72} {:>5.0} s  {told}", fault.name, begin.elapsed().as_secs_f64()));
        }
        if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Makes the copy equal to the sources. What is equal stays as it is, so that it is not built again.
fn copy_sources(root: &Path, copy: &Path) -> Result<(), String> {
    let runner = Runner { verbose: false, limit: PATIENCE };
    let mut list = Command::new("git");
    list.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let files = runner.run(&mut list).map_err(|failure| failure.to_string())?;
    for file in files.lines() {
        let (from, to) = (root.join(file), copy.join(file));
        // A file that was removed may still be listed.
        let Ok(text) = std::fs::read(&from) else { continue };
        if std::fs::read(&to).is_ok_and(|known| known == text) {
            continue;
        }
        let written = to.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&to, text));
        written.map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}

/// Builds the copy and runs the tests that should find the fault; how they found it, if they did.
fn try_out(copy: &Path, fault: &Fault) -> Result<Option<String>, String> {
    let runner = Runner { verbose: false, limit: PATIENCE };
    // Not the target of the sources: what is built there has the same names.
    let target = copy.join("target");
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new("cargo");
        cargo.args(["test", "--quiet", "--package", "banyan-tree", "--test", "simulation"]).args(arguments);
        cargo.current_dir(copy).env("CARGO_TARGET_DIR", &target);
        runner.run(&mut cargo)
    };
    cargo(&["--no-run"]).map_err(|failure| format!("it cannot be built: {failure}"))?;
    let tests: Vec<&str> = std::iter::once("--").chain(fault.tests.iter().map(String::as_str)).collect();
    match cargo(&tests) {
        Ok(_) => Ok(None),
        Err(failure) => Ok(Some(how_found(&failure))),
    }
}

/// The line of a test that says which seed broke which rule.
fn how_found(failure: &Failure) -> String {
    let told = failure.output.lines().find(|line| line.contains("seed ") && line.contains(", at "));
    let told = told.map_or_else(|| failure.last_line(), |line| line.trim().to_owned());
    told.chars().take(160).collect()
}
