//! `tests`: all tests of this machine's own architecture. The closing lines of the test runner are shown too.

use std::process::Command;

use super::{EVERYTHING, Job, cargo, closing_lines, has_nextest, tests_passed};
use crate::manifest;

/// Random cases for each property without generated code, a quarter of the usual: the interpreter, which is all that
/// differs, has been tried beside generated code as well.
const PROPTEST_CASES: &str = "64";

/// Tests with real processes meet machines of any load: one that fails is run again, and what then passes is told of by
/// name, as flaky. A test that fails again fails.
const RETRIES: &str = "2";

pub(super) fn run(job: &Job<'_>) {
    let nextest = has_nextest();
    let runner = |arguments: &[&str]| {
        let mut command = match nextest {
            true => cargo(["nextest", "run", "--status-level", "fail", "--final-status-level", "flaky"]),
            false => cargo(["test", "--quiet", "--lib", "--bins", "--tests"]),
        };
        if nextest {
            command.args(["--failure-output", "final", "--retries", RETRIES]);
        }
        command.arg("--no-fail-fast").args(arguments);
        command
    };
    counted(job, "all features", &mut runner(EVERYTHING));
    let mut without_jit = runner(&["-p", "banyan-ndr"]);
    without_jit.args(manifest::without_jit(job.root)).env("PROPTEST_CASES", PROPTEST_CASES);
    counted(job, "without jit", &mut without_jit);
    counted(job, "documentation", cargo(["test", "--doc"]).args(EVERYTHING));
}

fn counted(job: &Job<'_>, name: &str, command: &mut Command) {
    job.part(name, |tools| {
        let output = tools.run(command)?;
        Ok(with_closing_lines(tests_passed(&output)?, &output))
    });
}

fn with_closing_lines(note: String, output: &str) -> String {
    std::iter::once(note.as_str()).chain(closing_lines(output)).collect::<Vec<_>>().join("\n")
}
