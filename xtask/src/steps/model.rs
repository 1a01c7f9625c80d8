//! `model`: the protocols that threads and processes share memory by, under a model checker.

use super::{Job, cargo};

/// Below the top of the repository: what is built here has other atomics.
const TARGET: &str = "target/loom";

pub(super) fn run(job: &Job<'_>) {
    let mut rings = cargo(["test", "--release", "-p", "banyan-sensor", "--test", "ring_model", "--target-dir", TARGET]);
    job.command("rings", rings.env("RUSTFLAGS", "--cfg loom"));
}
