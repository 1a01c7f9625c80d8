//! `doc`: the documentation builds without warnings, that of the code and the book.

use std::process::Command;

use super::{Job, cargo};
use crate::install;
use crate::report::Problem;

pub(super) fn run(job: &Job<'_>) {
    let mut command = cargo(["doc", "--workspace", "--no-deps"]);
    job.command("workspace", command.env("RUSTDOCFLAGS", "-D warnings"));
    job.part("book", |tools| {
        let mdbook = install::wheel(tools.runner, tools.root, "mdbook")?;
        let said = tools.run(Command::new(mdbook).args(["build", "--dest-dir"]).arg(tools.root.join("target/book")))?;
        // It goes on behind what it cannot make sense of.
        match said.lines().find(|line| ["WARN", "ERROR"].iter().any(|level| line.contains(level))) {
            Some(_) => Err(Problem::Failed(said)),
            None => Ok(String::new()),
        }
    });
}
