//! Observers of programs that run on this machine, which acts out several hosts.
//!
//! This program is the tests, and when it is started as such the agent, the probe, a watched program, or another observer.

#[path = "../../../banyan-boot/tests/harness/mod.rs"]
mod harness;
#[path = "../../../banyan-boot/tests/sessions/relatives.rs"]
mod relatives;

mod other;
mod program;
mod setup;
mod taps;

use std::process::ExitCode;

fn main() -> ExitCode {
    banyan_monitor::become_probe_if_asked();
    banyan_tree::become_agent_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [program::ROLE] => program::run(),
        [other::ROLE, directory] => other::run(directory),
        _ => harness::run(TESTS, None, &[harness::ONE]),
    }
}

const TESTS: &[harness::Test] = tests![
    taps::events_of_programs_that_run_already_come_in_order_with_who_emitted_them,
    taps::processes_and_sensors_that_appear_later_are_watched_and_ends_are_told,
    taps::an_observer_that_takes_nothing_loses_events_which_are_counted,
    taps::the_ledger_balances_whoever_is_killed_or_stopped_and_however_often_a_tap_is_replaced,
    taps::a_killed_observer_is_not_noticed_by_others,
    taps::an_observer_that_is_dropped_leaves_nothing,
];
