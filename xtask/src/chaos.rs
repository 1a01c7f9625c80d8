//! `cargo xtask chaos` and `cargo xtask soak`: networks whose processes are killed, terminated, stopped and continued, from a
//! seed. The rounds themselves are the test program `chaos` of `banyan-tree`, a few of which run with the tests.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::report;

const CHAOS_HELP: &str = "\
Runs networks on this machine while their processes are killed, terminated, stopped and continued.

Each round has a plan that follows from its seed: the shape of the tree, its links, and which processes are disturbed when.
After a round nothing may be left. A round that fails prints the command that repeats it.

Usage: cargo xtask chaos [--rounds N] [--seed S]

Options:
  --rounds N  How many rounds [default: 20]
  --seed S    The seed of the first; the next one has the next seed [default: 0]";

const SOAK_HELP: &str = "\
Runs rounds of `cargo xtask chaos` with waves in one front-end, until a time has passed.

Its memory and descriptors may not grow beyond what the first rounds needed.

Usage: cargo xtask soak [--for TIME] [--seed S]

Options:
  --for TIME  How long, as 90s, 20m or 1h [default: 10m]
  --seed S    The seed of the first round [default: 0]";

/// Runs `cargo xtask chaos`.
pub(crate) fn chaos(root: &Path, arguments: &[String]) -> ExitCode {
    run(root, arguments, CHAOS_HELP, |options| ["chaos".into(), options.rounds.to_string(), options.seed.to_string()])
}

/// Runs `cargo xtask soak`.
pub(crate) fn soak(root: &Path, arguments: &[String]) -> ExitCode {
    run(root, arguments, SOAK_HELP, |options| ["soak".into(), options.seconds.to_string(), options.seed.to_string()])
}

#[derive(Debug, PartialEq)]
struct Options {
    rounds: u64,
    seed: u64,
    seconds: u64,
}

fn run(root: &Path, arguments: &[String], help: &str, words: fn(&Options) -> [String; 3]) -> ExitCode {
    if arguments.iter().any(|argument| matches!(argument.as_str(), "-h" | "--help")) {
        return report::say(help);
    }
    let words = match Options::parse(arguments).map(|options| words(&options)) {
        Ok(words) => words,
        Err(wrong) => return report::refuse(&format!("{wrong}\n\n{help}")),
    };
    let mut test = Command::new("cargo");
    test.current_dir(root).args(["test", "--quiet", "--package", "banyan-tree", "--test", "chaos", "--"]).args(words);
    match test.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => report::refuse(&format!("cargo cannot be started: {error}")),
    }
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options { rounds: 20, seed: 0, seconds: 600 };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let text = arguments.next().ok_or(format!("{argument} needs a value"))?;
            let number = || text.parse().map_err(|_| format!("{argument} takes a number, not {text}"));
            match argument.as_str() {
                "--rounds" => options.rounds = number()?,
                "--seed" => options.seed = number()?,
                "--for" => options.seconds = seconds(text)?,
                other => return Err(format!("{other} is not an option")),
            }
        }
        Ok(options)
    }
}

/// Seconds of a time such as `90s`, `20m` or `1h`.
fn seconds(text: &str) -> Result<u64, String> {
    let units = [('s', 1), ('m', 60), ('h', 3600)];
    let of = |(unit, seconds): (char, u64)| text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(seconds);
    units.into_iter().find_map(of).ok_or(format!("{text} is not a time such as 90s, 20m or 1h"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!([seconds("90s"), seconds("20m"), seconds("1h")], [Ok(90), Ok(1200), Ok(3600)]);
        assert!(["", "5", "1.5h", "-1s", "99999999999999999999h"].into_iter().all(|text| seconds(text).is_err()));
    }

    #[test]
    fn options_have_defaults_and_errors_name_them() {
        let parse = |text: &str| Options::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(parse("--seed 7"), Ok(Options { rounds: 20, seed: 7, seconds: 600 }));
        assert_eq!(parse("--rounds many"), Err("--rounds takes a number, not many".into()));
        assert_eq!(parse("--round 3"), Err("--round is not an option".into()));
    }
}
