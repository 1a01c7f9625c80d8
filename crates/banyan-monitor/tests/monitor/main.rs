//! Observers of programs that run on this machine, which acts out several hosts.
//!
//! This program is the tests, and when it is started as such the agent, the probe, a watched program, or another observer.

#[path = "../../../banyan-boot/tests/harness/mod.rs"]
mod harness;
#[path = "../../../banyan-boot/tests/sessions/relatives.rs"]
mod relatives;

mod mpi;
mod other;
mod program;
mod queries;
mod setup;
mod steering;
mod taps;

use std::process::ExitCode;

fn main() -> ExitCode {
    banyan_monitor::become_probe_if_asked();
    banyan_tree::become_agent_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [program::ROLE] => program::run(),
        [program::RANK] => program::run_as_rank(),
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
    taps::a_killed_probe_is_told_and_the_ledger_says_what_is_not_known,
    queries::windows_of_all_hosts_are_reduced_and_every_event_is_in_one,
    queries::rows_come_in_order_and_what_is_filtered_is_counted,
    queries::sliding_windows_are_put_together_at_the_observer,
    queries::a_query_that_does_not_fit_a_format_is_refused_by_name,
    queries::a_query_is_replaced_three_times_while_programs_and_agents_are_killed_and_the_ledger_balances,
    steering::a_knob_is_set_in_all_processes_and_each_acknowledges_or_says_why_not,
    mpi::a_job_of_open_mpi_is_watched_from_its_middle_to_its_end,
    steering::a_knob_changes_at_one_step_in_all_processes_or_in_none,
];
