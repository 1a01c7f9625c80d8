//! `corpus`: each architecture writes the same records as they lie in its own memory; each reads what all wrote, and
//! finds the same values.
//!
//! The writing and reading is done by the example `corpus` of `banyan-files`: `corpus write FILE`, and
//! `corpus check FILE…`, which exits with a message on any difference.

use std::path::PathBuf;
use std::process::Command;

use super::cross::{ARCHITECTURES, Architecture};
use super::{EVERYTHING, Job, Tools, cargo};
use crate::report::Problem;

const EXAMPLE: &str = "crates/banyan-files/examples/corpus.rs";
const RUN: [&str; 5] = ["run", "-p", "banyan-files", "--example", "corpus"];

/// Who writes and reads.
enum Party {
    Native,
    NativeWithoutJit,
    Emulated(&'static Architecture),
}

impl Party {
    fn all() -> Vec<Party> {
        let emulated = ARCHITECTURES.iter().map(Party::Emulated);
        [Party::Native, Party::NativeWithoutJit].into_iter().chain(emulated).collect()
    }

    fn name(&self) -> &'static str {
        match self {
            Party::Native => "native",
            Party::NativeWithoutJit => "native without jit",
            Party::Emulated(architecture) => architecture.name,
        }
    }

    fn corpus(&self, tools: &Tools<'_>) -> Result<Command, Problem> {
        let mut command = match self {
            Party::Native => {
                // With the features of step `tests`, which has built what it needs.
                tools.run(cargo(["build", "--example", "corpus"]).args(EVERYTHING))?;
                return Ok(Command::new(tools.root.join("target/debug/examples/corpus")));
            }
            // Record files need no generated code.
            Party::NativeWithoutJit => cargo(RUN),
            Party::Emulated(architecture) => {
                let mut command = architecture.cargo(tools, &RUN)?;
                command.args(["--features", "banyan-ndr/jit"]);
                command
            }
        };
        command.args(["--quiet", "--"]);
        Ok(command)
    }
}

pub(super) fn run(job: &Job<'_>) {
    if !job.root.join(EXAMPLE).is_file() {
        job.part("all", |_| Err(Problem::LeftOut(format!("example missing: {EXAMPLE}"))));
        return;
    }
    let directory = job.root.join("target/corpus");
    let mut written: Vec<PathBuf> = Vec::new();
    let mut readers = Vec::new();
    for party in Party::all() {
        let file = directory.join(party.name().replace(' ', "-"));
        let wrote = job.part(&format!("written by {}", party.name()), |tools| {
            // What an earlier run left must not be taken for this one's.
            let _ = std::fs::remove_file(&file);
            std::fs::create_dir_all(&directory).map_err(|error| Problem::Failed(error.to_string()))?;
            tools.run(party.corpus(tools)?.arg("write").arg(&file))?;
            Ok(String::new())
        });
        if wrote {
            written.push(file);
            readers.push(party);
        }
    }
    for party in readers {
        job.part(&format!("read by {}", party.name()), |tools| {
            tools.run(party.corpus(tools)?.arg("check").args(&written))?;
            Ok(format!("{} files", written.len()))
        });
    }
}
