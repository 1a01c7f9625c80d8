//! Networks on this machine in which processes of every role are killed, terminated, stopped and continued, from a seed.
//!
//! This program is the tests, and when it is started as such the agent, the member and the front-end of a network.
//! `cargo xtask chaos` and `cargo xtask soak` run it with other seeds than the tests do.

#[path = "../../../banyan-boot/tests/harness/mod.rs"]
mod harness;
#[path = "../../../banyan-boot/tests/sessions/relatives.rs"]
mod relatives;

mod member;
mod plan;
mod round;
mod run;

use std::process::ExitCode;

fn main() -> ExitCode {
    banyan_tree::become_agent_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["member"] => member::run(),
        ["front-end", shape, only_tcp] => round::front_end(shape, only_tcp == "true"),
        ["chaos", rounds, seed, phase] => run::chaos(rounds, seed, phase),
        ["soak", seconds, seed] => run::soak(seconds, seed),
        _ => harness::run(TESTS, None, &[harness::ONE]),
    }
}

const TESTS: &[harness::Test] = tests![
    round::a_launch_beside_faults_succeeds_or_fails_cleanly,
    round::waves_beside_faults_are_right_and_go_on,
    round::a_network_that_ends_beside_faults_leaves_nothing,
    round::a_front_end_that_is_killed_beside_faults_leaves_nothing,
    run::a_round_of_the_seed_in_the_environment,
    run::a_soak_of_the_seed_in_the_environment,
];
