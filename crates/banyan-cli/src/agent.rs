//! `banyan agent`: what is said to people who start by hand what sessions start by themselves.
//!
//! A process that a session starts as agent never comes here: it becomes one before its arguments are parsed.

use clap::Args;

use crate::failure::{Failure, Outcome};

/// The process that a session starts on each host
///
/// An agent starts the members of its host, forwards their output and messages, and ends everything it started when the
/// session ends or is lost. `banyan run` and every program that launches a session start agents themselves: locally,
/// through ssh, srun or a command of your choice. There is no reason to start one by hand.
#[derive(Args)]
#[command(after_help = "\
The session secret is never in the arguments or the environment of an agent; it comes over the channel. \
To find out why agents do not start on a host, try:
  ssh -o BatchMode=yes HOST true
  banyan run -w HOST -- true")]
pub(crate) struct Agent {
    /// Descriptor 3 is a socket that the parent made
    #[arg(long, group = "channel")]
    inherited: bool,
    /// Standard input and output are connected to the parent
    #[arg(long, group = "channel")]
    pipes: bool,
    /// Exit unless this program has this BLAKE3 hash; with --pipes
    #[arg(long, value_name = "HASH", requires = "pipes")]
    check: Option<String>,
    /// The time between two heartbeats, in milliseconds
    #[arg(long, value_name = "MILLISECONDS")]
    heartbeat: Option<u64>,
    /// A file that names all agents and their addresses; `-` is standard input
    #[arg(long, value_name = "FILE", group = "channel")]
    roster: Option<String>,
}

impl Agent {
    pub(crate) fn run(self) -> Outcome {
        Err(Failure::usage(
            "an agent is started by its session, with one of --inherited, --pipes or --roster=FILE; to run a command on \
             hosts, use: banyan run -w HOSTS -- COMMAND",
        ))
    }
}
