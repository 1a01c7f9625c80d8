//! `tests`: all tests of this machine's own architecture. The closing lines of the test runner are shown.

use std::process::Command;

use super::{Job, cargo, closing_lines, has_nextest, tests_passed};
use crate::{manifest, report};

pub(super) fn run(job: &mut Job<'_>) {
    let nextest = has_nextest();
    let runner = |arguments: &[&str]| {
        let mut command =
            if nextest { cargo(["nextest", "run"]) } else { cargo(["test", "--lib", "--bins", "--tests"]) };
        command.arg("--no-fail-fast").args(arguments);
        command
    };
    counted(job, "workspace", &mut runner(&["--workspace"]));
    counted(job, "without jit", runner(&["-p", "banyan-ndr"]).args(manifest::without_jit(job.root)));
    counted(
        job,
        "with arrow",
        &mut runner(&["-p", "banyan-ndr", "--features", "arrow", "--test", "export", "--test", "bombs"]),
    );
    job.part("documentation", |tools| {
        let output = tools.run(&mut cargo(["test", "--workspace", "--doc"]))?;
        closing_lines(&output).for_each(report::show);
        Ok(String::new())
    });
}

fn counted(job: &mut Job<'_>, name: &str, command: &mut Command) {
    job.part(name, |tools| {
        let output = tools.run(command)?;
        closing_lines(&output).for_each(report::show);
        tests_passed(&output)
    });
}
