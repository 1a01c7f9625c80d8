//! Sessions through the system's ssh, on test hosts: they start, fail with a cause and a remedy, and leave nothing.
//!
//! `cargo xtask test --only sessions` makes the hosts, runs these tests and removes the hosts. This program is the tests,
//! and when it is started as such the agent, the member and the front-end of a session.

#[path = "../sessions/asked_member.rs"]
mod asked_member;
#[path = "../harness/mod.rs"]
mod harness;
#[path = "../sessions/member.rs"]
mod member;
#[path = "../sessions/network.rs"]
mod network;
#[path = "../sessions/setup.rs"]
mod setup;

mod cluster;
mod failures;
mod guards;
mod launches;
mod losses;

use std::process::ExitCode;

fn main() -> ExitCode {
    banyan_boot::become_agent_if_asked_with(|| Box::new(network::Extension::default()), network::guard);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["member", "asked"] => asked_member::run(),
        ["member", ref rest @ ..] => member::run(rest),
        ["front-end"] => losses::front_end(),
        _ => harness::run(TESTS, Some("needs test hosts: cargo xtask test --only sessions"), &[harness::ONE]),
    }
}

const TESTS: &[harness::Test] = tests![
    launches::hosts_without_the_agent_program_get_it_once,
    launches::collectives_work_over_hosts_that_start_each_other,
    launches::hosts_that_others_cannot_start_are_started_by_the_front_end,
    launches::a_host_that_greets_and_prints_garbage_works,
    launches::members_attach_from_hosts_without_an_agent,
    failures::hosts_that_refuse_are_named_with_cause_and_remedy,
    failures::hosts_that_stay_silent_are_given_up,
    failures::an_unreachable_host_below_another_is_named_and_those_below_it_are_not_lost,
    failures::one_dead_host_of_ten_is_an_error_unless_nine_are_enough,
    failures::an_agent_of_another_protocol_is_refused,
    failures::an_installed_agent_that_is_missing_is_named,
    failures::a_full_disk_is_named_if_the_program_may_be_nowhere_else,
    failures::a_host_whose_home_is_full_keeps_the_program_elsewhere,
    failures::a_host_whose_home_is_read_only_or_noexec_keeps_the_program_elsewhere,
    failures::a_host_where_no_program_can_be_started_is_named_with_the_cause,
    failures::host_names_that_look_like_options_never_reach_ssh,
    guards::members_of_a_killed_agent_on_a_host_live_on_until_it_is_over,
    guards::a_host_whose_ssh_is_killed_goes_on_until_it_is_over,
    losses::a_killed_agent_on_a_host_is_reported_and_leaves_nothing,
    losses::a_killed_front_end_leaves_nothing_on_any_host,
    losses::a_stopped_front_end_leaves_nothing_on_any_host,
];
