//! `tests`: all tests of this machine's own architecture. The closing lines of the test runner are shown too.

use std::ffi::OsString;
use std::process::Command;

use super::readme::shell_commands;
use super::{EVERYTHING, Job, cargo, closing_lines, has_nextest, tests_passed};
use crate::report::Problem;
use crate::{install, manifest};

/// Random cases for each property without generated code, a quarter of the usual: the interpreter, which is all that
/// differs, has been tried beside generated code as well.
const PROPTEST_CASES: &str = "64";

/// Programs that tests compare with, and the packages that have them. A test without its program has nothing to say.
pub(super) const BESIDE: (&[&str], &[&str]) =
    (&["xmllint", "eu-stack", "nodeset", "valgrind"], &["libxml2-utils", "elfutils", "clustershell", "valgrind"]);

/// How many seconds a front-end receives nothing while the memory of a thousand members is watched: a variable of that test, which
/// is content with less when it is run by itself.
const HOLD: (&str, &str) = ("BANYAN_TEST_HOLD", "60");

pub(super) fn run(job: &Job<'_>) {
    let nextest = has_nextest();
    let path = programs_beside(job);
    let runner = |arguments: &[&str]| {
        let mut command = match nextest {
            true => cargo(["nextest", "run", "--status-level", "fail", "--final-status-level", "flaky"]),
            false => cargo(["test", "--quiet", "--lib", "--bins", "--tests"]),
        };
        if nextest {
            command.args(["--failure-output", "final"]);
        }
        command.arg("--no-fail-fast").args(arguments).env("PATH", &path).env(HOLD.0, HOLD.1);
        command
    };
    // Which takes longer than the tests where other builds are at work.
    if nextest && !job.command("programs", cargo(["nextest", "run", "--no-run"]).args(EVERYTHING)) {
        return;
    }
    if counted(job, "all features", &mut runner(EVERYTHING)) {
        examples(job);
    }
    let mut without_jit = runner(&["-p", "banyan-ndr"]);
    without_jit.args(manifest::without_jit(job.root)).env("PROPTEST_CASES", PROPTEST_CASES);
    counted(job, "without jit", &mut without_jit);
    counted(job, "documentation", cargo(["test", "--doc"]).args(EVERYTHING));
}

/// Gets the programs that tests compare with; where to look for programs then.
fn programs_beside(job: &Job<'_>) -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    job.part("programs beside", |tools| {
        install::programs(tools.runner, BESIDE.0, &[], BESIDE.1)?;
        let py_spy = install::wheel(tools.runner, tools.root, "py-spy")?;
        if let Some(directory) = py_spy.parent().filter(|directory| directory.is_absolute()) {
            path.push(":");
            path.push(directory);
        }
        Ok(String::new())
    });
    path
}

fn counted(job: &Job<'_>, name: &str, command: &mut Command) -> bool {
    job.part(name, |tools| {
        let output = tools.run(command)?;
        Ok(with_closing_lines(tests_passed(&output)?, &output))
    })
}

/// Chapters of the book that tell people to run examples.
const CHAPTERS: &[&str] = &["docs/own-tool.md", "docs/networks.md", "docs/sessions.md"];

/// What Cargo has to do before it runs an example, by the crates that have some.
const RUN_EXAMPLE: &[&str] = &["cargo run -p banyan --example ", "cargo run -p banyan-tree --example "];

/// Where it lies then.
const EXAMPLES: &str = "target/debug/examples/";

/// Runs the examples as chapters of the book say.
fn examples(job: &Job<'_>) {
    // With nextest they are there already.
    if !job.command("examples", cargo(["build", "--examples"]).args(EVERYTHING)) {
        return;
    }
    for chapter in CHAPTERS {
        job.part(&format!("examples of {chapter}"), |tools| {
            let text = std::fs::read_to_string(tools.root.join(chapter))
                .map_err(|error| Problem::Failed(format!("{chapter}: {error}")))?;
            let commands: Vec<String> = shell_commands(&text).filter_map(built_example).collect();
            if commands.is_empty() {
                return Err(Problem::Failed(format!("{chapter} tells to run no example")));
            }
            for command in commands {
                tools.run(Command::new("sh").args(["-c", &command]))?;
            }
            Ok(String::new())
        });
    }
}

/// A command that runs an example, without building it.
fn built_example(command: &str) -> Option<String> {
    match RUN_EXAMPLE.iter().find_map(|run| command.strip_prefix(run)) {
        Some(rest) => Some(format!("{EXAMPLES}{}", rest.replacen(" -- ", " ", 1))),
        None => command.starts_with(EXAMPLES).then(|| command.to_owned()),
    }
}

fn with_closing_lines(note: String, output: &str) -> String {
    std::iter::once(note.as_str()).chain(closing_lines(output)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn an_example_is_run_from_where_the_tests_built_it() {
        let own_tool = built_example("cargo run -p banyan --example own_tool -- 4x16");
        assert_eq!(own_tool.as_deref(), Some("target/debug/examples/own_tool 4x16"));
        let front_end = "target/debug/examples/front_end 4x16 target/debug/examples/back_end";
        assert_eq!(built_example(front_end).as_deref(), Some(front_end));
        assert_eq!(built_example("cargo build -p banyan-tree --examples"), None);
    }
}
