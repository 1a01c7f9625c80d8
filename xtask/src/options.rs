//! What `cargo xtask test` can be asked to do.

use std::fmt::Write as _;

use crate::steps::STEPS;

/// How the steps are to be run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Options {
    /// Steps to run; empty means all.
    pub(crate) only: Vec<String>,
    /// Steps not to run.
    pub(crate) skip: Vec<String>,
    /// Stop at the first failure.
    pub(crate) fail_fast: bool,
    /// Show the output of every command as it comes.
    pub(crate) verbose: bool,
    /// How long each fuzz target runs.
    pub(crate) fuzz_seconds: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options { only: Vec::new(), skip: Vec::new(), fail_fast: false, verbose: false, fuzz_seconds: 5 }
    }
}

/// What the arguments ask for.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    Help,
    List,
    Run(Options),
}

impl Options {
    /// Reads the arguments behind `cargo xtask test`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Request, String> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "-h" | "--help" => return Ok(Request::Help),
                "--list" => return Ok(Request::List),
                "-v" | "--verbose" => options.verbose = true,
                "--fail-fast" => options.fail_fast = true,
                "--only" => options.only.push(step_name(value()?)?),
                "--skip" => options.skip.push(step_name(value()?)?),
                "--fuzz-seconds" => {
                    let text = value()?;
                    options.fuzz_seconds = text.parse().map_err(|_| format!("{text} is no number of seconds"))?;
                }
                other => return Err(format!("{other} is no option")),
            }
        }
        Ok(Request::Run(options))
    }

    /// Whether a step is wanted.
    pub(crate) fn wants(&self, step: &str) -> bool {
        let named = |steps: &[String]| steps.iter().any(|name| name == step);
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }
}

fn step_name(name: &str) -> Result<String, String> {
    if STEPS.iter().any(|step| step.name == name) {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
    Err(format!("no step is called {name}; the steps are {}", names.join(", ")))
}

/// The text of `--list`.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for step in STEPS {
        let _ = writeln!(text, "  {:<8} {}", step.name, step.what);
    }
    text.truncate(text.trim_end().len());
    text
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    format!(
        "\
Checks everything there is to check. All steps run, even behind one that failed; the status is 0 only if none did.
What a step needs and the machine lacks (Debian packages, rustup targets) is installed when that is possible;
otherwise the step, or that part of it, is left out, and the report ends with what was left out and why.

Usage: cargo xtask test [OPTIONS]

Options:
      --only STEP          Runs this step only; can be repeated
      --skip STEP          Leaves this step out; can be repeated
      --fail-fast          Stops at the first failure
      --fuzz-seconds N     Runs each fuzz target for N seconds (default 5), and 10,000 inputs at least
  -v, --verbose            Shows the output of every command as it comes
      --list               Lists the steps
  -h, --help               Shows this text

Steps:
{}",
        list()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn without_arguments_every_step_is_wanted() {
        let Ok(Request::Run(options)) = parse("") else { panic!("a run") };
        assert!(STEPS.iter().all(|step| options.wants(step.name)));
    }

    #[test]
    fn only_and_skip_choose_steps() {
        let Ok(Request::Run(options)) = parse("--only fmt --only doc --skip doc --fuzz-seconds 60") else {
            panic!("a run")
        };
        assert_eq!(options.fuzz_seconds, 60);
        assert!(options.wants("fmt") && !options.wants("doc") && !options.wants("tidy"));
    }

    #[test]
    fn wrong_arguments_are_refused_by_name() {
        assert!(parse("--only nonsense").is_err_and(|wrong| wrong.contains("nonsense") && wrong.contains("fmt")));
        assert!(parse("--fuzz-seconds soon").is_err_and(|wrong| wrong.contains("soon")));
        assert!(parse("--only").is_err_and(|wrong| wrong.contains("needs a value")));
        assert!(parse("--fast").is_err_and(|wrong| wrong.contains("--fast")));
    }
}
