//! `fmt`: the code is formatted, in the crates outside the workspace too.

use super::{Job, cargo};

/// Crates that the workspace leaves out.
pub(super) const OUTSIDE: &[&str] = &["fuzz", "rivals"];

pub(super) fn run(job: &Job<'_>) {
    job.command("workspace", &mut cargo(["fmt", "--all", "--check"]));
    for name in OUTSIDE {
        let manifest = format!("{name}/Cargo.toml");
        if job.root.join(&manifest).is_file() {
            job.command(name, &mut cargo(["fmt", "--manifest-path", &manifest, "--check"]));
        }
    }
}
