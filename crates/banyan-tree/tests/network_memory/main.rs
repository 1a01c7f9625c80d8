//! The memory of a network of a thousand members, by itself: its processes leave little of a machine for other tests.
//!
//! This program is the test, and when it is started as such the agent and the member of the network.

#[path = "../../../banyan-boot/tests/harness/mod.rs"]
mod harness;
#[path = "../network/known_filters.rs"]
mod known_filters;
#[path = "../network/member.rs"]
mod member;
#[path = "../../../banyan-boot/tests/sessions/relatives.rs"]
#[expect(dead_code, reason = "other tests look for agents there, too")]
mod relatives;
#[path = "../network/setup.rs"]
#[expect(dead_code, reason = "other networks are set up there, too")]
mod setup;

mod memory;

use std::process::ExitCode;

fn main() -> ExitCode {
    banyan_tree::register_filters(known_filters::known_filters());
    banyan_tree::become_agent_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["member", behaviour] => member::run(behaviour),
        _ => harness::run(TESTS, None, &[harness::ONE]),
    }
}

const TESTS: &[harness::Test] =
    tests![memory::a_thousand_members_and_a_front_end_that_does_not_receive_stay_within_their_bounds];
