//! `miri`: the tests of the modules with `unsafe` blocks, in an interpreter that notices undefined behaviour, as a
//! little-endian and as a big-endian machine.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Job, nightly_cargo, tests_passed};
use crate::{install, manifest};

/// The modules of `banyan-ndr` whose tests are run: those with `unsafe` blocks that need no generated code.
const MODULES: &[&str] = &["buffer::", "typed::", "kernel::", "cstruct::"];

/// Miri is a hundred times slower than the machine; the native run tries many random cases.
const PROPTEST_CASES: &str = "4";

/// The two runs share four minutes.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn run(job: &mut Job<'_>) {
    let installed = job.part("tool", |tools| {
        install::nightly_component(tools.runner, "miri")?;
        install::nightly_component(tools.runner, "rust-src")?;
        Ok(String::new())
    });
    if !installed {
        return;
    }
    for (name, target) in [("native", None), ("s390x", Some("s390x-unknown-linux-gnu"))] {
        job.part(name, |tools| {
            // How long building takes is the machine's business; how long the tests take is ours.
            tools.run(tests(tools.root, target).arg("--no-run"))?;
            let output = tools.within(LIMIT).run(tests(tools.root, target).arg("--").args(MODULES))?;
            tests_passed(&output)
        });
    }
}

fn tests(root: &Path, target: Option<&str>) -> Command {
    let mut command = nightly_cargo(["miri", "test", "-p", "banyan-ndr", "--lib"]);
    command.args(manifest::without_jit(root));
    command.args(target.iter().flat_map(|triple| ["--target", triple]));
    // Property tests ask for the time and the working directory, which isolation forbids.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", PROPTEST_CASES);
    command
}
