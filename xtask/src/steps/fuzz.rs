//! `fuzz`: each fuzz target for a few seconds and at least 10,000 inputs, from the seeds in `fuzz/corpus/<target>/`.
//!
//! The targets are the files in `fuzz/src/targets`, built into one program. It is built by `cargo` itself with libFuzzer's
//! instrumentation, so that nothing but the nightly tool-chain and a C++ compiler is needed. Nothing is written outside
//! `target`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Job, Tools, nightly_cargo};
use crate::install;
use crate::report::{Outcome, Problem};

/// Coverage counters and compared values guide the fuzzer; the address sanitizer finds what goes out of bounds. Crates that
/// are not optimized (`fuzz/Cargo.toml`) have at least their smallest functions inlined.
const INSTRUMENTATION: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address -Ccodegen-units=1 \
    -Zmir-opt-level=2 -Zinline-mir=yes";

/// Where the targets are, a file each, and the file among them that lists them.
const TARGETS: (&str, &str) = ("fuzz/src/targets", "mod");

/// The program with all targets, and the variable that names the one to run.
const PROGRAM: (&str, &str) = ("banyan-fuzz", "FUZZ_TARGET");

/// Files that were made elsewhere, in a directory for each target: seeds too.
const GOLDEN: &str = "crates/banyan-files/tests/vectors";

/// The most that one allocation may take, in MiB. Inputs have a few thousand bytes: this is far from proportional.
const ALLOCATION_LIMIT: u32 = 64;

/// The most memory that a target may take, in MiB: instrumentation takes several times what the code asks for.
const MEMORY_LIMIT: u32 = 2048;

/// The fewest inputs that a target is given, however slow the machine.
const FEWEST_INPUTS: u64 = 10_000;

/// The longest that these may take, in seconds: a target that needs longer does too much with each.
const FEWEST_INPUTS_LIMIT: u32 = 900;

/// The longest that one input may take, in seconds. It is long only because the machine may be busy.
const INPUT_LIMIT: u32 = 20;

pub(super) fn run(job: &Job<'_>) {
    let targets = targets(job.root);
    let mut host = String::new();
    let built = job.part("build", |tools| {
        if targets.is_empty() {
            return Err(Problem::Failed(format!("no fuzz target in {}", TARGETS.0)));
        }
        install::nightly(tools.runner)?;
        install::programs(tools.runner, &["c++"], &[], &["g++"])?;
        host = host_triple(tools)?;
        let mut build = nightly_cargo(["build", "--manifest-path", "fuzz/Cargo.toml", "--release", "--bins"]);
        // A target of its own, even though it is this machine's, keeps the flags from build scripts and macros.
        build.args(["--target-dir", "target/fuzz", "--target", &host]).env("RUSTFLAGS", INSTRUMENTATION);
        tools.run(&mut build)?;
        Ok(format!("{} targets", targets.len()))
    });
    if !built {
        return;
    }
    let seconds = job.options.fuzz_seconds;
    for target in &targets {
        job.part(target, |tools| fuzz(tools, target, &host, seconds));
    }
}

/// Runs a target for a time, and goes on until it was given enough inputs.
fn fuzz(tools: &Tools<'_>, target: &str, host: &str, seconds: u32) -> Outcome {
    let first = runs(tools, target, host, None, seconds)?;
    let missing = FEWEST_INPUTS.saturating_sub(first);
    let more = if missing == 0 { 0 } else { runs(tools, target, host, Some(missing), FEWEST_INPUTS_LIMIT)? };
    if first + more < FEWEST_INPUTS {
        let reason = format!("{} inputs in {FEWEST_INPUTS_LIMIT} s, fewer than {FEWEST_INPUTS}", first + more);
        return Err(Problem::Failed(format!("{reason}: make the target do less with each input")));
    }
    Ok(format!("{} inputs", first + more))
}

/// Runs a target until it was given so many inputs, at most for a time. Returns how many it was given.
fn runs(tools: &Tools<'_>, target: &str, host: &str, inputs: Option<u64>, seconds: u32) -> Result<u64, Problem> {
    let work = tools.root.join("target/fuzz");
    let (found, artifacts) = (work.join("corpus").join(target), work.join("artifacts").join(target));
    for directory in [&found, &artifacts] {
        std::fs::create_dir_all(directory).map_err(|error| Problem::Failed(error.to_string()))?;
    }
    let mut command = Command::new(work.join(host).join("release").join(PROGRAM.0));
    command.env(PROGRAM.1, target);
    command.arg(format!("-max_total_time={seconds}"));
    command.args(inputs.map(|inputs| format!("-runs={inputs}")));
    command.arg(format!("-malloc_limit_mb={ALLOCATION_LIMIT}"));
    command.arg(format!("-rss_limit_mb={MEMORY_LIMIT}"));
    command.arg(format!("-timeout={INPUT_LIMIT}"));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    // New inputs go into the first directory; the seeds behind it are only read.
    command.arg(found);
    let seeds = [tools.root.join("fuzz/corpus").join(target), tools.root.join(GOLDEN).join(target)];
    command.args(seeds.iter().filter(|seeds| seeds.is_dir()));
    let output = tools.within(Duration::from_secs(u64::from(seconds) + 120)).run(&mut command)?;
    let done = output.lines().rev().find_map(|line| line.strip_prefix("Done ")?.split(' ').next()?.parse().ok());
    done.ok_or_else(|| Problem::Failed("the fuzzer does not say how many inputs it ran".to_owned()))
}

/// The names of the fuzz targets.
fn targets(root: &Path) -> Vec<String> {
    let Ok(entries) = root.join(TARGETS.0).read_dir() else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let sources = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut names: Vec<String> = sources.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.retain(|name| name != TARGETS.1);
    names.sort_unstable();
    names
}

fn host_triple(tools: &Tools<'_>) -> Result<String, Problem> {
    let version = tools.run(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Problem::Failed("rustc -vV names no host".to_owned()))
}
