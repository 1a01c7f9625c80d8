//! `banyan bench`: hands over to `banyan-bench`, a program of its own.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::speech;

/// The program that has the benches.
const PROGRAM: &str = "banyan-bench";

/// Measure Banyan beside its alternatives
///
/// The benches are a program of their own, banyan-bench. It is looked for beside banyan, then in PATH.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Bench {
    /// Arguments of banyan-bench; --help lists them
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Bench {
    pub(crate) fn run(self) -> Outcome {
        Err(hand_over(self.arguments))
    }
}

/// Replaces this process by `banyan-bench` if the arguments ask for benches; returns why that failed, or `None` if they ask for
/// something else.
///
/// The arguments are not parsed: those before and after the verb are passed on as they are, and `banyan-bench` has the same
/// options of every verb.
pub(crate) fn hand_over_if_asked() -> Option<Failure> {
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let verb = position_of_verb(&arguments)?;
    arguments.remove(verb).to_str().filter(|verb| *verb == "bench")?;
    Some(hand_over(arguments))
}

/// Where the verb stands, behind options of every verb only.
fn position_of_verb(arguments: &[OsString]) -> Option<usize> {
    let mut is_value = false;
    arguments.iter().map(|argument| argument.to_string_lossy()).position(|argument| {
        let is_verb = !is_value && !argument.starts_with('-');
        is_value = !is_value && speech::TAKING_VALUES.contains(&&*argument);
        is_verb
    })
}

/// Returns only if there is no such program, or if it cannot be started.
fn hand_over(arguments: Vec<OsString>) -> Failure {
    let beside = env::current_exe().ok().map(|this| this.with_file_name(PROGRAM)).filter(|program| program.is_file());
    let program = beside.unwrap_or_else(|| PathBuf::from(PROGRAM));
    let error = Command::new(&program).args(arguments).exec();
    if error.kind() == ErrorKind::NotFound {
        return Failure::new(format!(
            "{PROGRAM}: not found, neither beside {} nor in PATH; build it with `cargo build --release -p {PROGRAM}`, or \
             install it with `cargo install {PROGRAM}`",
            env::args_os().next().as_deref().unwrap_or(OsStr::new("banyan")).display()
        ));
    }
    Failure::system(program.display(), &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_is_the_first_word_that_is_neither_an_option_nor_its_value() {
        for (line, position) in [
            ("bench tree", Some(0)),
            ("-q bench", Some(1)),
            ("--log bench --color=always bench", Some(3)),
            ("--log --color bench", Some(2)),
            ("run -- bench", Some(0)),
            ("--version", None),
            ("", None),
        ] {
            let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(position_of_verb(&arguments), position, "{line}");
        }
    }
}
