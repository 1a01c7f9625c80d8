//! `miri`: the tests of the modules with `unsafe` blocks, in an interpreter that notices undefined behaviour.
//! What is undefined does not depend on the byte order; what comes out does, and step `cross` sees to that.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Job, nightly_cargo, tests_passed};
use crate::{install, manifest};

/// The modules of `banyan-ndr` whose tests are run: those with `unsafe` blocks. Of the kernels those that move bytes, by vector
/// instructions too: generated code Miri cannot run, and it gives floats other last digits than machines do.
const MODULES: &[&str] = &[
    "buffer::",
    "typed::",
    "cstruct::",
    "kernel::tests::random::every_way",
    "kernel::tests::edges::items",
    "kernel::tests::edges::an_array",
    "kernel::tests::edges::the_first",
];

/// Vector instructions that Miri knows and kernels use where there are some.
const VECTORS: Option<&str> = if cfg!(target_arch = "x86_64") { Some("-Ctarget-feature=+ssse3,+avx2") } else { None };

/// The test program of `banyan-ndr` that exercises them from outside.
const PROGRAM: [&str; 2] = ["--test", "typed"];

/// The modules of `banyan-sensor` that work on memory which threads share.
const SHARED: &[&str] = &["ring::", "latest::", "mailbox::", "payload::", "steering::letter::"];

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
        tools.run(tests(tools.root).arg("--lib").args(PROGRAM).arg("--no-run"))?;
        let tools = tools.within(LIMIT);
        let shared = tools.run(miri_test("banyan-sensor").args(["--lib", "--"]).args(SHARED))?;
        tests_passed(&shared)?;
        let inside = tools.run(tests(tools.root).args(["--lib", "--"]).args(MODULES))?;
        let outside = tools.run(tests(tools.root).args(PROGRAM))?;
        tests_passed(&inside)?;
        tests_passed(&(shared + &inside + &outside))
    });
}

fn tests(root: &Path) -> Command {
    let mut command = miri_test("banyan-ndr");
    command.args(manifest::without_jit(root));
    command
}

/// The tests of a crate under Miri.
fn miri_test(package: &str) -> Command {
    let mut command = nightly_cargo(["miri", "test", "-p", package]);
    command.envs(VECTORS.map(|flags| ("RUSTFLAGS", flags)));
    // Property tests ask for the time and the working directory, which isolation forbids.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", PROPTEST_CASES);
    command
}
