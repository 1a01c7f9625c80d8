//! `readme`: what README.md tells people to type first works, as they would type it: in a fresh clone, with the release build.
//!
//! The commands of Cargo in its `sh` blocks are run in order at the top of the repository. All others, and those of the
//! book, are run by the tests of `banyan-cli` (`stage.rs`).

use std::process::Command;

use super::Job;
use crate::report::Problem;

/// The command that is us: it must be in README.md, but is not run.
const OURSELVES: &str = "cargo xtask test";

pub(super) fn run(job: &Job<'_>) {
    let mut commands = Vec::new();
    let readme = job.part("README.md", |tools| {
        let path = tools.root.join("README.md");
        let text = std::fs::read_to_string(path)
            .map_err(|error| Problem::Failed(format!("README.md cannot be read ({error}); it must be there")))?;
        commands = cargo_commands(&text);
        if !commands.iter().any(|command| command == OURSELVES) {
            return Err(Problem::Failed(format!("README.md does not tell to type `{OURSELVES}`")));
        }
        if commands.first().is_none_or(|command| command == OURSELVES) {
            return Err(Problem::Failed("the first command of README.md must show what the project does".to_owned()));
        }
        Ok(format!("{} commands", commands.len()))
    });
    if readme {
        for command in commands.iter().filter(|command| *command != OURSELVES) {
            job.command(command, Command::new("bash").args(["-euo", "pipefail", "-c", command]));
        }
    }
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
}
