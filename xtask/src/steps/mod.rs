//! The steps of `cargo xtask test`: what is quick and fails often comes first, then several [`Lane`]s of steps side by
//! side.
//!
//! A step is a function that runs its parts one after the other through a [`Job`]. A part passes, fails or is left
//! out; a step goes on behind a part that failed.

mod clippy;
mod corpus;
mod cross;
mod deny;
mod doc;
mod fmt;
mod fuzz;
mod hosts;
mod miri;
mod model;
mod readme;
mod sessions;
mod surface;
mod tests;
mod tidy;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::report::{self, Cost, Outcome, Problem, Report};
use crate::run::{Failure, Runner, processor_time};

/// Check everything there is to check
///
/// All steps run, even behind one that failed; the status is 0 only if none did. What a step needs and the machine lacks
/// (Debian packages, rustup targets) is installed when that is possible; otherwise the step, or that part of it, is left
/// out, and the report ends with what was left out and why.
#[derive(clap::Args)]
#[command(after_help = format!("Steps:\n{}", list()))]
pub(crate) struct Options {
    /// Run this step only; can be repeated
    #[arg(long, value_name = "STEP", value_parser = step_names())]
    only: Vec<String>,
    /// Leave this step out; can be repeated
    #[arg(long, value_name = "STEP", value_parser = step_names())]
    skip: Vec<String>,
    /// Stop at the first failure
    #[arg(long)]
    fail_fast: bool,
    /// How long each fuzz target runs; 10,000 inputs at least
    #[arg(long, value_name = "N", default_value_t = 5)]
    fuzz_seconds: u32,
    /// Show the output of every command as it comes
    #[arg(long, short)]
    verbose: bool,
    /// List the steps
    #[arg(long)]
    list: bool,
}

impl Options {
    /// Whether a step is wanted.
    fn wants(&self, step: &str) -> bool {
        let named = |steps: &[String]| steps.iter().any(|name| name == step);
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }
}

fn step_names() -> clap::builder::PossibleValuesParser {
    STEPS.iter().map(|step| step.name).into()
}

/// The steps, a line each.
fn list() -> String {
    let lines: Vec<String> = STEPS.iter().map(|step| format!("  {:<8} {}", step.name, step.what)).collect();
    lines.join("\n")
}

/// A step.
struct Step {
    /// What it is called on the command line.
    name: &'static str,
    /// What it does, for people.
    what: &'static str,
    lane: Lane,
    run: fn(&Job<'_>),
}

/// Steps of different lanes run side by side, those of one lane in the order of [`STEPS`]. Cargo builds one thing at a
/// time in a directory, so a lane is what builds in the same one; and while one lane waits for a single long
/// compilation or a single slow test, another uses the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lane {
    /// Takes seconds, and comes before all others.
    First,
    /// Builds in `target/debug` for this machine.
    Debug,
    /// Builds for emulated machines, each in a directory of its own. Cargo lets it and the lane before build in turn,
    /// because both need what runs while building; the tests of one run while the other builds.
    Emulated,
    /// Builds by the nightly tool-chain, in `target/surface` and `target/miri`; and in `target/loom`.
    Nightly,
    /// Builds in `target/fuzz` and `target/release`.
    Optimized,
}

/// The lanes behind the first.
const SIDE_BY_SIDE: [Lane; 4] = [Lane::Debug, Lane::Emulated, Lane::Nightly, Lane::Optimized];

/// All steps.
const STEPS: &[Step] = &[
    step("fmt", Lane::First, "The code is formatted", fmt::run),
    step("tidy", Lane::First, "The rules of the repository that no other tool checks", tidy::run),
    step("deny", Lane::First, "Licences and sources of dependencies are those that are wanted", deny::run),
    // These two wait more than they compute: other lanes have work to do meanwhile, but not at the end.
    step("hosts", Lane::Debug, "Hosts for tests are made, work, misbehave as asked, and are gone", hosts::run),
    step(
        "sessions",
        Lane::Debug,
        "Sessions over test hosts start, fail as they should, and leave nothing",
        sessions::run,
    ),
    step("tests", Lane::Debug, "Unit, integration and documentation tests, with and without jit", tests::run),
    step("clippy", Lane::Debug, "No lint warns, whatever the features", clippy::run),
    step("doc", Lane::Debug, "The documentation builds without warnings", doc::run),
    step("cross", Lane::Emulated, "The tests on emulated machines of other architectures", cross::run),
    step("corpus", Lane::Emulated, "Every architecture reads what every other one wrote", corpus::run),
    step("surface", Lane::Nightly, "The public interfaces are those in docs/surface", surface::run),
    step("miri", Lane::Nightly, "The unsafe modules under Miri", miri::run),
    step("model", Lane::Nightly, "What rings promise under a model checker", model::run),
    step("readme", Lane::Optimized, "The commands in README.md and in docs do what they say", readme::run),
    step("fuzz", Lane::Optimized, "Each fuzz target for a few seconds", fuzz::run),
];

const fn step(name: &'static str, lane: Lane, what: &'static str, run: fn(&Job<'_>)) -> Step {
    Step { name, what, lane, run }
}

/// The longest that one command may take, where its step says nothing else: as long as the whole should.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// Runs the steps that are wanted and reports on them.
pub(crate) fn run_all(root: &Path, options: &Options) -> ExitCode {
    if options.list {
        return report::say(&list());
    }
    let start = Instant::now();
    let report = Mutex::new(Report::default());
    let run = |lane: Lane| {
        for step in STEPS.iter().filter(|step| step.lane == lane && options.wants(step.name)) {
            (step.run)(&Job { step: step.name, root, options, report: &report });
        }
    };
    run(Lane::First);
    if options.verbose {
        // Outputs that mix as they come could not be read.
        SIDE_BY_SIDE.into_iter().for_each(run);
    } else {
        thread::scope(|scope| {
            for lane in SIDE_BY_SIDE {
                scope.spawn(move || run(lane));
            }
        });
    }
    report.into_inner().unwrap_or_else(PoisonError::into_inner).close(start.elapsed())
}

/// A step at work.
pub(crate) struct Job<'a> {
    step: &'static str,
    root: &'a Path,
    options: &'a Options,
    report: &'a Mutex<Report>,
}

impl Job<'_> {
    /// Runs a part of the step, unless the whole is to stop. True if it passed.
    fn part(&self, name: &str, run: impl FnOnce(&Tools<'_>) -> Outcome) -> bool {
        if self.options.fail_fast && self.report().has_failure() {
            return false;
        }
        report::doing(self.step, name);
        let (start, before) = (Instant::now(), processor_time());
        let runner = Runner { verbose: self.options.verbose, limit: LIMIT };
        let outcome = run(&Tools { root: self.root, runner });
        let passed = outcome.is_ok();
        let cost = Cost { time: start.elapsed(), processor: processor_time() - before };
        self.report().add(self.step, name, cost, outcome);
        passed
    }

    /// A part that is one command.
    fn command(&self, name: &str, command: &mut Command) -> bool {
        self.part(name, |tools| tools.run(command).map(|_| String::new()))
    }

    fn report(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a part works with.
struct Tools<'a> {
    root: &'a Path,
    runner: Runner,
}

impl Tools<'_> {
    /// Runs a command at the top of the repository.
    fn run(&self, command: &mut Command) -> Result<String, Problem> {
        Ok(self.try_run(command)?)
    }

    /// As [`Tools::run`], for a failure that the step has its own words for.
    fn try_run(&self, command: &mut Command) -> Result<String, Failure> {
        self.runner.run(command.current_dir(self.root))
    }

    /// The same with another time limit.
    fn within(&self, limit: Duration) -> Tools<'_> {
        Tools { root: self.root, runner: Runner { limit, ..self.runner } }
    }
}

/// The arguments that choose all crates with all their features, in one build for most steps: Arrow, which is off by
/// default, takes nothing away. Without it the lints and `without jit` see the same code.
pub(crate) const EVERYTHING: &[&str] =
    &["--workspace", "--features", "banyan-cli/arrow,banyan/arrow,banyan/files,banyan/tokio"];

/// `cargo` with these arguments, by the tool-chain in use.
fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments);
    build_once(&mut command);
    command
}

/// Whether nextest is installed: it runs the tests of all programs side by side, and its report is better.
/// Documentation tests it cannot run.
fn has_nextest() -> bool {
    Runner { verbose: false, limit: LIMIT }.run(&mut cargo(["nextest", "--version"])).is_ok()
}

/// `cargo` with these arguments, by the nightly tool-chain.
pub(crate) fn nightly_cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).args(arguments);
    build_once(&mut command);
    command
}

/// What Cargo writes down to build faster after the next change costs every build time, and is of no use to one that no
/// change follows. Who makes changes between runs sets the variable.
fn build_once(command: &mut Command) {
    if std::env::var_os("CARGO_INCREMENTAL").is_none() {
        command.env("CARGO_INCREMENTAL", "0");
    }
}

/// The closing lines of test runners: one for each test program that ran any test, and the tests that passed only when
/// they were run again.
fn closing_lines(output: &str) -> impl Iterator<Item = &str> {
    let closes = |line: &&str| line.starts_with("test result:") || line.starts_with("Summary [");
    let lines = output.lines().map(str::trim).filter(move |line| closes(line) || line.starts_with("FLAKY "));
    lines.filter(|line| passed_in(line) > 0 || line.starts_with("FLAKY "))
}

/// How many tests passed, by the closing lines of `cargo test`, and how many of them only when they were run again.
fn tests_passed(output: &str) -> Outcome {
    let flaky = closing_lines(output).filter(|line| line.starts_with("FLAKY ")).count();
    match (closing_lines(output).map(passed_in).sum::<usize>(), flaky) {
        (0, _) => Err(Problem::Failed(format!("{}\nno test was run", output.trim_end()))),
        (count, 0) => Ok(format!("{count} tests")),
        (count, flaky) => Ok(format!("{count} tests, {flaky} only when run again")),
    }
}

fn passed_in(line: &str) -> usize {
    let before = line.split_once(" passed").map_or("", |(before, _)| before);
    before.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn closing_lines_of_both_runners_are_counted() {
        let cargo = "test result: ok. 12 passed; 0 failed; 0 ignored\ntest result: ok. 0 passed; 0 failed\nrunning 3 tests\ntest result: ok. 3 passed; 0 failed";
        assert_eq!(closing_lines(cargo).count(), 2);
        assert!(tests_passed(cargo).is_ok_and(|note| note == "15 tests"));
        let nextest = "     Summary [   0.5s] 40 tests run: 40 passed (1 flaky), 0 skipped\n   FLAKY 2/3 [   0.1s] (7/40) crate test";
        assert!(tests_passed(nextest).is_ok_and(|note| note == "40 tests, 1 only when run again"));
        assert_eq!(closing_lines(nextest).count(), 2, "a flaky test is named");
    }

    #[test]
    fn a_run_without_any_test_is_no_success() {
        assert!(matches!(tests_passed("test result: ok. 0 passed; 0 failed"), Err(Problem::Failed(_))));
    }
}
