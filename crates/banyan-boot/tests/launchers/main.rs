//! Agents that are started together by one command, on test hosts with Slurm: by `srun` inside and outside of an
//! allocation, by `pdsh`, by `mpirun` and by Hydra.
//!
//! ```text
//! cargo xtask hosts up 8 --slurm --home-size 256m --name NAME
//! BANYAN_TEST_XTASK=$PWD/target/debug/xtask BANYAN_TEST_CLUSTER=NAME cargo test -p banyan-boot --test launchers -- --ignored --test-threads=1
//! ```
//!
//! This program is the tests, and when it is started as such the agent, the member and the front-end of a session: a
//! front-end is a process of its own since it lives in an allocation.

#[path = "../harness/mod.rs"]
mod harness;

mod brought;
mod cluster;
#[expect(clippy::print_stdout, reason = "a front-end speaks to its test by its output")]
mod programs;
mod tests;

use std::process::ExitCode;

/// What is tested, by the words of its name.
const TESTS: &[harness::Test] = &[
    ("a_step_inside_an_allocation_starts_all_agents", tests::a_step_inside_an_allocation_starts_all_agents),
    ("an_allocation_gives_the_hosts_if_none_are_named", tests::an_allocation_gives_the_hosts_if_none_are_named),
    ("without_an_allocation_one_is_made", tests::without_an_allocation_one_is_made),
    ("pdsh_starts_agents", tests::pdsh_starts_agents),
    ("mpirun_starts_agents", tests::mpirun_starts_agents),
    ("hydra_starts_agents", tests::hydra_starts_agents),
    ("nodes_that_lack_the_agent_program_get_it", brought::nodes_that_lack_the_agent_program_get_it),
    ("a_program_that_is_damaged_or_half_there_comes_anew", brought::a_program_that_is_damaged_or_half_there_comes_anew),
    ("several_jobs_bring_it_at_once", brought::several_jobs_bring_it_at_once),
    (
        "what_a_killed_front_end_did_not_bring_is_not_started",
        brought::what_a_killed_front_end_did_not_bring_is_not_started,
    ),
    ("a_node_whose_home_is_full_keeps_it_elsewhere", brought::a_node_whose_home_is_full_keeps_it_elsewhere),
    ("a_node_that_cannot_keep_it_is_named", brought::a_node_that_cannot_keep_it_is_named),
    ("a_node_that_cannot_keep_it_is_left_out", brought::a_node_that_cannot_keep_it_is_left_out),
    ("enough_hosts_are_enough_for_slurm", tests::enough_hosts_are_enough_for_slurm),
    ("enough_hosts_are_enough_for_a_command", tests::enough_hosts_are_enough_for_a_command),
    ("a_command_that_fails_is_named_with_what_to_check", tests::a_command_that_fails_is_named_with_what_to_check),
    ("a_host_whose_agent_never_comes_is_named", tests::a_host_whose_agent_never_comes_is_named),
    ("hosts_that_only_miss_their_parents_are_not_blamed", tests::hosts_that_only_miss_their_parents_are_not_blamed),
    ("a_node_that_slurm_does_not_know_is_named", tests::a_node_that_slurm_does_not_know_is_named),
    ("a_drained_node_is_named_at_once_with_who_and_why", tests::a_drained_node_is_named_at_once_with_who_and_why),
    ("a_drained_node_is_left_out_where_others_are_enough", tests::a_drained_node_is_left_out_where_others_are_enough),
    ("a_cancelled_allocation_is_named_and_leaves_nothing", tests::a_cancelled_allocation_is_named_and_leaves_nothing),
    ("a_killed_front_end_leaves_nothing", tests::a_killed_front_end_leaves_nothing),
    ("a_front_end_killed_while_it_queues_leaves_no_job", tests::a_front_end_killed_while_it_queues_leaves_no_job),
    (
        "a_roster_goes_with_a_front_end_that_is_killed_before_all_came",
        tests::a_roster_goes_with_a_front_end_that_is_killed_before_all_came,
    ),
];

fn main() -> ExitCode {
    banyan_boot::become_agent_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["member", what] => programs::member(what),
        ["front-end", launcher, fanout, hosts, what] => programs::front_end(launcher, fanout, hosts, what),
        _ => harness::run(TESTS, Some("needs test hosts: cargo xtask test --only sessions"), &[harness::ONE]),
    }
}
