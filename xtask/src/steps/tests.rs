//! `tests`: all tests of this machine's own architecture. The closing lines of the test runner are shown too.

use std::process::Command;

use super::{Job, cargo, closing_lines, has_nextest, tests_passed};
use crate::manifest;

pub(super) fn run(job: &Job<'_>) {
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
        Ok(with_closing_lines(tests_passed(&output)?, &output))
    });
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
