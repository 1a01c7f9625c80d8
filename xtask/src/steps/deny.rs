//! `deny`: licences, versions and sources of all dependencies are as `deny.toml` has them. Building cargo-deny takes minutes, so it
//! is used where it is installed and not installed here. Known vulnerabilities are not looked for: their list is elsewhere, and
//! changes without this repository.

use super::{Job, cargo};
use crate::report::Problem;
use crate::run::on_path;

pub(super) fn run(job: &Job<'_>) {
    job.part("dependencies", |tools| {
        if !on_path("cargo-deny") {
            return Err(Problem::LeftOut(
                "cargo-deny is not installed; type: cargo install --locked cargo-deny".into(),
            ));
        }
        tools.run(&mut cargo(["deny", "check", "licenses", "bans", "sources"])).map(|_| String::new())
    });
}
