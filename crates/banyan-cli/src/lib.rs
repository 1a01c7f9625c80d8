//! The `banyan` command, and what it shares with the programs that its verbs hand over to (`banyan-bench`).
//!
//! [`main`] is the command. The public modules are how such programs take arguments, print and report failures.
//!
//! Exit status: 0 success; 1 the work found a difference or failed, or some member did; 2 wrong usage; 3 some host could
//! not be reached or was lost; 4 a time limit has passed; 5 the system does not permit it; 128 and its
//! number for a signal that ends it.

#![forbid(unsafe_code)]

mod agent;
mod alike;
pub mod arguments;
mod arrival;
pub mod ask;
mod bench;
mod clock;
mod completions;
pub mod config;
mod copy;
mod demo;
mod doctor;
mod escaped;
pub mod failure;
mod filters;
pub mod hosts;
pub mod limit;
mod log;
pub mod manual;
pub mod output;
mod paint;
pub mod progress;
mod query;
mod records;
mod run;
pub mod screen;
pub mod signals;
mod sim;
pub mod speech;
mod stack;
pub mod status;
mod top;
mod topo;
mod unfinished;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use failure::Outcome;

/// Start, watch and debug processes on many machines through a tree of agents
///
/// Nothing needs to be installed on the hosts. Without hosts, every verb works on this machine. Every verb except
/// completions and manual takes --json. Errors name the cause and the remedy.
#[derive(Parser)]
#[command(
    name = "banyan",
    version,
    max_term_width = 100,
    after_help = "\
Exit status: 0 success; 1 a member or the work failed; 2 wrong usage; 3 a host could not be reached or was lost; \
4 time limit; 5 not permitted; 128 + N if signal N ended the command, so 130 after ^C.

Examples:
  banyan demo                            a tree of processes that loses nothing, in seconds
  banyan run -w node[1-8] -- uptime      a command on many hosts
  banyan stack --mpi PID_OF_MPIRUN       where the ranks of a job hang, and which rank is different
  banyan doctor -w node[1-8]             what would not work there, and how to fix it
  banyan copy -w n[1-8] data /scratch    files to many hosts, or from them
  banyan top -w node[1-8]                load and usage of hosts, live
  banyan clock -w node[1-8]              how far their clocks are apart, with a bound
  banyan query 'select * from solver.step limit 9'   events of running programs with sensors
  banyan records dump FILE               the records in a file, whoever wrote it
  banyan topo draw fanout:16:1000        a tree of 1000 members
  banyan bench records --quick           the speed of records on this machine"
)]
struct Banyan {
    #[command(flatten)]
    speech: speech::Speech,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    Demo(demo::Demo),
    Run(run::Run),
    Stack(stack::Stack),
    Copy(copy::Copy),
    Top(top::Top),
    Clock(clock::Clock),
    Query(query::Query),
    /// Look at, convert and compare files of records (Banyan's own, and those of FFS and PBIO)
    Records {
        #[command(flatten)]
        limit: limit::Limit,
        #[command(subcommand)]
        verb: records::Records,
    },
    /// Make, check and draw trees of processes
    Topo {
        #[command(flatten)]
        limit: limit::Limit,
        #[command(subcommand)]
        verb: topo::Topo,
    },
    Bench(bench::Bench),
    Sim(sim::Sim),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Manual(manual::Manual),
    #[command(hide = true)]
    Agent(agent::Agent),
}

/// The `banyan` command, or the agent or member that a session started from it.
pub fn main() -> ExitCode {
    // Before anything else: agents are started by the hundred, and need nothing of what follows.
    banyan_tree::register_filters(filters::filters());
    banyan_boot::register_agent_log(log::begin_at_agent);
    banyan_tree::become_agent_if_asked();
    banyan_monitor::become_probe_if_asked();
    demo::become_member_if_asked();
    top::become_member_if_asked();
    clock::become_member_if_asked();
    if let Some(failure) = bench::hand_over_if_asked() {
        return failure.report();
    }
    banyan_boot::process::keep_memory_private();
    arguments::run(|Banyan { speech, verb }, json| speech.begin(json).and_then(|()| verb.run()))
}

impl Verb {
    fn run(self) -> Outcome {
        match self {
            Verb::Demo(demo) => demo.run(),
            Verb::Run(run) => run.run(),
            Verb::Stack(stack) => stack.run(),
            Verb::Copy(copy) => copy.run(),
            Verb::Top(top) => top.run(),
            Verb::Clock(clock) => clock.run(),
            Verb::Query(query) => query.run(),
            Verb::Records { limit, verb } => limit.begin().and_then(|()| verb.run()),
            Verb::Topo { limit, verb } => limit.begin().and_then(|()| verb.run()),
            Verb::Bench(bench) => bench.run(),
            Verb::Sim(sim) => sim.run(),
            Verb::Doctor(doctor) => doctor.run(),
            Verb::Completions(completions) => completions.run(),
            Verb::Manual(manual) => manual.run(Banyan::command()),
            Verb::Agent(agent) => agent.run(),
        }
    }
}
