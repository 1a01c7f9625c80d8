//! From the arguments of a program to its exit status.

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use crate::failure::{Failure, Outcome};
use crate::speech;

/// Parses the arguments of this process and runs what they ask for. `run` learns whether that is `--json`, too.
///
/// A failure is reported, and so is what is wrong with the arguments.
pub fn run<P: CommandFactory + FromArgMatches>(run: impl FnOnce(P, bool) -> Outcome) -> ExitCode {
    let command = P::command().color(speech::color_of_help());
    let arguments = command.try_get_matches().unwrap_or_else(|error| Failure::refuse(&error));
    let program = P::from_arg_matches(&arguments).unwrap_or_else(|error| Failure::refuse(&error));
    run(program, is_json(&arguments)).unwrap_or_else(|failure| failure.report())
}

/// Whether the verb was asked for objects.
fn is_json(arguments: &ArgMatches) -> bool {
    matches!(arguments.try_get_one("json"), Ok(Some(true)))
        || arguments.subcommand().is_some_and(|(_, arguments)| is_json(arguments))
}
