//! `doc`: the documentation builds without warnings.

use super::{Job, cargo};

pub(super) fn run(job: &Job<'_>) {
    let mut command = cargo(["doc", "--workspace", "--no-deps"]);
    job.command("workspace", command.env("RUSTDOCFLAGS", "-D warnings"));
}
