//! Networks in programs that run on tokio, with real agents and members: on shared memory, as on one host, and over TCP alone.

#[path = "../../../banyan-boot/tests/harness/mod.rs"]
mod harness;

mod member;
mod waiting;

use std::process::ExitCode;

fn main() -> ExitCode {
    banyan::become_agent_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["member"] => member::run(),
        _ => harness::run(TESTS, None, &[harness::ONE, waiting::ONLY_TCP]),
    }
}

const TESTS: &[harness::Test] = tests![
    waiting::every_wave_is_found_while_other_tasks_run,
    waiting::tasks_that_wait_for_different_streams_get_their_waves,
    waiting::a_wave_that_another_task_took_in_is_found_at_once,
    waiting::a_wave_that_a_time_ends_is_found,
    waiting::a_member_that_waits_leaves_an_agent_that_is_stopped,
];
