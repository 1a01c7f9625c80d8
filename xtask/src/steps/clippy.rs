//! `clippy`: no lint warns, whatever features are chosen.

use super::{EVERYTHING, Job, cargo};
use crate::manifest;

const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];

pub(super) fn run(job: &Job<'_>) {
    let mut everything = cargo(["clippy", "--all-targets"]);
    job.command("all features", everything.args(EVERYTHING).args(DENY_WARNINGS));
    // The tests are the same for all.
    let mut as_users_build = cargo(["clippy", "--workspace", "--lib", "--bins"]);
    job.command("default features", as_users_build.args(DENY_WARNINGS));
    let mut without_jit = cargo(["clippy", "-p", "banyan-ndr", "--all-targets"]);
    job.command("without jit", without_jit.args(manifest::without_jit(job.root)).args(DENY_WARNINGS));
}
