//! `miri`: the tests of the modules with `unsafe` blocks, in an interpreter that notices undefined behaviour, as a
//! little-endian and as a big-endian machine.

use std::time::Duration;

use super::{Job, nightly_cargo, tests_passed};
use crate::report::Problem;
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
            let mut command = nightly_cargo(["miri", "test", "-p", "banyan-ndr", "--lib"]);
            command.args(manifest::without_jit(tools.root));
            command.args(target.iter().flat_map(|triple| ["--target", triple]));
            // Property tests ask for the time and the working directory, which isolation forbids.
            command.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", PROPTEST_CASES);
            let output = tools.within(LIMIT).try_run(command.arg("--").args(MODULES)).map_err(Problem::from)?;
            tests_passed(&output)
        });
    }
}
