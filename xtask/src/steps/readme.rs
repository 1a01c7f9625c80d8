//! `readme`: what README.md tells people to type first works, as they would type it: in a fresh clone, with the release build.
//!
//! The commands of Cargo in its `sh` blocks are run in order at the top of the repository. All others, and those of the
//! book, are run by the tests of `banyan-bench` (`stage.rs`). What the demo prints is what README.md shows; the tests of
//! `banyan-cli` compare it for the debug build, in the same way.

#[path = "../../../crates/banyan-cli/tests/command/told.rs"]
mod told;

use std::process::Command;

use super::Job;
use crate::report::{Outcome, Problem};

/// The command that is us: it must be in README.md, but is not run.
const OURSELVES: &str = "cargo xtask test";

/// The command whose output README.md shows.
const DEMO: &str = "cargo run --release -- demo";

pub(super) fn run(job: &Job<'_>) {
    let (mut text, mut commands) = (String::new(), Vec::new());
    let readme = job.part("README.md", |tools| {
        let path = tools.root.join("README.md");
        text = std::fs::read_to_string(path)
            .map_err(|error| Problem::Failed(format!("README.md cannot be read ({error}); it must be there")))?;
        commands = cargo_commands(&text);
        if !commands.iter().any(|command| command == OURSELVES) {
            return Err(Problem::Failed(format!("README.md does not tell to type `{OURSELVES}`")));
        }
        if commands.first().is_none_or(|command| command == OURSELVES) {
            return Err(Problem::Failed("the first command of README.md must show what the project does".to_owned()));
        }
        if !commands.iter().any(|command| command == DEMO) {
            return Err(Problem::Failed(format!("README.md does not tell to type `{DEMO}`")));
        }
        Ok(format!("{} commands", commands.len()))
    });
    if readme {
        for command in commands.iter().filter(|command| *command != OURSELVES) {
            job.part(command, |tools| {
                let printed = tools.run(Command::new("bash").args(["-euo", "pipefail", "-c", command]))?;
                if command == DEMO { compare(&text, &printed) } else { Ok(String::new()) }
            });
        }
    }
}

/// Whether the demo has printed what README.md shows.
fn compare(readme: &str, printed: &str) -> Outcome {
    let (shown, told) = (told::told_in(readme), told::told_in(printed));
    if shown == told && !told.is_empty() {
        return Ok("as README.md shows it".to_owned());
    }
    let at = shown.iter().zip(&told).take_while(|(shown, told)| shown == told).count();
    let line = |lines: &[String]| lines.get(at).map_or("nothing", String::as_str).to_owned();
    Err(Problem::Failed(format!(
        "{}\nREADME.md shows `{}` where the demo prints `{}`; put README.md right",
        printed.trim_end(),
        line(&shown),
        line(&told)
    )))
}

/// The commands of Cargo in the `sh` blocks of a document.
fn cargo_commands(document: &str) -> Vec<String> {
    shell_commands(document).filter(|command| command.starts_with("cargo ")).map(str::to_owned).collect()
}

/// The commands in the `sh` blocks of a document, without remarks.
pub(super) fn shell_commands(document: &str) -> impl Iterator<Item = &str> {
    let (mut inside, mut fenced) = (false, false);
    document.lines().map(str::trim).filter(move |line| {
        if let Some(mark) = line.strip_prefix("```") {
            inside = !fenced && mark == "sh";
            fenced = !fenced;
            return false;
        }
        inside && !line.is_empty() && !line.starts_with('#')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_from_blocks_of_shell_only() {
        let document = "\
# Title
```sh
# a remark
cargo first --flag
banyan second

cargo xtask test
```
```rust
cargo(this);
```
```
cargo nor this
```
";
        assert_eq!(cargo_commands(document), ["cargo first --flag", OURSELVES]);
        assert_eq!(shell_commands(document).count(), 3);
    }

    #[test]
    fn a_demo_that_prints_what_the_readme_does_not_show_is_found() {
        let demo = |lines: &str| format!("{}. started in 95 ms\n{lines}", told::BEGINNING.trim_end_matches('.'));
        let readme = format!("```text\n{}\n```\n", demo("64 take_part"));
        assert!(compare(&readme, &format!("Finished\n{}", demo("  7 take_part\n"))).is_ok());
        let told = compare(&readme, &demo("64 main\n"));
        assert!(
            matches!(told, Err(Problem::Failed(told)) if told.contains("`N take_part` where the demo prints `N main`"))
        );
        assert!(compare("", "").is_err());
    }
}
