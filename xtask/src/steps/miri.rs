//! `miri`: the tests of the modules with `unsafe` blocks, in an interpreter that notices undefined behaviour, as a
//! little-endian and as a big-endian machine.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Job, nightly_cargo, tests_passed};
use crate::{install, manifest};

/// The modules of `banyan-ndr` whose tests are run: those with `unsafe` blocks. Not the kernels: theirs are vector
/// instructions and generated code, which Miri cannot run, and it gives NaNs other bits than machines do.
const MODULES: &[&str] = &["buffer::", "typed::", "cstruct::"];

/// The test program of `banyan-ndr` that exercises them from outside.
const PROGRAM: [&str; 2] = ["--test", "typed"];

const BIG_ENDIAN: &str = "s390x-unknown-linux-gnu";

/// Miri is a hundred times slower than the machine; the native run tries many random cases.
const PROPTEST_CASES: &str = "1";

/// The longest that the tests of one run may take, on a machine that does other things at the same time.
const LIMIT: Duration = Duration::from_secs(1200);

pub(super) fn run(job: &Job<'_>) {
    let installed = job.part("tool", |tools| {
        install::nightly_component(tools.runner, "miri")?;
        install::nightly_component(tools.runner, "rust-src")?;
        Ok(String::new())
    });
    if !installed {
        return;
    }
    job.part("native", |tools| {
        // How long building takes is the machine's business; how long the tests take is ours.
        tools.run(tests(tools.root, None).arg("--lib").args(PROGRAM).arg("--no-run"))?;
        let tools = tools.within(LIMIT);
        let inside = tools.run(tests(tools.root, None).args(["--lib", "--"]).args(MODULES))?;
        let outside = tools.run(tests(tools.root, None).args(PROGRAM))?;
        tests_passed(&inside)?;
        tests_passed(&(inside + &outside))
    });
    // From outside alone: the modules' own tests are about places in memory, which the byte order does not change.
    job.part(BIG_ENDIAN, |tools| {
        tools.run(tests(tools.root, Some(BIG_ENDIAN)).args(PROGRAM).arg("--no-run"))?;
        tests_passed(&tools.within(LIMIT).run(tests(tools.root, Some(BIG_ENDIAN)).args(PROGRAM))?)
    });
}

fn tests(root: &Path, target: Option<&str>) -> Command {
    let mut command = nightly_cargo(["miri", "test", "-p", "banyan-ndr"]);
    command.args(manifest::without_jit(root));
    command.args(target.iter().flat_map(|triple| ["--target", triple]));
    // Property tests ask for the time and the working directory, which isolation forbids.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", PROPTEST_CASES);
    command
}
