//! Many rounds, as `cargo xtask chaos` and `cargo xtask soak` ask for.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that people start speaks by its output")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::harness::{self, END_LIMIT, place};
use crate::plan::{Phase, Plan};
use crate::round;

/// Where the process of a round finds its seed, …
const SEED: &str = "BANYAN_CHAOS_SEED";

/// … and its phase, if it is not the one that the seed says.
const PHASE: &str = "BANYAN_CHAOS_PHASE";

/// The test that such a process is.
const ROUND: &str = "run::a_round_of_the_seed_in_the_environment";

/// The longest that a round may take: it has waves that come only just in time.
const ROUND_LIMIT: Duration = Duration::from_secs(300);

/// Rounds after which a front-end has allocated what it needs.
const WARM_UP: u64 = 5;

/// What a front-end that lives on may take beyond what it took after the warm-up.
const GROWTH_KIB: u64 = 16 * 1024;

/// Does nothing without a seed: the tests have rounds of their own.
pub(crate) fn a_round_of_the_seed_in_the_environment() {
    if let Ok(seed) = std::env::var(SEED) {
        let phase = std::env::var(PHASE).ok().and_then(|name| Phase::named(&name));
        round::run(&Plan::new(seed.parse().unwrap(), phase));
    }
}

/// Runs rounds from a seed on, each with a front-end of its own; all in one phase, if it is named.
pub(crate) fn chaos(rounds: &str, seed: &str, phase: &str) -> ExitCode {
    let (Ok(rounds), Ok(seed)) = (rounds.parse::<u64>(), seed.parse::<u64>()) else {
        eprintln!("rounds and seed are numbers");
        return ExitCode::from(2);
    };
    let named = Phase::named(phase);
    place::enter();
    let mut failed = 0;
    for seed in seed..seed.saturating_add(rounds) {
        let plan = Plan::new(seed, named);
        let environment = [(SEED, &*seed.to_string()), (PHASE, phase)];
        let mut result = harness::run_for(ROUND, &environment, Some(ROUND_LIMIT)).map(drop);
        let left = place::left(Instant::now() + END_LIMIT);
        if result.is_ok() && !left.is_empty() {
            result = Err(format!("sockets or shared memory are left:\n{}", left.join("\n")));
        }
        match result {
            Ok(()) => println!("ok      {plan}"),
            Err(why) => {
                failed += 1;
                println!("FAILED  {plan}\n        again: {}\n{why}", plan.again());
            }
        }
    }
    println!("{} passed, {failed} failed", rounds - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Where the process of a soak finds for how many seconds it runs.
const SECONDS: &str = "BANYAN_SOAK_SECONDS";

/// The test that such a process is.
const SOAK: &str = "run::a_soak_of_the_seed_in_the_environment";

/// Runs rounds with waves from a seed on in one front-end until the time is over.
pub(crate) fn soak(seconds: &str, seed: &str) -> ExitCode {
    place::enter();
    match harness::run_for(SOAK, &[(SECONDS, seconds), (SEED, seed)], None) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("FAILED\n{why}");
            ExitCode::FAILURE
        }
    }
}

/// Does nothing without a time. A front-end that lives on takes no more memory and descriptors than after its first rounds.
pub(crate) fn a_soak_of_the_seed_in_the_environment() {
    let variable = |name| std::env::var(name).ok().and_then(|text: String| text.parse::<u64>().ok());
    let (Some(seconds), Some(seed)) = (variable(SECONDS), variable(SEED)) else { return };
    let begin = Instant::now();
    let mut first = None;
    let mut rounds = 0;
    while begin.elapsed() < Duration::from_secs(seconds) || rounds <= WARM_UP {
        round::run(&Plan::new(seed.wrapping_add(rounds), Some(Phase::Waves)));
        rounds += 1;
        let (memory, descriptors) = used();
        eprintln!("round {rounds}: {memory} KiB, {descriptors} descriptors");
        if rounds >= WARM_UP {
            let (before, open) = *first.get_or_insert((memory, descriptors));
            assert!(memory <= before + GROWTH_KIB, "{memory} KiB after {rounds} rounds, {before} after {WARM_UP}");
            assert!(descriptors <= open, "{descriptors} descriptors after {rounds} rounds, {open} after {WARM_UP}");
        }
    }
}

/// Resident memory in KiB and open descriptors of this process.
fn used() -> (u64, usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let memory = line.trim().trim_end_matches(" kB").parse().unwrap();
    (memory, std::fs::read_dir("/proc/self/fd").unwrap().count())
}
