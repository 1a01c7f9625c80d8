//! `clippy`: no lint warns, whatever features are chosen.

use super::{Job, cargo};
use crate::manifest;

const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];

pub(super) fn run(job: &Job<'_>) {
    let mut workspace = cargo(["clippy", "--workspace", "--all-targets"]);
    job.command("workspace", workspace.args(DENY_WARNINGS));
    let mut without_jit = cargo(["clippy", "-p", "banyan-ndr", "--all-targets"]);
    job.command("without jit", without_jit.args(manifest::without_jit(job.root)).args(DENY_WARNINGS));
    // Arrow costs more to check than all the rest, and only this crate and the command use it.
    let mut arrow =
        cargo(["clippy", "-p", "banyan-ndr", "--lib", "--test", "export", "--test", "bombs", "--features", "arrow"]);
    job.command("with arrow", arrow.args(DENY_WARNINGS));
    let mut command = cargo(["clippy", "-p", "banyan-cli", "--all-targets", "--features", "arrow"]);
    job.command("command with arrow", command.args(DENY_WARNINGS));
}
