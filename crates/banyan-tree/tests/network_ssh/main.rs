//! Networks over test hosts, by ssh: links of the tree between hosts, agents that are killed there, hosts that are cut off.
//!
//! `cargo xtask test --only sessions` makes the hosts, runs these tests and removes the hosts. This program is the tests,
//! and when it is started as such the agent and the member of a network.

#[path = "../../../banyan-boot/tests/harness/mod.rs"]
mod harness;
#[path = "../network/known_filters.rs"]
mod known_filters;
#[path = "../network/member.rs"]
mod member;
#[path = "../network/setup.rs"]
#[expect(dead_code, reason = "networks on this machine are set up there, too")]
mod setup;

mod cuts;
mod firewalls;
mod hosts;
mod losses;

use std::process::ExitCode;

fn main() -> ExitCode {
    banyan_tree::register_filters(known_filters::known_filters());
    banyan_tree::become_agent_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["member", behaviour] => member::run(behaviour),
        ["front-end"] => losses::front_end(),
        _ => harness::run(TESTS, Some("needs test hosts: cargo xtask test --only sessions"), &[harness::ONE]),
    }
}

const TESTS: &[harness::Test] = tests![
    losses::members_on_four_hosts_give_the_right_sums,
    losses::a_front_end_that_computes_for_long_loses_nobody,
    losses::members_attach_from_hosts_without_an_agent,
    losses::a_killed_front_end_leaves_nothing_on_any_host_whatever_its_patience,
    losses::a_killed_ssh_or_keeper_costs_no_member,
    losses::an_agent_killed_on_a_host_during_pipelined_waves_loses_none,
    cuts::a_host_that_is_cut_off_for_a_moment_is_in_every_wave,
    cuts::a_host_of_256_members_that_is_cut_off_during_pipelined_waves_is_in_every_one,
    cuts::a_host_that_is_cut_off_for_long_is_given_up_and_comes_back,
    cuts::a_host_that_never_comes_back_ends_what_it_has,
    firewalls::hosts_that_let_nothing_but_ssh_pass_give_the_right_sums,
    firewalls::agents_below_agents_give_the_right_sums_where_nothing_but_ssh_passes,
    firewalls::a_front_end_that_computes_for_long_loses_nobody_behind_a_firewall,
    firewalls::a_link_that_breaks_behind_a_firewall_is_replaced_through_ssh,
    firewalls::an_agent_killed_behind_a_firewall_costs_what_is_below_it_and_nobody_else,
];
