//! `readme`: what the documents tell people to type works.
//!
//! Every command in README.md's `sh` blocks is run in order at the top of the repository, and every command in blocks
//! marked `sh run` in the documents below `docs`. A command may go over several lines, each ending in a backslash.

use std::path::{Path, PathBuf};
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
        commands = shell_commands(&text, "sh");
        if !commands.iter().any(|command| command == OURSELVES) {
            return Err(Problem::Failed(format!("README.md does not tell to type `{OURSELVES}`")));
        }
        if commands.first().is_none_or(|command| command == OURSELVES) {
            return Err(Problem::Failed("the first command of README.md must show what the project does".to_owned()));
        }
        Ok(format!("{} commands", commands.len()))
    });
    if readme {
        run_commands(job, &commands);
    }
    for document in documents(&job.root.join("docs")) {
        let text = std::fs::read_to_string(&document).unwrap_or_default();
        run_commands(job, &shell_commands(&text, "sh run"));
    }
}

fn run_commands(job: &Job<'_>, commands: &[String]) {
    for command in commands.iter().filter(|command| *command != OURSELVES) {
        job.command(command, Command::new("bash").args(["-euo", "pipefail", "-c", command]));
    }
}

/// The commands in the fenced blocks with this mark, without comments and prompts.
fn shell_commands(document: &str, mark: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let (mut inside, mut fenced, mut continued) = (false, false, false);
    for line in document.lines() {
        let trimmed = line.trim();
        if let Some(rest) = trimmed.strip_prefix("```") {
            inside = !fenced && rest == mark;
            fenced = !fenced;
            continued = false;
            continue;
        }
        if !inside || trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let text = trimmed.strip_prefix("$ ").unwrap_or(trimmed);
        let (text, goes_on) = text.strip_suffix('\\').map_or((text, false), |text| (text.trim_end(), true));
        match commands.last_mut().filter(|_| continued) {
            Some(last) => *last = format!("{last} {text}"),
            None => commands.push(text.to_owned()),
        }
        continued = goes_on;
    }
    commands
}

/// All documents below a directory, in the order of their names.
fn documents(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = directory.read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort_unstable();
    let below = |path: PathBuf| if path.is_dir() { documents(&path) } else { vec![path] };
    let all = paths.into_iter().flat_map(below);
    all.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_from_blocks_with_the_mark_only() {
        let document = "\
# Title
```sh
# a remark
$ first --flag
second \\
    --long

cargo xtask test
```
```rust
not(this);
```
```
nor this
```
```sh run
another
```
";
        assert_eq!(shell_commands(document, "sh"), ["first --flag", "second --long", OURSELVES]);
        assert_eq!(shell_commands(document, "sh run"), ["another"]);
    }
}
