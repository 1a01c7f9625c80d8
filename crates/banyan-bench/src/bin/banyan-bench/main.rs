//! The benches behind `banyan bench`, in a program of their own.
//!
//! `banyan` hands `banyan bench …` over to this program, which has its place beside it. The agents, members and peers that are
//! measured are processes of this program, too.

#![forbid(unsafe_code)]

mod benches;
mod events;
mod exchange;
mod launch;
mod layers;
mod plot;
mod predict;
mod records;
mod study;
mod tree;

use std::process::ExitCode;

use banyan_tree::reduce::Filters;

fn main() -> ExitCode {
    // Before anything else: agents are started by the hundred, and need nothing of what follows.
    banyan_tree::register_filters(filters());
    banyan_tree::become_agent_if_asked();
    banyan_bench::tree::become_process_if_asked();
    banyan_bench::launch::become_process_if_asked();
    banyan_bench::layers::become_process_if_asked();
    banyan_bench::exchange::become_process_if_asked();
    banyan_cli::arguments::run(study::Benches::run)
}

/// The filters of all agents that are measured.
fn filters() -> Filters {
    let mut filters = Filters::default();
    banyan_bench::layers::add_filters(&mut filters);
    filters
}
