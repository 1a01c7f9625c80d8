//! The member that `banyan bench launch` and `banyan bench collectives` start, linked as a user's would be and as small.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use banyan_bench::launch::be_member;
use banyan_boot::become_agent_if_asked;

fn main() -> ExitCode {
    become_agent_if_asked();
    be_member()
}
