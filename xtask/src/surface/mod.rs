//! `cargo xtask surface`: the public interface of each published crate as text, in `docs/surface`.
//!
//! A file has one line for each public item, with its whole signature, in the order of paths. So a change of an interface
//! is a change of a file, and reviewers see it. Step `surface` of `cargo xtask test` fails where a file is not up to date.
//!
//! The lines do not have what is hidden from the documentation, and no traits that the compiler implements by itself
//! (`Send`) or that are implemented for every type (`Into`).

mod difference;
mod interface;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::report::{self, Outcome, Problem};
use crate::run::Runner;
use difference::difference;

/// Where the files lie.
const DIRECTORY: &str = "docs/surface";

/// Building the JSON files may take this long.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Write the public interface of each published crate to docs/surface
///
/// The file of a crate has one line for each public item, in the order of paths. This needs the nightly tool-chain, which
/// is installed if rustup is there.
#[derive(clap::Args)]
pub(crate) struct Surface {
    /// Write nothing, show what is different; the status is 1 if something is
    #[arg(long)]
    check: bool,
}

impl Surface {
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        let runner = Runner { verbose: false, limit: PATIENCE };
        let outcome = if self.check { check(runner, root) } else { write(runner, root) };
        match outcome {
            Ok(note) => report::say(&note),
            Err(Problem::Failed(why)) => {
                report::warn(&why);
                ExitCode::FAILURE
            }
            Err(Problem::LeftOut(why)) => report::refuse(&why),
        }
    }
}

/// Compares all interfaces with their files. If one is different, the failure has the lines and the remedy.
pub(crate) fn check(runner: Runner, root: &Path) -> Outcome {
    let mut different = Vec::new();
    let interfaces = interface::all(runner, root)?;
    for interface in &interfaces {
        let path = format!("{DIRECTORY}/{}.txt", interface.package);
        // A file that is missing has no lines.
        let written = fs::read_to_string(root.join(&path)).unwrap_or_default();
        let lines = difference(&written, &interface.text);
        if !lines.is_empty() {
            different.push(format!("{path}:\n{}", lines.join("\n")));
        }
    }
    if different.is_empty() {
        return Ok(format!("{} crates", interfaces.len()));
    }
    different.push("if this is what you want, type: cargo xtask surface".into());
    different.push("and if it breaks programs of users, say so in CHANGELOG.md".into());
    Err(Problem::Failed(different.join("\n")))
}

/// Writes the files anew.
fn write(runner: Runner, root: &Path) -> Outcome {
    let interfaces = interface::all(runner, root)?;
    let directory = root.join(DIRECTORY);
    // What is there may be of crates that are gone.
    if directory.is_dir() {
        fs::remove_dir_all(&directory).map_err(|error| cannot_write(&directory, &error))?;
    }
    fs::create_dir_all(&directory).map_err(|error| cannot_write(&directory, &error))?;
    for interface in &interfaces {
        let path = directory.join(format!("{}.txt", interface.package));
        fs::write(&path, &interface.text).map_err(|error| cannot_write(&path, &error))?;
    }
    Ok(format!("{} files in {DIRECTORY}", interfaces.len()))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Problem {
    Problem::Failed(format!("{}: {error}", path.display()))
}
